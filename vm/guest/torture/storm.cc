// SPDX-License-Identifier: GPL-2.0
// storm: processes attach and detach the same, overlapping and neighbouring sites while all CPUs
// hit them, are killed at random moments, and the winds of storm_winds.cc blow.
//
// Some probes stay through all of it, with a program, behind conditions too, with a counter, and
// with the times from entry to return: their counts must be that of the calls that were made.
#include "storm.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <getopt.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../guarded.h"
#include "../probes/harness/load.h"
#include "../probes/harness/object.h"
#include "../probes/harness/probe.h"

namespace djprobe::vm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "usage: storm [--seconds S] [--seed N] [--loaders N] [--no-kill] [--no-shadow] [WIND]...\n"
    "Loaders attach and detach while all CPUs hit the sites, and while the winds blow: ftrace,\n"
    "kprobes, labels, perf, livepatch (djlivepatch.ko here), hotplug (4 CPUs), module\n"
    "(binfmt_misc.ko here), memory, preempt (a kernel booted with preempt=full), bpf.\n"
    "exit status: 0; 1 a count or a result is wrong; 2 error\n";

constexpr size_t kMostProbes = 12;
// Each call of getpgid enters it once, and nothing else does.
constexpr const char* kCounted = "do_getpgid";
// Room for the numbers of all tasks of the guest.
constexpr uint32_t kTasks = 1u << 22;
// The counters of one who times: the three of TIME, the two of ELAPSED, the pairs.
enum PairCounter : uint32_t { kBegun, kAgain, kNoPlace, kUnbegun, kNoPlaceAtEnd, kPairs, kPair };

using Actions = std::vector<djprobe_action>;
djprobe_action timed(int operation, uint32_t counter, uint64_t value = 0) {
    return {static_cast<uint8_t>(operation),
            0,
            0,
            0,
            counter * static_cast<uint32_t>(sizeof(uint64_t)),
            value};
}
const Actions kBegins = {timed(DJPROBE_ACTION_TIME, kBegun)};
const Actions kEnds = {timed(DJPROBE_ACTION_ELAPSED, kUnbegun, 1),
                       timed(DJPROBE_ACTION_COUNT, kPairs)};
djprobe_action compare(int operation, uint8_t reg, uint64_t value, uint8_t flags = 0) {
    return {static_cast<uint8_t>(operation), reg, 4, flags, 0, value};
}

struct Options {
    double seconds = 10;
    uint64_t seed = 1;
    unsigned loaders = 4;
    bool kill = true;
    bool shadow = true;  // some returns in shadow mode
    std::vector<const Wind*> winds;
};

StormTotals* totals;

/// One process that attaches and detaches until it is told or killed.
class Loader {
  public:
    Loader(const Device& device, int program, int counters, int times, bool shadow, uint64_t seed)
        : device_(device),
          program_(program),
          counters_(counters),
          times_(times),
          shadow_(shadow),
          dice_(seed) {}

    void run() {
        while (!totals->stop) {
            const uint64_t what = dice_() % 100;
            if (what < 45 && probes_.size() < kMostProbes) {
                attach();
            } else if (what < 55 && probes_.size() < kMostProbes) {
                attach_many();
            } else if (what < 80) {
                detach();
            } else if (what < 92) {
                toggle();
            } else if (what < 94) {
                wait();
            } else {
                usleep(static_cast<useconds_t>(dice_() % 5000));
            }
        }
    }

