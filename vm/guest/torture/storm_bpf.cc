// SPDX-License-Identifier: GPL-2.0
// What others do with BPF to handlers that are on a site: trace them and their subprograms, replace
// them, change what they call, and measure them.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <iterator>
#include <memory>
#include <string_view>

#include "../probes/harness/object.h"
#include "../probes/harness/probe.h"
#include "storm.h"

namespace djprobe::vm {
namespace {

constexpr const char* kObject = "bpf/traced.bpf.o";
constexpr const char* kSites[] = {"do_getpgid", "vfs_read", "__x64_sys_pread64", "rw_verify_area"};

/// One program of the object, which is for a function of the program `target`.
class Tracer {
  public:
    Tracer(const char* name, int target, const char* function)
        : object_(bpf_object__open_file(kObject, nullptr), bpf_object__close),
          program_(bpf_object__find_program_by_name(object_.get(), name)) {
        bpf_program* program = nullptr;
        while ((program = bpf_object__next_program(object_.get(), program)))
            bpf_program__set_autoload(program, program == program_);
        must(!bpf_program__set_attach_target(program_, target, function), function);
        must(!bpf_object__load(object_.get()), name);
    }
    /// Nothing where the kernel refuses.
    Fd attach() const { return Fd(bpf_raw_tracepoint_open(nullptr, bpf_program__fd(program_))); }

  private:
    std::unique_ptr<bpf_object, void (*)(bpf_object*)> object_;
    bpf_program* program_;
};

void change_tail(const Object& object, std::mt19937_64& dice) {
    const uint32_t key = 0;
    const int program = object.program("tail");
    const int map = object.map("tails");
    for (uint64_t changes = dice() % 50; changes; --changes) {
        // A probe of `tail` itself keeps it out of the array.
        bpf_map_update_elem(map, &key, &program, BPF_ANY);
        usleep(static_cast<useconds_t>(dice() % 500));
        bpf_map_delete_elem(map, &key);
    }
}

// Fentry and fexit come at any time; what replaces a handler that is on a site is refused, and a
// handler that is replaced gets no site.
struct Kind {
    const char *program, *function;
    bool must_come;
};
constexpr Kind kKinds[] = {
    {"before", "on_hit_traced", true}, {"after", "on_hit_traced", true},
    {"before", "subprogram", true},    {"after", "subprogram", true},
    {"before", "tail", true},          {"replacement", "on_hit_traced", false},
};

bool bpf(std::mt19937_64& dice) {
    const Object object("traced");
    const Device device;
    const auto attach = [&](const char* program) {
        Request request;
        request.symbol = kSites[dice() % std::size(kSites)];
        request.mode = dice() % 3 ? DJPROBE_MODE_AUTO : DJPROBE_MODE_INT3;
        request.prog_fd = object.program(program);
        return std::move(device.attach(request).probe);
    };
    Probe probes[3];
    if (dice() % 2) probes[0] = attach("on_hit_traced");
    const Kind& kind = kKinds[dice() % std::size(kKinds)];
    const bool of_tail = std::string_view(kind.function) == "tail";
    const Tracer tracer(kind.program, object.program(of_tail ? "tail" : "on_hit_traced"),
                        kind.function);
    Fd link = tracer.attach();
    must(link || !kind.must_come, kind.program);
    for (Probe& probe : probes)
        if (!probe && dice() % 2) probe = attach(dice() % 4 ? "on_hit_traced" : "tail");
    const Fd statistics(dice() % 2 ? bpf_enable_stats(BPF_STATS_RUN_TIME) : -1);
    change_tail(object, dice);
    if (dice() % 2) bpf_map_freeze(object.map("counters"));
    usleep(static_cast<useconds_t>(dice() % 20'000));
    // Either may leave first.
    if (dice() % 2) link.reset();
    for (Probe& probe : probes)
        if (dice() % 2) probe.detach();
    return true;
}
void bpf_calm() {}

constexpr Wind kWinds[] = {{"bpf", bpf, bpf_calm}};

}  // namespace

std::span<const Wind> bpf_winds() {
    return kWinds;
}

}  // namespace djprobe::vm
