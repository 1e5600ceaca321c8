// SPDX-License-Identifier: GPL-2.0
#include "bench/attach_cost.h"

#include <bpf/libbpf.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/stop_signals.h"
#include "bench/choose.h"
#include "bench/mechanism.h"
#include "bench/programs.h"
#include "bench/text_watch.h"
#include "kernel/device.h"
#include "kernel/reason.h"
#include "object/libbpf_log.h"

namespace djprobe::loader {
namespace {

using namespace std::chrono_literals;

// The kernel needs most of a minute to take out a thousand of its own probes.
constexpr auto kLongest = 300s;
constexpr auto kPause = 1s;
// A grace period of RCU tasks takes a tenth of a second more if any task is ready to run when it
// begins. One that looks at the text every millisecond often is: the bench would wait for itself.
constexpr auto kLook = 10ms;
// All that an entry's endbr64, ftrace nop and region take.
constexpr std::size_t kEntryBytes = 32;

struct Place {
    std::string function;
    std::uint64_t offset;
    std::uint64_t address;
    std::vector<std::uint8_t> original;
};
using Places = std::vector<Place>;

/// Nanoseconds that CPUs have been busy since boot.
double busy_ns() {
    // The kernel accounts a task when it stops.
    std::this_thread::sleep_for(1ms);
    std::ifstream file("/proc/schedstat");
    double sum = 0;
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("cpu")) continue;
        std::istringstream fields(line);
        std::string name;
        double value = 0;
        fields >> name;
        for (int i = 0; i < 7; ++i)
            fields >> value;
        sum += value;
    }
    return sum;
}

class AttachBench {
  public:
    explicit AttachBench(const AttachBenchOptions& options);

    AttachReport run();

  private:
    /// Keeps a mechanism attached.
    using Held = std::shared_ptr<void>;
    using Attach = std::function<Held(const Places&)>;

    Places candidates(std::size_t count);
    void choose();
    Held attach_ours(const Places& places);
    Held attach_kernels(const Places& places);
    AttachRound measure(const Attach& attach);
    /// Until `there` holds for the text of each place. Throws Error where it does not in time.
    void await(const std::function<bool(const Place&)>& there, const char* what) const;
    bool is_jump(const Place& place) const;
    bool is_original(const Place& place) const;

    const AttachBenchOptions options_;
    StopSignals stop_;
    Device device_ = Device::open();
    Kcore text_;
    KprobeOptimization optimization_;
    Symbolizer symbolizer_;
    Programs programs_ = Programs::load(ProgramKind::kKprobe, kTracepointFunction);
    Places places_;
};

AttachBench::AttachBench(const AttachBenchOptions& options) : options_(options) {
    // No jump would ever come.
    const std::vector<std::string> off = what_is_off(device_.set_switches(0, 0));
    if (!off.empty()) fail(ExitCode::kFailure, "{}", off.front());
    if (!optimization_.exists())
        fail(ExitCode::kFailure, "this kernel does not optimize kprobes: there is no peer");
    optimization_.set(true);
    // Each probe of the kernel's takes two files.
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = std::max<rlim_t>(files.rlim_cur, 4 * options.probes + 1024);
    files.rlim_max = std::max(files.rlim_max, files.rlim_cur);
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        fail(ExitCode::kNoPermission,
             "{} links need {} open files: allow them (ulimit -n {}), or ask for fewer: --attach N",
             options.probes, files.rlim_cur, files.rlim_cur);
}

bool AttachBench::is_jump(const Place& place) const {
    return text_.read(place.address, 1)[0] == kOpJump;
}

bool AttachBench::is_original(const Place& place) const {
    return text_.read(place.address, place.original.size()) == place.original;
}

void AttachBench::await(const std::function<bool(const Place&)>& there, const char* what) const {
    const auto end = std::chrono::steady_clock::now() + kLongest;
    for (const Place& place : places_) {
        while (!there(place)) {
            if (stop_.requested()) fail(ExitCode::kFailure, "interrupted; nothing stays attached");
            if (std::chrono::steady_clock::now() > end)
                fail(ExitCode::kFailure, "{}+{:#x}: {} after {} s", place.function, place.offset,
                     what, kLongest / 1s);
            std::this_thread::sleep_for(kLook);
        }
    }
}