  private:
    /// Few places, so that they meet: the first bytes of what the load calls. Most offsets are none
    /// of an instruction and are refused, which is part of it.
    const char* function() {
        static const char* const functions[] = {
            kGetpgid,         "do_getpgid",        "__x64_sys_pread64",         "vfs_read",
            "rw_verify_area", "cmdline_proc_show", "binfmt_misc:bm_status_read"};
        return functions[dice_() % 7];
    }
    void attach() {
        Request request;
        request.symbol = function();
        request.offset = dice_() % 2 ? 0 : 5 + dice_() % 24;
        request.mode = dice_() % 4 ? DJPROBE_MODE_AUTO : DJPROBE_MODE_INT3;
        request.prog_fd = program_;
        if (dice_() % 3 == 0) {
            request.prog_fd = counters_;
            request.flags = DJPROBE_ATTACH_COUNT;
        }
        Answer answer = device_.attach(request);
        ++(answer.error ? totals->refused : totals->attached);
        if (!answer.error) probes_.push_back(std::move(answer.probe));
    }
    /// Conditions in front of a program: sometimes true, always or never.
    Actions some_conditions() {
        Actions list(1 + dice_() % 3);
        for (djprobe_action& condition : list) {
            const int operation = DJPROBE_ACTION_IF_EQ + static_cast<int>(dice_() % 6);
            switch (dice_() % 4) {
                case 0:
                    condition =
                        compare(operation, DJPROBE_TASK_PID, dice_() % 1000, DJPROBE_ACTION_TASK);
                    break;
                case 1:  // what is on the stack
                    condition = compare(operation, DJPROBE_REG_SP, dice_(), DJPROBE_ACTION_MEMORY);
                    break;
                default:
                    condition = compare(operation, static_cast<uint8_t>(dice_() % DJPROBE_REGS),
                                        dice_() >> dice_() % 64, dice_() % 2);
                    condition.width = static_cast<uint8_t>(1u << dice_() % 4);
            }
        }
        return list;
    }
    void attach_many() {
        djprobe_site sites[4] = {};
        const bool counts = dice_() % 2;
        uint32_t returns = dice_() % 3 ? 0 : DJPROBE_ATTACH_RETURN;
        if (returns && !counts && dice_() % 2 && shadow_) returns |= DJPROBE_ATTACH_SHADOW;
        for (djprobe_site& site : sites) {
            site.symbol = reinterpret_cast<uintptr_t>(function());
            site.flags = returns;
            site.offset = returns || dice_() % 2 ? 0 : 5 + dice_() % 24;
            site.cookie = DJPROBE_COUNTER(1, 0);
        }
        djprobe_attach_many many = {};
        many.size = sizeof many;
        many.sites = reinterpret_cast<uintptr_t>(sites);
        many.count = 1 + static_cast<uint32_t>(dice_() % 4);
        many.mode = DJPROBE_MODE_AUTO;
        Actions actions;
        if (!counts) {
            if (dice_() % 3) actions = some_conditions();
        } else if (dice_() % 2) {
            many.times_fd = times_;
            actions = dice_() % 2 ? kBegins : kEnds;
        }
        many.flags = counts ? DJPROBE_ATTACH_COUNT : 0;
        many.flags |= dice_() % 2 ? DJPROBE_ATTACH_SKIP : 0;
        many.actions = actions.empty() ? 0 : reinterpret_cast<uintptr_t>(actions.data());
        many.action_count = static_cast<uint32_t>(actions.size());
        many.prog_fd = many.flags & DJPROBE_ATTACH_COUNT ? counters_ : program_;
        const int fd = call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH_MANY, &many);
        ++(fd < 0 ? totals->refused : totals->many);
        if (fd >= 0) probes_.emplace_back(Fd(fd));
    }
    void detach() {
        if (probes_.empty()) return;
        probes_.erase(probes_.begin() + static_cast<std::ptrdiff_t>(dice_() % probes_.size()));
        ++totals->detached;
    }
    void toggle() {
        if (probes_.empty()) return;
        djprobe_enable enable = {};
        enable.size = sizeof enable;
        enable.enable = dice_() % 2;
        const Probe& probe = probes_[dice_() % probes_.size()];
        if (!call_ioctl(probe.fd(), DJPROBE_IOC_ENABLE, &enable)) ++totals->toggled;
    }
    void wait() {
        if (probes_.empty()) return;
        call_ioctl(probes_[dice_() % probes_.size()].fd(), DJPROBE_IOC_WAIT, nullptr);
        ++totals->waited;
    }

    const Device& device_;
    int program_, counters_, times_;
    bool shadow_;
    std::mt19937_64 dice_;
    std::vector<Probe> probes_;
};

/// A child that runs `body` and ends.
pid_t child(const std::function<void()>& body) {
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("fork");
    if (pid) return pid;
    int status = 0;
    try {
        body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "storm: %s\n", error.what());
        status = 2;
    }
    _exit(status);
}

void load() {
    Reader reader;
    while (!totals->stop) {
        totals->wrong += call_getpgid(200);
        totals->calls += 200;
        totals->wrong += reader.read(20);
        totals->wrong += std::ifstream("/proc/cmdline").get() < 0;
        usleep(1000);  // who attaches needs a CPU, too
    }
}

void blow(const Wind& wind, size_t index, uint64_t seed) {
    std::mt19937_64 dice(seed);
    while (!totals->stop) {
        if (wind.blow(dice)) ++totals->gusts[index];
    }
}

