// SPDX-License-Identifier: GPL-2.0
// kstorm: the kernel's own kprobes and our probes come and go at random instructions of the same
// functions, while all CPUs run through them.
//
// One probe of ours and one kprobe of theirs stay through all of it: their counts must be those of
// the calls that were made.
#include "kstorm.h"

#include <fcntl.h>
#include <getopt.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <utility>

#include "../guarded.h"
#include "../probes/harness/kprobe_event.h"
#include "../probes/harness/load.h"
#include "../probes/harness/object.h"
#include "../probes/harness/path_load.h"

namespace djprobe::vm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "usage: kstorm [--seconds S] [--seed N] [--short]\n"
    "Our probes and the kernel's kprobes come and go in the same functions. With --short not all\n"
    "kinds of both need have come.\n"
    "exit status: 0; 1 a count, a result or a decision of the kernel's is wrong; 2 error\n";
constexpr const char* kTheirFunction = "do_getpgid";

struct Options {
    double seconds = 10;
    uint64_t seed = 1;
    bool is_short = false;
};

KstormTotals* totals;

Options parse(int argc, char** argv) {
    static const option kLong[] = {{"seconds", required_argument, nullptr, 't'},
                                   {"seed", required_argument, nullptr, 's'},
                                   {"short", no_argument, nullptr, 'q'},
                                   {nullptr, 0, nullptr, 0}};
    Options options;
    for (int key; (key = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
        if (key == 't') {
            options.seconds = std::strtod(optarg, nullptr);
        } else if (key == 's') {
            options.seed = std::strtoull(optarg, nullptr, 0);
        } else if (key == 'q') {
            options.is_short = true;
        } else {
            throw std::runtime_error(kUsage);
        }
    }
    if (optind < argc || options.seconds <= 0) throw std::runtime_error(kUsage);
    return options;
}

/// Where the bytes are that a probe takes, and how many.
std::pair<uint64_t, uint64_t> region(const djprobe_explain& explained) {
    if (explained.verdict != DJPROBE_VERDICT_JUMP) return {explained.address, 1};
    return {explained.anchor, explained.region_len};
}

KstormTown explore(const Device& device) {
    std::vector<std::string> names(std::begin(kPathFunctions), std::end(kPathFunctions));
    names.insert(names.end(), {kGetpgid, kTheirFunction});
    KstormTown town;
    for (FunctionText& text : read_functions(names)) {
        if (text.is_entered_from_cold) continue;
        std::set<uint64_t> branches;
        for (const x86::Insn& insn : text.insns)
            if (const x86::Insn* const branch = text.branch_into_jump(insn.address)) {
                town.never_jump.insert(insn.address);
                branches.insert(branch->address);
            }
        KstormHouse house{std::move(text), {}, {}};
        for (const x86::Insn& insn : house.text.insns) {
            Request request;
            request.address = insn.address;
            const Explained explained = device.explain(request);
            djprobe_site site = {};
            site.address = insn.address;
            if (!explained.is_site()) continue;
            house.sites.push_back(site);
            const auto [anchor, size] = region(explained.answer);
            const auto hidden = branches.lower_bound(anchor);
            if (hidden != branches.end() && *hidden < anchor + size) house.hiding.push_back(site);
        }
        if (!house.sites.empty()) town.houses.push_back(std::move(house));
    }
    const auto others =
        std::stable_partition(town.houses.begin(), town.houses.end(),
                              [](const KstormHouse& house) { return !house.hiding.empty(); });
    town.meetings = static_cast<size_t>(others - town.houses.begin());
    if (town.houses.size() < 10 || town.meetings < 5) throw std::runtime_error("too few functions");
    return town;
}

/// A child that runs `body` and ends.
pid_t child(const std::function<void()>& body) {
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("fork");
    if (pid) return pid;
    int status = 0;
    try {
        body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kstorm: %s\n", error.what());
        status = 2;
    }
    _exit(status);
}

bool ended_well(pid_t pid) {
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void load(long number) {
    const std::string folder = "/tmp/kstorm" + std::to_string(number);
    // Each registration takes its time; what was probed is reached soon enough.
    (void)nice(10);
    while (!totals->stop) {
        totals->wrong += call_getpgid(50);
        totals->calls += 50;
        totals->wrong += use_paths(2, folder.c_str());
        usleep(10'000);
    }
}

/// In the middle of a function, where a kprobe is no call of ftrace's.
uint64_t their_place(const KstormTown& town) {
    for (const auto& [text, sites, hiding] : town.houses)
        if (text.name == kTheirFunction) return text.insns[text.insns.size() / 4].address;
    throw std::runtime_error(std::string("no function ") + kTheirFunction);
}

void report(const Options& options, const djprobe_query& ours, KprobeEvent::Counts theirs) {
    const auto print = [](const char* name, uint64_t value) {
        std::printf(" %s %lu", name, value);
    };
    std::printf("kstorm seed %lu:", options.seed);
    print("calls", totals->calls);
    print("hits", ours.hits);
    print("missed", missed(ours));
    print("their-hits", theirs.hits);
    print("their-missed", theirs.missed);
    print("wrong", totals->wrong);
    print("misled", totals->misled);
    print("attached", totals->attached);
    print("all-sites", totals->all_sites);
    print("returns", totals->returns);
    print("shadows", totals->shadows);
    print("refused", totals->refused);
    print("detached", totals->detached);
    print("toggled", totals->toggled);
    print("kills", totals->kills);
    print("kprobes", totals->kprobes);
    print("refused", totals->kprobes_refused);
    print("busy", totals->kprobes_busy);
    print("enabled", totals->enabled);
    print("removed", totals->removed);
    print("jumps-seen", totals->optimized);
    std::printf("\n");
}

/// Else it was none, but would pass for one.
void must_have_been_a_storm() {
    for (const std::atomic<uint64_t>* count :
         {&totals->calls, &totals->attached, &totals->all_sites, &totals->returns,
          &totals->detached, &totals->kprobes, &totals->kprobes_refused, &totals->enabled,
          &totals->removed, &totals->optimized})
        if (!*count) throw std::runtime_error("a part of the storm has not come");
}

/// False: a process of ours failed.
bool blow(const Options& options, const KstormTown& town, const Device& device, int program) {
    std::mt19937_64 dice(options.seed);
    std::vector<pid_t> others;
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); ++cpu)
        others.push_back(child([=] { load(cpu); }));
    others.push_back(child([&, seed = dice()] { their_part(town, *totals, seed); }));
    const auto start_ours = [&] {
        return child([&, seed = dice()] { our_part(town, *totals, device, program, seed); });
    };
    pid_t ours = start_ours();
    bool well = true;
    const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
    auto next_kill = Clock::now() + std::chrono::seconds(2);
    while (Clock::now() < end && !totals->stop) {
        usleep(50'000);
        if (dice() % 40 == 0) totals->meeting = dice();
        if (Clock::now() < next_kill) continue;
        announce("ours: killed");
        kill(ours, SIGKILL);
        int status = 0;
        well &= waitpid(ours, &status, 0) == ours && WIFSIGNALED(status);
        ++totals->kills;
        ours = start_ours();
        next_kill = Clock::now() + std::chrono::milliseconds(500 + dice() % 4000);
    }
    totals->stop = true;
    others.push_back(ours);
    for (const pid_t pid : others)
        well &= ended_well(pid);
    return well;
}

int run(int argc, char** argv) {
    const Options options = parse(argc, argv);
    totals = static_cast<KstormTotals*>(mmap(nullptr, sizeof(KstormTotals), PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (totals == MAP_FAILED) throw std::runtime_error("mmap");
    std::ofstream("/proc/sys/kernel/printk_devkmsg") << "on\n";
    std::ofstream("/sys/kernel/rcu_expedited") << 1;
    announce("seed %lu", options.seed);
    if (use_paths(3)) throw std::runtime_error("the load fails without a storm");
    const Device device;
    const Object count("count");
    const KstormTown town = explore(device);

    Request request;
    request.symbol = kGetpgid;
    request.prog_fd = count.program("on_hit");
    const Probe ours = device.must_attach(request);
    KprobeEvent theirs("constant");
    if (theirs.add(their_place(town)) || theirs.enable(true))
        throw std::runtime_error("the kernel takes no kprobe in do_getpgid");

    const bool well = blow(options, town, device, request.prog_fd);
    const djprobe_query query = ours.query();
    const KprobeEvent::Counts counts = theirs.counts();
    report(options, query, counts);
    if (!well) throw std::runtime_error("a process of ours failed");
    if (totals->misled || totals->wrong) return 1;
    if (!options.is_short) must_have_been_a_storm();
    return query.hits + missed(query) != totals->calls ||
           counts.hits + counts.missed != totals->calls;
}

}  // namespace

void announce(const char* format, ...) {
    static const Fd console(open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    const int prefix = std::snprintf(line, sizeof line, "<5>kstorm: ");
    const int rest =
        std::vsnprintf(line + prefix, sizeof line - static_cast<size_t>(prefix), format, arguments);
    va_end(arguments);
    const size_t size = std::min(sizeof line - 1, static_cast<size_t>(prefix + rest));
    if (write(console.get(), line, size) < 0) throw std::runtime_error("cannot write /dev/kmsg");
}

}  // namespace djprobe::vm

int main(int argc, char** argv) {
    return djprobe::vm::guarded("kstorm", djprobe::vm::run, argc, argv);
}
