// SPDX-License-Identifier: GPL-2.0
#include "session.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "failure.h"
#include "uapi/djprobe.h"

namespace djprobe::model {
namespace {

// Whatever happens farther away does not matter to a site.
constexpr u64 kFar = 400;
// What the analysis keeps for the next time: the index of landings and some functions' copies.
constexpr size_t kKeptArrays = 4 + 64;

std::vector<djp_probe*> handles(const Group& group) {
    std::vector<djp_probe*> all;
    for (const Probe* probe : group)
        all.push_back(probe->probe);
    return all;
}

bool any_near(const std::set<u64>& addresses, u64 address) {
    const auto first = addresses.lower_bound(address - kFar);
    return first != addresses.end() && *first < address + kFar;
}

}  // namespace

Session::Session(u64 seed, const std::function<void(TextImage&)>& change) : kernel(seed) {
    if (change) change(kernel.image);
    kernel.watch.place_of = [this](const Handler& handler) {
        const auto probe = std::ranges::find(probes_, &handler, &Probe::handler);
        return probe == probes_.end() ? 0 : probe->address;
    };
    if (const int reason = djp_start()) fail("djp_start: reason %d", reason);
    objects_at_start_ = kernel.watch.count_allocations().first;
}

Session::~Session() {
    if (!stopped_) stop();
}

void Session::stop() {
    stopped_ = true;
    djp_stop();
    const auto [objects, arrays] = kernel.watch.count_allocations();
    if (objects + arrays) fail("%zu objects and %zu arrays are left", objects, arrays);
}

/// Handlers of a call that is under way.
class Session::Busy {
  public:
    Busy(Session& session, const Group& group) : session_(session) {
        for (const Probe* probe : group)
            add(probe->handler);
    }
    ~Busy() {
        for (const Handler* handler : added_)
            session_.busy_.erase(session_.busy_.find(handler));
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    void add(const Handler* handler) {
        added_.push_back(handler);
        session_.busy_.insert(handler);
    }

  private:
    Session& session_;
    std::vector<const Handler*> added_;
};

/// A caller that enables probes holds on to them.
Group Session::without_busy(const Group& group) const {
    Group rest = group;
    std::erase_if(rest, [&](const Probe* probe) { return busy_.contains(probe->handler); });
    return rest;
}

// ---- Operations.

Session::Answer Session::attach(const std::vector<Wish>& wishes, bool skip) {
    std::vector<djp_request> requests(wishes.size());
    std::vector<std::string> names(wishes.size());
    std::vector<Handler*> made(wishes.size());
    for (size_t i = 0; i < wishes.size(); ++i) {
        const Wish& wish = wishes[i];
        requests[i] = {};
        requests[i].address = wish.address;
        const Function* function = kernel.image.function_at(wish.address);
        if (wish.by_symbol && function) {
            names[i] = function->name;
            requests[i].symbol = names[i].c_str();
            requests[i].offset = wish.address - function->start;
            requests[i].address = 0;
        }
        requests[i].cookie = next_cookie_++;
        requests[i].int3_only = wish.int3_only;
        requests[i].once = wish.once;
        made[i] = kernel.make_handler(wish.program, wish.wants);
        requests[i].source = source_of(*made[i]);
        kernel.watch.look_at(wish.address);
        if (function) kernel.watch.look_at(function->entry);
        note("  attach %#lx %s%s program %d wants %u", wish.address,
             function ? function->name.c_str() : "", wish.int3_only ? " int3" : "", wish.program,
             wish.wants);
    }
    const int failed = kernel.failed;
    const Events before = events_;
    const bool was_there = kernel.module == ModuleState::Live;
    djp_attachment attachment = {};
    attachment.requests = requests.data();
    attachment.count = requests.size();
    attachment.skip_refused = skip;
    bool done = false;
    {
        Busy busy(*this, {});
        for (const Handler* handler : made)
            busy.add(handler);
        done = djp_attach(&attachment);
    }
    Answer answer;
    const auto check_refused = [&](size_t index, unsigned int reason) {
        // An unknown symbol has no address.
        const u64 address = requests[index].address;
        const bool left = before.leaves != events_.leaves;
        const bool leaving = reason == DJPROBE_REASON_MODULE_LEAVING && left;
        // After one is left out the module may come back while the others are attached.
        const bool was_gone =
            skip && (left || !was_there) &&
            (reason == DJPROBE_REASON_NOT_TEXT || reason == DJPROBE_REASON_NO_SUCH_SYMBOL ||
             reason == DJPROBE_REASON_MODULE_LEAVING);
        if (!leaving && !(was_gone && kernel.image.module().contains(wishes[index].address)))
            check_refusal("attaching", address ? address : wishes[index].address,
                          wishes[index].wants, reason, kernel.failed - failed);
    };
    // Those that the policy did not come to ask for.
    for (size_t i = 0; i < wishes.size(); ++i)
        if ((!done || requests[i].left_out) && !made[i]->destroyed) kernel.destroy(*made[i]);
    if (!done) {
        answer.reason = attachment.reason;
        // While the probes are made the caller may be killed, or memory run out: no request's
        // fault.
        answer.index = attachment.failed == wishes.size() ? 0 : attachment.failed;
        note("  -> %zu refused, reason %u", attachment.failed, answer.reason);
        if (attachment.failed < wishes.size() &&
            requests[attachment.failed].reason != attachment.reason)
            fail("the attachment is refused for another reason than its request");
        check_refused(answer.index, answer.reason);
        check();
        return answer;
    }
    for (size_t i = 0; i < wishes.size(); ++i) {
        const djp_request& request = requests[i];
        if (request.left_out) {
            note("  -> %zu left out, reason %u", i, request.reason);
            if (!skip) fail("%#lx: left out of all or none", request.address);
            check_refused(i, request.reason);
            answer.left_out.push_back(i);
            continue;
        }
        if (answer.probes.size() == attachment.probe_count) break;
        const bool in_module = kernel.image.module().contains(request.address);
        const bool gone = before.leaves != events_.leaves && in_module;
        // It may have begun to leave meanwhile, and nothing is said of it then.
        const bool leaving = gone || (in_module && kernel.module != ModuleState::Live);
        // While all are disabled a kprobe may come that nothing looks at before they are enabled.
        if (enabled_ && !leaving && before.switches == events_.switches &&
            pristine(request.address).verdict == DJPROBE_VERDICT_REFUSED)
            fail("%#lx: is a site now, but none when nothing is attached", request.address);
        probes_.push_back({});
        Probe& probe = probes_.back();
        probe.probe = attachment.probes[answer.probes.size()];
        probe.handler = made[i];
        probe.address = request.address;
        probe.cookie = request.cookie;
        probe.int3_only = request.int3_only;
        // Some portions are at work before the others.
        probe.hits = probe.handler->hits;
        probe.gone = gone;
        answer.probes.push_back(&probe);
        may_have_failed(probe.address, kernel.failed - failed);
        if (before.switches != events_.switches) look_if_refused(probe, kernel.failed - failed);
    }
    if (answer.probes.size() != attachment.probe_count ||
        answer.probes.size() + answer.left_out.size() != wishes.size())
        fail("djp_attach() makes %zu probes of %zu", attachment.probe_count, wishes.size());
    djk_free_large(attachment.probes);
    check();
    return answer;
}

Probe* Session::attach_one(const Wish& wish) {
    const Answer answer = attach({wish});
    return answer.probes.empty() ? nullptr : answer.probes[0];
}

void Session::detach(Group group) {
    group = without_busy(group);
    const std::vector<djp_probe*> all = handles(group);
    {
        Busy busy(*this, group);
        for (const Probe* probe : group)
            note("  detach %#lx", probe->address);
        for (const Probe* leaving : group)
            probes_.remove_if([&](const Probe& probe) { return &probe == leaving; });
        djp_detach(all.data(), all.size());
    }
    check();
}

Session::Answer Session::enable(const Group& wanted) {
    const Group group = without_busy(wanted);
    const std::vector<djp_probe*> all = handles(group);
    for (const Probe* probe : group)
        note("  enable %#lx", probe->address);
    djp_request refused = {};
    const int failed = kernel.failed;
    const Events before = events_;
    Answer answer;
    {
        Busy busy(*this, group);
        answer.index = djp_enable(all.data(), all.size(), &refused);
    }
    if (answer.index < group.size()) {
        answer.reason = refused.reason;
        note("  -> %zu refused, reason %u", answer.index, answer.reason);
        const Probe& probe = *group[answer.index];
        const bool memory = answer.reason == DJPROBE_REASON_NO_MEMORY && kernel.failed > failed;
        // It leaves, and the policy has not come to this probe yet; or it did meanwhile.
        const bool leaving =
            answer.reason == DJPROBE_REASON_MODULE_LEAVING &&
            (before.leaves != events_.leaves || kernel.module != ModuleState::Live);
        if (!memory && !leaving && answer.reason != DJPROBE_REASON_INTERRUPTED &&
            probe.gone != (answer.reason == DJPROBE_REASON_MODULE_GONE))
            fail("%#lx: enabling is refused with reason %u", probe.address, answer.reason);
        if (!probe.gone)
            check_refusal("enabling", probe.address, probe.handler->link.wants, answer.reason,
                          kernel.failed - failed);
        // When all were enabled meanwhile, one of them may not have come back.
        for (Probe* other : group) {
            may_have_failed(other->address, kernel.failed - failed);
            if (before.switches != events_.switches)
                look_if_refused(*other, kernel.failed - failed);
        }
    } else {
        for (Probe* probe : group) {
            if (!probe->enabled || enabled_) probe->refused = false;
            probe->enabled = true;
            may_have_failed(probe->address, kernel.failed - failed);
            if (before.switches != events_.switches)
                look_if_refused(*probe, kernel.failed - failed);
        }
    }
    check();
    return answer;
}

void Session::disable(const Group& wanted) {
    const Group group = without_busy(wanted);
    const std::vector<djp_probe*> all = handles(group);
    for (Probe* probe : group) {
        note("  disable %#lx", probe->address);
        probe->enabled = false;
    }
    {
        Busy busy(*this, group);
        djp_disable(all.data(), all.size());
    }
    check();
}

bool Session::end_once(const Group& hit) {
    for (Probe* probe : hit) {
        note("  end %#lx", probe->address);
        probe->enabled = false;
    }
    bool more = false;
    {
        Busy busy(*this, hit);
        more = djp_end_once();
    }
    check();
    return more;
}

/// When all are enabled some may not come back.
void Session::look_if_refused(Probe& probe, int failed) {
    if (!is_active(probe)) return;
    const djp_status status = query(probe);
    if (status.state != DJPROBE_STATE_DISARMED) return;
    check_refusal("coming back", probe.address, probe.handler->link.wants, status.reason, failed);
    probe.refused = true;
}

void Session::set_enabled(bool enabled) {
    if (switching_) return;
    note("  set_enabled %d", enabled);
    const int failed = kernel.failed;
    const bool back = enabled && !enabled_;
    enabled_ = enabled;
    ++events_.switches;
    switching_ = true;
    djp_set_enabled(enabled);
    switching_ = false;
    for (Probe& probe : probes_) {
        probe.refused = probe.refused && !back;
        if (busy_.contains(probe.handler)) continue;
        if (!back || !is_active(probe)) continue;
        may_have_failed(probe.address, kernel.failed - failed);
        look_if_refused(probe, kernel.failed - failed);
    }
    check();
}

void Session::set_optimization(bool optimization) {
    if (switching_) return;
    note("  set_optimization %d", optimization);
    optimizing_ = optimization;
    switching_ = true;
    const int failed = kernel.failed;
    const bool done = djp_set_optimization(optimization);
    if (!done && (optimization || (failed == kernel.failed && kernel.most_taken)))
        fail("jumps cannot be switched %s", optimization ? "on" : "off");
    if (!done) optimizing_ = true;
    switching_ = false;
    check();
}

djp_verdict Session::explain(u64 address, unsigned int* reason) {
    djp_request request = {};
    request.address = address;
    djp_verdict verdict = {};
    kernel.watch.look_at(address);
    if (!djp_explain(&request, &verdict)) verdict.verdict = DJPROBE_VERDICT_REFUSED;
    if (reason) *reason = request.reason;
    return verdict;
}

void Session::run_optimizer() {
    note("  optimizer");
    kernel.kicked = kernel.kicked_later = false;
    kernel.run_optimizer();
    check();
}

void Session::settle() {
    note("  settle");
    kernel.settle();
    check();
    for (const Probe& probe : probes_)
        if (is_active(probe)) check_settled(probe);
}

void Session::module_leaves() {
    note("  module leaves");
    ++events_.leaves;
    for (Probe& probe : probes_)
        probe.gone |= kernel.image.module().contains(probe.address);
    // Until it has gone they may run or not.
    const bool switching = std::exchange(switching_, true);
    kernel.module_leaves();
    switching_ = switching;
    check();
}

// ---- Expectations.

/// Whatever fails now.
djp_verdict Session::explain_surely(u64 address, unsigned int* reason) {
    const int fail_after = std::exchange(kernel.fail_after, -1);
    const djp_verdict verdict = explain(address, reason);
    kernel.fail_after = fail_after;
    return verdict;
}

/// What is to be said of a place while nothing is attached.
Session::Pristine Session::pristine(u64 address) {
    const auto known = pristine_.find(address);
    if (known != pristine_.end()) return known->second;
    // Another session cannot be asked while this one lives: ask before anything is attached, or
    // believe what the policy says with its own probes taken out.
    unsigned int reason = 0;
    const djp_verdict verdict = explain_surely(address, &reason);
    const Pristine answer = {verdict.verdict, reason};
    if (!is_disturbed(address) && !any_near(boards_, address)) pristine_[address] = answer;
    return answer;
}

bool Session::is_disturbed(u64 address) const {
    return any_near(disturbed_, address) || kernel.kept;
}

/// An allocation that fails may leave a site at int3 that could have a jump.
void Session::may_have_failed(u64 address, int failed) {
    if (failed) disturbed_.insert(address);
}

void Session::check_refusal(const char* what, u64 address, unsigned int wants, unsigned int reason,
                            int failed) {
    if (reason == DJPROBE_REASON_NO_MEMORY && failed) return;
    if (reason == DJPROBE_REASON_INTERRUPTED && kernel.dies_after == 0) return;
    if (!kernel.image.holds(address)) {
        if (reason == DJPROBE_REASON_NOT_TEXT) return;
        fail("%s at %#lx, which is no text: reason %u", what, address, reason);
    }
    if (reason == DJPROBE_REASON_FOREIGN_PATCH && is_disturbed(address)) return;
    const bool in_module = kernel.image.module().contains(address);
    if (in_module && kernel.module == ModuleState::Going && reason == DJPROBE_REASON_MODULE_LEAVING)
        return;
    if (in_module && kernel.module == ModuleState::Gone &&
        (reason == DJPROBE_REASON_NOT_TEXT || reason == DJPROBE_REASON_NO_SUCH_SYMBOL))
        return;
    // It may have begun to leave since the refusal, and nothing is said of it now.
    if (in_module && kernel.module != ModuleState::Live) return;
    const Place* place = kernel.image.place_at(address);
    const bool straight =
        place && (place->insn.kind == x86::Kind::Plain || place->insn.kind == x86::Kind::Nop);
    if (wants & DJK_WANTS_AFTER && !straight && reason == DJPROBE_REASON_POST_AT_BRANCH) return;
    const Pristine expected = pristine(address);
    // A kprobe that has come meanwhile hides what there is besides.
    if (expected.reason == DJPROBE_REASON_FOREIGN_PATCH && is_disturbed(address)) return;
    if (expected.verdict != DJPROBE_VERDICT_REFUSED || expected.reason != reason)
        fail("%s at %#lx is refused with reason %u, expected verdict %u, reason %u", what, address,
             reason, expected.verdict, expected.reason);
}

djp_status Session::query(const Probe& probe) {
    djp_status status = {};
    djp_query(&probe.probe, 1, &status);
    return status;
}

void Session::check_shown(Range text) {
    if (const u64 unshown = kernel.watch.find_unshown(text))
        fail("%#lx: patched, but the kernel's kprobes do not know", unshown);
}

void Session::check() {
    if (kernel.registry_locked || kernel.text_locked) fail("a lock is still held");
    if (kernel.pins && kernel.module == ModuleState::Live) fail("a module is still pinned");
    std::set<const Handler*> expected;
    std::map<const Handler*, u64> places;
    for (Probe& probe : probes_) {
        places[probe.handler] = probe.address;
        if (!is_active(probe)) continue;
        expected.insert(probe.handler);
        ++probe.hits;
    }
    std::multiset<const Handler*> run;
    for (const auto& [address, handlers] : kernel.watch.look())
        for (const Handler* handler : handlers) {
            ++const_cast<Handler*>(handler)->hits;
            run.insert(handler);
            if (is_busy(handler)) continue;
            if (!expected.contains(handler))
                fail("%#lx: a hit would run handlers that are not attached", address);
            if (places.at(handler) != address)
                fail("%#lx: a hit would run the handler of %#lx", address, places.at(handler));
            if (run.count(handler) > 1) fail("%#lx: a handler runs twice", address);
        }
    for (const Handler* handler : expected)
        if (!run.contains(handler) && !is_busy(handler))
            fail("%#lx: probed, but no handler would run on a hit", places.at(handler));
    // The model cannot tell whether those have run meanwhile.
    for (Probe& probe : probes_)
        if (is_busy(probe.handler)) probe.hits = probe.handler->hits;
    if (const u64 stray = kernel.watch.find_stray()) fail("%#lx: neither original nor ours", stray);
    check_shown(kernel.image.core());
    // The kernel registers no kprobe in a module that leaves.
    if (kernel.module == ModuleState::Live) check_shown(kernel.image.module());
    for (const Probe& probe : probes_)
        if (!is_busy(probe.handler)) check_status(probe);
}

void Session::check_status(const Probe& probe) {
    const djp_status status = query(probe);
    if (status.address != probe.address || status.cookie != probe.cookie)
        fail("%#lx: answers for %#lx, cookie %lu", probe.address, status.address, status.cookie);
    if (status.filtered != probe.handler->is_filtered())
        fail("%#lx: has conditions, or not, but the answer differs", probe.address);
    if (status.hits != probe.hits)
        fail("%#lx: %lu hits counted of %lu", probe.address, status.hits, probe.hits);
    if (!is_active(probe)) {
        const unsigned int state = probe.gone ? DJPROBE_STATE_GONE : DJPROBE_STATE_DISARMED;
        if (status.state != state || status.mechanism != DJPROBE_MECHANISM_NONE)
            fail("%#lx: inactive, but state %u, mechanism %u", probe.address, status.state,
                 status.mechanism);
        return;
    }
    const bool jump = status.state == DJPROBE_STATE_OPTIMIZED;
    if (!jump && status.state != DJPROBE_STATE_ARMED && status.state != DJPROBE_STATE_OPTIMIZING)
        fail("%#lx: attached, but in state %u", probe.address, status.state);
    if (status.mechanism != (jump ? DJPROBE_MECHANISM_JUMP : DJPROBE_MECHANISM_INT3))
        fail("%#lx: state %u with mechanism %u", probe.address, status.state, status.mechanism);
    if (jump != kernel.watch.is_jump(jump ? status.anchor : probe.address))
        fail("%#lx: state %u, but the text says something else", probe.address, status.state);
    if (jump && status.reason) fail("%#lx: a jump with reason %u", probe.address, status.reason);
    if (status.state == DJPROBE_STATE_OPTIMIZING && !kernel.kicked && !kernel.kicked_later &&
        !kernel.waiting && !kernel.in_optimizer)
        fail("%#lx: waits for its jump, but the optimizer has not been woken", probe.address);
    if (status.tactic == DJPROBE_TACTIC_SPRINGBOARD) boards_.insert(probe.address);
    if (memcmp(status.displaced, kernel.image.original(status.anchor), status.displaced_len) != 0)
        fail("%#lx: its displaced bytes are not the original ones", probe.address);
}

bool Session::overlaps_another(u64 address) {
    unsigned int reason = 0;
    const djp_verdict own = explain_surely(address, &reason);
    const Range region = {own.anchor, own.anchor + own.region_len};
    for (const Probe& probe : probes_) {
        if (!is_active(probe) || probe.address == address) continue;
        if (region.contains(probe.address)) return true;
        const djp_status status = query(probe);
        if (status.state != DJPROBE_STATE_OPTIMIZED) continue;
        if (region.overlaps({status.anchor, status.anchor + status.displaced_len})) return true;
    }
    return false;
}

void Session::check_settled(const Probe& probe) {
    const djp_status status = query(probe);
    if (status.state == DJPROBE_STATE_OPTIMIZED) {
        // Another patch lies on top of it, or did a moment ago: the optimizer tries again.
        if (kernel.kprobes.any_within({status.anchor, status.anchor + status.displaced_len}))
            return;
        if (kernel.kicked_later && is_disturbed(probe.address)) return;
        for (const Probe& other : probes_)
            if (is_active(other) && other.address == probe.address && other.int3_only)
                fail("%#lx: a jump where int3 was asked for", probe.address);
        if (!optimizing_) fail("%#lx: a jump where jumps are off", probe.address);
        return;
    }
    if (status.state != DJPROBE_STATE_ARMED || !status.reason)
        fail("%#lx: state %u, reason %u after the optimizer has done all it can", probe.address,
             status.state, status.reason);
    bool int3_asked = false;
    for (const Probe& other : probes_)
        int3_asked |= is_active(other) && other.address == probe.address && other.int3_only;
    // Nothing is explained of a module that leaves.
    const bool leaving =
        kernel.image.module().contains(probe.address) && kernel.module != ModuleState::Live;
    const bool lenient = leaving || is_disturbed(probe.address) || any_near(boards_, probe.address);
    switch (status.reason) {
        case DJPROBE_REASON_OPTIMIZATION_OFF:
            if (optimizing_) fail("%#lx: held as if jumps were off", probe.address);
            return;
        case DJPROBE_REASON_MODE_INT3:
            if (!int3_asked) fail("%#lx: held as if int3 had been asked for", probe.address);
            return;
        case DJPROBE_REASON_OVERLAP:
            if (!lenient && !overlaps_another(probe.address))
                fail("%#lx: held for an overlap that there is not", probe.address);
            return;
        case DJPROBE_REASON_NO_INDEX:
            // Wherever it was, it may have hidden what lands here.
            if (disturbed_.empty()) fail("%#lx: held as if kprobes hid too much", probe.address);
            return;
        default:
            break;
    }
    if (lenient) return;
    const Pristine expected = pristine(probe.address);
    if (expected.verdict == DJPROBE_VERDICT_JUMP || expected.reason != status.reason)
        fail("%#lx: held with reason %u, expected verdict %u, reason %u", probe.address,
             status.reason, expected.verdict, expected.reason);
}

void Session::finish() {
    Group all;
    for (Probe& probe : probes_)
        all.push_back(&probe);
    detach(all);
    settle();
    for (const auto& [address, kprobe] : std::map(kernel.kprobes.all()))
        kernel.kprobes.remove(address);
    settle();
    for (const Range text : {kernel.image.core(), kernel.image.module()})
        if (kernel.is_text(text.begin))
            if (const u64 changed = kernel.watch.find_changed(text))
                fail("%#lx: nothing is attached, but the text is not what it was", changed);
    if (kernel.exec_chunks) fail("%zu chunks of slots are left", kernel.exec_chunks);
    if (kernel.handlers) fail("%zu handlers are left", kernel.handlers);
    if (kernel.kept || kernel.pins) fail("references to modules are left");
    const auto [objects, arrays] = kernel.watch.count_allocations();
    // What is known of a module's text is one, until the module leaves.
    const size_t index = kernel.module != ModuleState::Gone && objects > objects_at_start_;
    if (objects != objects_at_start_ + index || arrays > kKeptArrays + 2 * index)
        fail("%zu objects and %zu arrays are left; at the start there were %zu objects", objects,
             arrays, objects_at_start_);
}

}  // namespace djprobe::model
