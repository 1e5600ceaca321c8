// SPDX-License-Identifier: GPL-2.0
// Events per second from a ring buffer to probeload's output. A producer thread fills a replayed
// ring; the measured thread reads, decodes and writes, by the loader's own code, to a file in
// memory. `cpu_per_event` is the reader's CPU time alone: with fewer idle CPUs than threads the
// rate says little, that number still does.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/output.h"
#include "events/printer.h"
#include "events/ring.h"

// The builder of BTF reports through GoogleTest.
#include "../btf_builder.h"
#include "../replay_ring.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kRingSize = 1U << 20;
constexpr std::uint64_t kBatch = 1U << 16;

/// Like the event of bpf/vfs_read.bpf.c.
struct FileEvent {
    std::uint64_t ts_ns = 2'195'134'454;
    std::uint32_t cpu = 1;
    std::uint32_t pid = 12'345;
    std::uint32_t tid = 12'346;
    char comm[16] = "md5sum";
    char pad[4] = {};
    std::uint64_t count = 4096;
    char name[48] = "libcrypto.so.3";
};

/// The least that is worth sending: 32 bytes of numbers.
struct SmallEvent {
    std::uint64_t ts_ns = 2'195'134'454;
    std::uint64_t address = 0xffffffff8db4cc55;
    std::uint64_t value = 4096;
    std::uint32_t pid = 12'345;
    std::uint32_t cpu = 1;
};

void describe(BtfBuilder& btf, const FileEvent&) {
    const int u64 = btf.u64();
    const int u32 = btf.u32();
    const int comm = btf.array(btf.character(), 16);
    const int name = btf.array(btf.character(), 48);
    btf.structure("event", sizeof(FileEvent));
    btf.member("ts_ns", u64, offsetof(FileEvent, ts_ns));
    btf.member("cpu", u32, offsetof(FileEvent, cpu));
    btf.member("pid", u32, offsetof(FileEvent, pid));
    btf.member("tid", u32, offsetof(FileEvent, tid));
    btf.member("comm", comm, offsetof(FileEvent, comm));
    btf.member("count", u64, offsetof(FileEvent, count));
    btf.member("name", name, offsetof(FileEvent, name));
}

void describe(BtfBuilder& btf, const SmallEvent&) {
    const int u64 = btf.u64();
    const int u32 = btf.u32();
    btf.structure("event", sizeof(SmallEvent));
    btf.member("ts_ns", u64, offsetof(SmallEvent, ts_ns));
    btf.member("address", u64, offsetof(SmallEvent, address));
    btf.member("value", u64, offsetof(SmallEvent, value));
    btf.member("pid", u32, offsetof(SmallEvent, pid));
    btf.member("cpu", u32, offsetof(SmallEvent, cpu));
}

/// Fills the ring until it is destroyed.
template <typename Event>
class Producer {
  public:
    explicit Producer(ReplayRing& ring)
        : thread_([this, &ring] {
              Event event;
              while (!stop_.load(std::memory_order_relaxed)) {
                  if (ring.output(std::as_bytes(std::span(&event, 1)))) {
                      ++event.ts_ns;
                  } else {
                      std::this_thread::yield();
                  }
              }
          }) {}
    ~Producer() {
        stop_ = true;
        thread_.join();
    }

  private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

double thread_seconds() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename Event>
void events(benchmark::State& state, Format format) {
    ReplayRing ring(kRingSize);
    BtfBuilder btf;
    describe(btf, Event{});
    RecordPrinter printer(btf.get(), "events", true, {.format = format});
    const UniqueFd file(memfd_create("output", MFD_CLOEXEC));
    Output output(file.get());
    Producer<Event> producer(ring);

    std::uint64_t total = 0;
    const double start = thread_seconds();
    for (auto _ : state) {
        std::uint64_t received = 0;
        lseek(file.get(), 0, SEEK_SET);
        while (received < kBatch) {
            const std::size_t bytes =
                consume_ring(ring.memory(), [&](std::span<const std::byte> record) {
                    printer.print(output.buffer(), record);
                    output.flush_if_full();
                    return ++received < kBatch;
                });
            if (bytes == 0) std::this_thread::yield();
        }
        output.flush();
        total += received;
    }
    const double seconds = thread_seconds() - start;
    state.SetItemsProcessed(static_cast<std::int64_t>(total));
    state.counters["cpu_per_event"] =
        benchmark::Counter(seconds / static_cast<double>(total), benchmark::Counter::kDefaults);
}

template <typename Event>
void add(const std::string& name) {
    for (const auto& [suffix, format] :
         {std::pair{"raw", Format::kRaw}, {"text", Format::kText}, {"json", Format::kJson}})
        benchmark::RegisterBenchmark((name + "/" + suffix).c_str(), events<Event>, format)
            ->UseRealTime();
}

}  // namespace
}  // namespace djprobe::loader

int main(int argc, char** argv) {
    djprobe::loader::add<djprobe::loader::SmallEvent>("32_bytes");
    djprobe::loader::add<djprobe::loader::FileEvent>("vfs_read");
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