Options parse(int argc, char** argv) {
    static const option kLong[] = {
        {"seconds", required_argument, nullptr, 't'}, {"seed", required_argument, nullptr, 's'},
        {"loaders", required_argument, nullptr, 'l'}, {"no-kill", no_argument, nullptr, 'k'},
        {"no-shadow", no_argument, nullptr, 'r'},     {nullptr, 0, nullptr, 0}};
    Options options;
    for (int key; (key = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
        if (key == 't') {
            options.seconds = std::strtod(optarg, nullptr);
        } else if (key == 's') {
            options.seed = std::strtoull(optarg, nullptr, 0);
        } else if (key == 'l') {
            options.loaders = static_cast<unsigned>(std::strtoul(optarg, nullptr, 0));
        } else if (key == 'k') {
            options.kill = false;
        } else if (key == 'r') {
            options.shadow = false;
        } else {
            throw std::runtime_error(kUsage);
        }
    }
    for (; optind < argc; ++optind) {
        const Wind* const found = find_wind(argv[optind]);
        if (!found) throw std::runtime_error(kUsage);
        options.winds.push_back(found);
    }
    if (options.seconds <= 0 || !options.loaders) throw std::runtime_error(kUsage);
    return options;
}

/// Waits for one that must end by itself; false: it did not do so well.
bool ended_well(pid_t pid) {
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool was_killed(pid_t pid) {
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/// Else it was none, but would pass for one.
void must_have_been_a_storm(const Options& options) {
    // So many actions that all kinds were surely among them; a slow machine does not get there.
    constexpr uint64_t kEnough = 200;
    const auto must_have_been = [](uint64_t count, std::string_view what) {
        if (!count) throw std::runtime_error("no " + std::string(what));
    };
    must_have_been(totals->calls, "calls");
    must_have_been(totals->attached, "attach");
    if (totals->attached + totals->many + totals->refused + totals->detached >= kEnough) {
        must_have_been(totals->many, "attach of many");
        must_have_been(totals->refused, "refusal");
        must_have_been(totals->detached, "detach");
        must_have_been(totals->toggled, "enable or disable");
    }
    if (options.kill) must_have_been(totals->kills, "kill");
    for (size_t i = 0; i < options.winds.size(); ++i)
        must_have_been(totals->gusts[i], options.winds[i]->name);
}

void report(const Options& options, const djprobe_query& constant, uint64_t counted) {
    const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf(
        "storm seed %llu: calls %llu hits %llu missed %llu counted %llu wrong %llu attached %llu "
        "many %llu "
        "refused %llu detached %llu toggled %llu waited %llu kills %llu",
        number(options.seed), number(totals->calls), number(constant.hits),
        number(missed(constant)), number(counted), number(totals->wrong), number(totals->attached),
        number(totals->many), number(totals->refused), number(totals->detached),
        number(totals->toggled), number(totals->waited), number(totals->kills));
    for (size_t i = 0; i < options.winds.size(); ++i)
        std::printf(" %s %llu", options.winds[i]->name.data(), number(totals->gusts[i]));
    std::printf("\n");
}

int make_times() {
    const int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "times", sizeof(uint32_t), sizeof(uint64_t),
                                   DJPROBE_TIMES_HEAD + kTasks, nullptr);
    must(map >= 0, "a map of times");
    const uint32_t keys[] = {0, DJPROBE_TIMES_HEAD};
    const uint64_t values[] = {kTasks - 1, ~uint64_t{0}};
    for (int i = 0; i < 2; ++i)
        must(!bpf_map_update_elem(map, &keys[i], &values[i], 0), "the times");
    return map;
}

Probe attach_one(const Device& device, const char* symbol, int fd, uint32_t flags,
                 const Actions& actions, int times, uint32_t site_flags) {
    std::vector<djprobe_site> sites(1);
    sites[0].symbol = reinterpret_cast<uintptr_t>(symbol);
    sites[0].flags = site_flags;
    ManyAnswer answer = device.attach_many(sites, fd, DJPROBE_MODE_AUTO, flags, actions, times);
    if (answer.error)
        throw std::runtime_error(describe(static_cast<djprobe_reason>(answer.request.reason)));
    return std::move(answer.probes);
}
/// A program that sees all calls, or none: each names its own process by 0.
Probe filtered(const Device& device, int program, int operation) {
    return attach_one(device, kCounted, program, 0, {compare(operation, 7, 0)}, 0, 0);
}
Probe timing(const Device& device, int pairs, int times, const Actions& actions,
             uint32_t site_flags) {
    return attach_one(device, kGetpgid, pairs, DJPROBE_ATTACH_COUNT, actions, times, site_flags);
}

std::vector<uint64_t> sums(int map) {
    const uint32_t key = 0;
    std::vector<uint64_t> all(static_cast<size_t>(libbpf_num_possible_cpus()) * kPair), sum(kPair);
    must(!bpf_map_lookup_elem(map, &key, all.data()), "the pairs");
    for (size_t i = 0; i < all.size(); ++i)
        sum[i % kPair] += all[i];
    return sum;
}

int run(int argc, char** argv) {
    const Options options = parse(argc, argv);
    totals = static_cast<StormTotals*>(mmap(nullptr, sizeof(StormTotals), PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (totals == MAP_FAILED) throw std::runtime_error("mmap");
    std::mt19937_64 dice(options.seed);
    const Device device;
    const Object count("count");
    const int program = count.program("on_hit");
    Request request;
    request.symbol = kGetpgid;
    request.prog_fd = program;
    const Probe constant = device.must_attach(request);
    // Two counters: what the loaders count is nothing that is looked at.
    const int counters = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "storm", sizeof(uint32_t),
                                        8 * sizeof(uint64_t), 2, nullptr);
    must(counters >= 0, "a map for counters");
    // What the loaders time may meet what they time elsewhere; the pair below has its own map.
    const int times = make_times(), own_times = make_times();
    const Probe passes = filtered(device, program, DJPROBE_ACTION_IF_EQ);
    const Probe turned_away = filtered(device, program, DJPROBE_ACTION_IF_NE);
    const int pairs = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "pairs", sizeof(uint32_t),
                                     kPair * sizeof(uint64_t), 1, nullptr);
    must(pairs >= 0, "a map for pairs");
    const Probe begin = timing(device, pairs, own_times, kBegins, 0);
    const Probe finish = timing(device, pairs, own_times, kEnds, DJPROBE_ATTACH_RETURN);
    request.symbol = kCounted;
    request.prog_fd = counters;
    request.flags = DJPROBE_ATTACH_COUNT;
    request.cookie = DJPROBE_COUNTER(0, sizeof(uint64_t));
    const Probe counter = device.must_attach(request);

    std::vector<pid_t> others, loaders;
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); ++cpu)
        others.push_back(child(load));
    for (size_t i = 0; i < options.winds.size(); ++i)
        others.push_back(child([&, seed = dice()] { blow(*options.winds[i], i, seed); }));
    const auto start_loader = [&] {
        return child([&, seed = dice()] {
            Loader(device, program, counters, times, options.shadow, seed).run();
        });
    };
    for (unsigned i = 0; i < options.loaders; ++i)
        loaders.push_back(start_loader());

    bool well = true;
    const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
    while (Clock::now() < end) {
        usleep(static_cast<useconds_t>(dice() % 100'000));
        if (!options.kill) continue;
        pid_t& victim = loaders[dice() % loaders.size()];
        kill(victim, SIGKILL);
        // It has not ended by itself before.
        well &= was_killed(victim);
        ++totals->kills;
        victim = start_loader();
    }
    totals->stop = true;
    for (const pid_t pid : others)
        well &= ended_well(pid);
    for (const pid_t pid : loaders)
        well &= ended_well(pid);
    for (const Wind* wind : options.winds)
        wind->calm();
    const djprobe_query query = constant.query();
    const uint64_t counted = counter.query().hits;
    report(options, query, counted);
    const djprobe_query all = passes.query(), none = turned_away.query();
    const std::vector<uint64_t> pair = sums(pairs);
    std::printf(
        "passed %llu missed %llu turned away %llu; begun %llu again %llu unbegun %llu "
        "pairs %llu without a place %llu\n",
        all.hits + 0ull, missed(all) + 0ull, none.hits + missed(none) + 0ull, pair[kBegun] + 0ull,
        pair[kAgain] + 0ull, pair[kUnbegun] + 0ull, pair[kPairs] + 0ull,
        pair[kNoPlace] + pair[kNoPlaceAtEnd] + 0ull);
    const uint64_t calls = totals->calls;
    const bool filtered_well = all.hits + missed(all) == calls && none.hits + missed(none) == 0;
    const bool timed_well = pair[kBegun] == calls && pair[kPairs] == calls;
    if (!well) throw std::runtime_error("a process of ours failed");
    must_have_been_a_storm(options);
    return query.hits + missed(query) != calls || counted != calls || totals->wrong ||
           !filtered_well || !timed_well;
}

}  // namespace
}  // namespace djprobe::vm

int main(int argc, char** argv) {
    return djprobe::vm::guarded("storm", djprobe::vm::run, argc, argv);
}