/// Function entries all over the kernel where a jump is safe, which the kernel itself may not know.
Places AttachBench::candidates(std::size_t count) {
    std::vector<const Symbol*> functions;
    std::set<std::string_view> seen, twice;
    for (const Symbol& symbol : symbolizer_.kallsyms().symbols()) {
        if (!symbol.is_text() || !symbol.module.empty()) continue;
        functions.push_back(&symbol);
        if (!seen.insert(symbol.name).second) twice.insert(symbol.name);
    }
    Places found;
    // In an order that has nothing to do with the addresses, without a random number.
    const std::size_t step = functions.size() * 5 / 8 | 1;
    for (std::size_t i = 0, at = 0; i < functions.size() && found.size() < count; ++i) {
        at = (at + step) % functions.size();
        const Symbol& function = *functions[at];
        if (twice.contains(function.name) || function.name.find('.') != function.name.npos)
            continue;
        SiteSpec spec;
        spec.symbol = function.name;
        try {
            const djprobe_explain answer = device_.explain(spec, symbolizer_);
            const std::uint64_t offset = answer.address - function.address;
            if (answer.verdict != DJPROBE_VERDICT_JUMP || answer.tactic != DJPROBE_TACTIC_WINDOW ||
                offset < 5 || offset > 9)
                continue;
            found.push_back({std::string(function.name), offset, answer.address,
                             text_.read(answer.address, kEntryBytes)});
        } catch (const Error&) {
            continue;
        }
    }
    return found;
}

/// Where the kernel optimizes its own, too, which only an attempt tells.
void AttachBench::choose() {
    places_ = candidates(options_.probes + options_.probes / 4 + 4);
    Places good;
    {
        const Held held = attach_kernels(places_);
        const auto count_jumps = [&] {
            return std::ranges::count_if(places_, [&](const Place& one) { return is_jump(one); });
        };
        auto jumps = count_jumps();
        // Some never become one: until a second has changed nothing.
        for (auto before = jumps - 1; before != jumps; jumps = count_jumps()) {
            before = jumps;
            std::this_thread::sleep_for(1s);
        }
        for (const Place& place : places_)
            if (is_jump(place) && good.size() < options_.probes) good.push_back(place);
    }
    await([&](const Place& one) { return is_original(one); }, "a kprobe is still in the text");
    if (good.empty())
        fail(ExitCode::kFailure, "no site found where the kernel optimizes its kprobes");
    if (good.size() < options_.probes)
        fail(ExitCode::kFailure,
             "only {} sites found where the kernel optimizes its kprobes: ask for fewer: "
             "--attach {}",
             good.size(), good.size());
    places_ = good;
}

AttachBench::Held AttachBench::attach_ours(const Places& places) {
    const bpf_program* const program = programs_.program(Body::kEmpty);
    std::vector<ManySite> sites;
    for (const Place& place : places)
        sites.push_back({place.address, 0});
    std::vector<RefusedSite> refused;
    std::optional<Probe> probe = device_.attach_most(
        sites, {bpf_program__fd(program), bpf_program__name(program), 0, DJPROBE_MODE_AUTO},
        refused, symbolizer_);
    if (!refused.empty()) {
        const Place& place = places[refused.front().index];
        fail(ExitCode::kFailure, "{}+{:#x}: refused: {}", place.function, place.offset,
             describe_reason({refused.front().reason}, symbolizer_));
    }
    return std::make_shared<Probe>(std::move(*probe));
}

AttachBench::Held AttachBench::attach_kernels(const Places& places) {
    struct Unlink {
        void operator()(bpf_link* link) const { bpf_link__destroy(link); }
    };
    using Links = std::vector<std::unique_ptr<bpf_link, Unlink>>;
    const LibbpfLog log(false);
    auto links = std::make_shared<Links>();
    links->reserve(places.size());
    for (const Place& place : places) {
        LIBBPF_OPTS(bpf_kprobe_opts, options);
        options.offset = place.offset;
        // What the kernel refuses never becomes a jump and is not chosen.
        links->emplace_back(bpf_program__attach_kprobe_opts(programs_.program(Body::kEmpty),
                                                            place.function.c_str(), &options));
    }
    return links;
}

AttachRound AttachBench::measure(const Attach& attach) {
    AttachRound round;
    // What others have left to do, under locks that both need, is theirs.
    std::this_thread::sleep_for(kPause);
    const double busy = busy_ns();
    double last = now_ns();
    const auto lap = [&last] {
        const double before = last;
        last = now_ns();
        return last - before;
    };
    Held held = attach(places_);
    round.attach = lap();
    await([&](const Place& one) { return is_jump(one); }, "no jump is in the text");
    round.in_text = round.attach + lap();
    held.reset();
    round.detach = lap();
    await([&](const Place& one) { return is_original(one); }, "the text is not as before");
    round.out = round.detach + lap();
    round.work = busy_ns() - busy;
    return round;
}

AttachReport AttachBench::run() {
    AttachReport report;
    utsname name{};
    uname(&name);
    report.kernel = name.release;
    report.unit = detect_unit(time_loops());
    report.probes = options_.probes;
    choose();
    for (unsigned i = 0; i < options_.rounds; ++i) {
        report.ours.push_back(measure([&](const Places& places) { return attach_ours(places); }));
        report.kernels.push_back(
            measure([&](const Places& places) { return attach_kernels(places); }));
    }
    return report;
}

}  // namespace

AttachReport run_attach_bench(const AttachBenchOptions& options) {
    return AttachBench(options).run();
}

}  // namespace djprobe::loader
