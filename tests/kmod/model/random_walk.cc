// SPDX-License-Identifier: GPL-2.0
#include "random_walk.h"

#include "failure.h"

namespace djprobe::model {
namespace {

class Walk {
  public:
    Walk(u64 seed, size_t steps);
    void run();
    size_t operations() const { return operations_; }

  private:
    bool one_in(unsigned int n) { return random_() % n == 0; }
    u64 any_address();
    Wish any_wish();
    Group some(bool enabled_too);
    void step(bool nested);
    void change_kprobes();
    void change_module();
    void with_failures(bool nested);

    Random random_;
    Session session_;
    size_t steps_, operations_ = 0;
    int depth_ = 0;
    bool kprobes_, failures_, module_;
    std::vector<const Function*> hot_;
};

Walk::Walk(u64 seed, size_t steps) : random_(seed), session_(seed % 512), steps_(steps) {
    kprobes_ = one_in(2);
    failures_ = one_in(2);
    module_ = one_in(2);
    const auto& functions = session_.kernel.image.functions;
    // Few, that they may meet, and neighbours.
    const size_t count = 1 + random_() % 3;
    while (hot_.size() < 2 * count) {
        const size_t first = random_() % (functions.size() - 1);
        hot_.push_back(&functions[first]);
        hot_.push_back(&functions[first + 1]);
    }
    if (module_) {
        const Function* own = nullptr;
        while (!own || !own->in_module)
            own = &functions[random_() % functions.size()];
        hot_.push_back(own);
    }
    session_.kernel.on_gap = [this] {
        if (!kprobes_ || depth_ > 1 || !one_in(64)) return;
        change_kprobes();
    };
    session_.kernel.portion = 1 + random_() % 4;
    session_.kernel.on_pause = [this] {
        if (depth_ > 1 || !one_in(2)) return;
        step(true);
    };
    session_.kernel.on_quiesce = [this](bool locked) {
        if (locked) {
            if (kprobes_ && one_in(4)) change_kprobes();
            session_.kernel.watch.look();
            return;
        }
        if (depth_ > 1) return;
        // Several other patchers, or none.
        for (size_t i = one_in(2) ? 0 : random_() % 4; i > 0; --i)
            step(true);
    };
}

u64 Walk::any_address() {
    const auto& places = session_.kernel.image.places;
    if (!session_.probes().empty() && one_in(3)) {
        // Near another one.
        auto probe = session_.probes().begin();
        std::advance(probe, random_() % session_.probes().size());
        u64 address = probe->address;
        for (u64 i = random_() % 3; i > 0; --i)
            if (const Place* place = session_.kernel.image.place_at(address))
                address = place->end();
        return address;
    }
    const Function& function = *hot_[random_() % hot_.size()];
    if (one_in(25)) return function.start + random_() % function.size;
    return places[function.first_place + random_() % function.place_count].start();
}

Wish Walk::any_wish() {
    Wish wish;
    wish.address = any_address();
    wish.int3_only = one_in(8);
    if (!one_in(4)) wish.program = static_cast<int>(random_() % Kernel::kPrograms);
    if (one_in(4)) wish.program = Kernel::kCounter;
    const bool in_c = wish.program == Kernel::kCFunction;
    if (in_c && one_in(3)) wish.wants |= DJK_WANTS_REDIRECT;
    if (in_c && one_in(3)) wish.wants |= DJK_WANTS_AFTER;
    wish.by_symbol = one_in(4);
    return wish;
}

Group Walk::some(bool enabled_too) {
    Group group;
    const size_t one = session_.probes().empty() ? 0 : random_() % session_.probes().size();
    const bool many = one_in(3);
    size_t i = 0;
    for (Probe& probe : session_.probes())
        if ((i++ == one || (many && one_in(3))) && (enabled_too || !probe.enabled || one_in(4)))
            group.push_back(&probe);
    return group;
}

void Walk::change_kprobes() {
    Kprobes& kprobes = session_.kernel.kprobes;
    Kernel& kernel = session_.kernel;
    if (kprobes.all().empty() || one_in(3)) {
        const u64 address = any_address();
        if (!kernel.image.holds(address) || !kernel.is_text(address)) return;
        const bool added = kprobes.add(address, !one_in(3));
        note("  kprobe at %#lx%s", address, added ? "" : ": refused");
        if (added) session_.disturbed(address);
        return;
    }
    auto at = kprobes.all().begin();
    std::advance(at, random_() % kprobes.all().size());
    const u64 address = at->first;
    note("  kprobe at %#lx: another state", address);
    switch (random_() % 5) {
        case 0:
            kprobes.arm(address);
            break;
        case 1:
            kprobes.disarm(address);
            break;
        case 2:
            kprobes.optimize(address);
            break;
        case 3:
            kprobes.unoptimize(address);
            break;
        default:
            kprobes.remove(address);
    }
}

void Walk::change_module() {
    Kernel& kernel = session_.kernel;
    if (kernel.module == ModuleState::Live && !kernel.pins)
        kernel.module_goes();
    else if (kernel.module == ModuleState::Going)
        session_.module_leaves();
    else if (kernel.module == ModuleState::Gone)
        kernel.module_comes();
}

void Walk::step(bool nested) {
    ++operations_;
    ++depth_;
    const int fail_after = session_.kernel.fail_after;
    if (failures_ && one_in(4)) {
        session_.kernel.fail_after = static_cast<int>(random_() % 12);
        session_.kernel.keep_failing = one_in(2);
    }
    if (!nested && one_in(8)) session_.kernel.dies_after = static_cast<int>(random_() % 12);
    switch (random_() % 20) {
        case 0 ... 4: {
            std::vector<Wish> wishes;
            const size_t count = one_in(3) ? 1 + random_() % 5 : 1;
            for (size_t i = 0; i < count; ++i)
                wishes.push_back(any_wish());
            if (session_.probes().size() < 24) session_.attach(wishes, one_in(3));
            break;
        }
        case 5 ... 7:
            session_.detach(some(true));
            break;
        case 8:
            session_.disable(some(true));
            break;
        case 9 ... 10:
            session_.enable(some(false));
            break;
        case 11:
            session_.set_enabled(!session_.is_enabled() || one_in(3));
            break;
        case 12:
            session_.set_optimization(!session_.is_optimizing() || one_in(3));
            break;
        case 13:
            session_.explain(any_address());
            break;
        case 14 ... 16:
            // There is one worker.
            if (!session_.kernel.in_optimizer) session_.run_optimizer();
            break;
        case 17:
            if (module_) change_module();
            break;
        case 18:
            if (kprobes_) change_kprobes();
            break;
        default:
            if (!nested) session_.settle();
    }
    session_.kernel.fail_after = fail_after;
    if (!nested) session_.kernel.dies_after = -1;
    --depth_;
}

void Walk::run() {
    for (size_t i = 0; i < steps_; ++i) {
        note("step %zu", i);
        step(false);
    }
    note("end");
    session_.kernel.fail_after = -1;
    session_.kernel.on_gap = nullptr;
    session_.kernel.on_quiesce = nullptr;
    session_.kernel.on_pause = nullptr;
    // With the kernel's kprobes still there or without them.
    if (one_in(2))
        for (const auto& [address, kprobe] : std::map(session_.kernel.kprobes.all()))
            session_.kernel.kprobes.remove(address);
    session_.finish();
}

}  // namespace

size_t random_walk(u64 seed, size_t steps) {
    Walk walk(seed, steps);
    walk.run();
    return walk.operations();
}

}  // namespace djprobe::model
