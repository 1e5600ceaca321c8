// SPDX-License-Identifier: GPL-2.0
// readload: threads that call into the kernel a known number of times.
//
// pread enters vfs_read once per call, and nothing else here does after the
// start. Others in the guest do: every read(2), pread(2), readv(2) of shells and
// tools (a shell reads its script, `cat` its file), and the kernel's own use for
// a few file systems. A test that needs an exact count filters by pid, or probes
// what --call getpgid enters: no other program in the guest calls it.
#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr const char* kUsage =
    "usage: readload [--threads T] [--call pread|getpgid] [--file FILE]\n"
    "                [--count N | --seconds S] [--rate R] [--portions]\n"
    "T threads call pread(FILE, 64 bytes, 0) (default /proc/version) or getpgid(0), N times each\n"
    "or for S seconds, else until SIGINT or SIGTERM. Prints \"calls N wrong N\", where a call is\n"
    "wrong whose result differs from the first one's. --rate: each thread makes R calls per "
    "second,\n"
    "as far as it gets, in a burst every millisecond; prints \"rate N\", those per second, too.\n"
    "--portions: prints \"portion N\", the median nanoseconds of 1000 calls, too: what interrupts\n"
    "them now and then is not in it.\n"
    "exit status: 0; 1 some were wrong; 2 error\n";

enum class Call { Pread, Getpgid };

struct Options {
    unsigned threads = 1;
    Call call = Call::Pread;
    std::string file = "/proc/version";
    std::optional<uint64_t> count;
    std::optional<uint64_t> seconds;
    std::optional<uint64_t> rate;
    bool portions = false;
};

struct Result {
    uint64_t calls = 0;
    uint64_t wrong = 0;
    std::vector<int64_t> portions;  // nanoseconds of so many calls each
};

constexpr uint64_t kPortion = 1000;

std::atomic<bool> stop{false};

std::optional<uint64_t> number(std::string_view text) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value == 0) return {};
    return value;
}

std::optional<Options> parse(int argc, char** argv) {
    static const option kLong[] = {{"threads", 1, nullptr, 't'},  {"call", 1, nullptr, 'c'},
                                   {"file", 1, nullptr, 'f'},     {"count", 1, nullptr, 'n'},
                                   {"seconds", 1, nullptr, 's'},  {"rate", 1, nullptr, 'r'},
                                   {"portions", 0, nullptr, 'p'}, {}};
    Options options;
    for (int found; (found = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
        std::string_view text = optarg != nullptr ? optarg : "";
        std::optional<uint64_t> value = number(text);
        if (found == 't' && value && *value <= 4096)
            options.threads = static_cast<unsigned>(*value);
        else if (found == 'n' && value)
            options.count = value;
        else if (found == 's' && value)
            options.seconds = value;
        else if (found == 'r' && value)
            options.rate = value;
        else if (found == 'p')
            options.portions = true;
        else if (found == 'f')
            options.file = text;
        else if (found == 'c' && (text == "pread" || text == "getpgid"))
            options.call = text == "pread" ? Call::Pread : Call::Getpgid;
        else
            return {};
    }
    if (optind != argc || (options.count && options.seconds)) return {};
    return options;
}

struct Answer {
    long value = 0;
    char bytes[64] = {};
    bool operator==(const Answer&) const = default;
};

Answer call_once(Call call, int fd) {
    Answer answer;
    if (call == Call::Pread)
        answer.value = pread(fd, answer.bytes, sizeof answer.bytes, 0);
    else
        answer.value = getpgid(0);
    return answer;
}

// Sleeps whenever the calls that are due have been made.
class Pace {
  public:
    explicit Pace(std::optional<uint64_t> rate) : rate_(rate) {}

    void after(uint64_t calls) {
        if (!rate_ || calls < due_) return;
        for (;;) {
            const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
            due_ = static_cast<uint64_t>(passed.count() * static_cast<double>(*rate_));
            if (calls < due_ || stop) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

  private:
    std::optional<uint64_t> rate_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    uint64_t due_ = 0;
};

class Watch {
  public:
    void after(Result& result) {
        if (result.calls % kPortion != 0) return;
        const auto now = std::chrono::steady_clock::now();
        result.portions.push_back(std::chrono::nanoseconds(now - last_).count());
        last_ = now;
    }

  private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

int64_t median(std::vector<int64_t> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void work(const Options& options, int fd, Result& result) {
    Pace pace(options.rate);
    Watch watch;
    Answer first = call_once(options.call, fd);
    result.calls = 1;
    if (first.value < 0) result.wrong = 1;
    while (!stop.load(std::memory_order_relaxed) &&
           (!options.count || result.calls < *options.count)) {
        if (call_once(options.call, fd) != first) ++result.wrong;
        ++result.calls;
        if (options.portions) watch.after(result);
        pace.after(result.calls);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::optional<Options> options = parse(argc, argv);
    if (!options) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    int fd = -1;
    if (options->call == Call::Pread) {
        fd = open(options->file.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            std::fprintf(stderr, "readload: %s: %s\n", options->file.c_str(), std::strerror(errno));
            return 2;
        }
    }
    auto end = [](int) { stop = true; };
    std::signal(SIGINT, end);
    std::signal(SIGTERM, end);

    const auto begin = std::chrono::steady_clock::now();
    std::vector<Result> results(options->threads);
    std::vector<std::thread> threads;
    threads.reserve(options->threads);
    for (Result& result : results)
        threads.emplace_back(work, std::cref(*options), fd, std::ref(result));
    if (options->seconds) {
        auto until = std::chrono::steady_clock::now() + std::chrono::seconds(*options->seconds);
        while (!stop && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        stop = true;
    }
    for (std::thread& thread : threads)
        thread.join();

    Result total;
    for (const Result& result : results) {
        total.calls += result.calls;
        total.wrong += result.wrong;
        total.portions.insert(total.portions.end(), result.portions.begin(), result.portions.end());
    }
    std::printf("calls %llu wrong %llu\n", static_cast<unsigned long long>(total.calls),
                static_cast<unsigned long long>(total.wrong));
    if (options->rate) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        std::printf("rate %.0f\n", static_cast<double>(total.calls) / passed.count());
    }
    if (options->portions)
        std::printf("portion %lld\n", static_cast<long long>(median(std::move(total.portions))));
    return total.wrong == 0 ? 0 : 1;
}
