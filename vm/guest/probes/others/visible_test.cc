// SPDX-License-Identifier: GPL-2.0
// What others see of detours and of the text that we write: kernel symbols, stacks, perf's events.
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "../../symbols.h"
#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

/// The memory that holds detours, as /proc/kallsyms names it.
std::vector<uint64_t> detour_symbols() {
    std::vector<uint64_t> found;
    const Kallsyms all = Kallsyms::read();
    for (const Symbol& symbol : all.symbols())
        if (symbol.name.starts_with("djprobe_detours_") && symbol.module == "bpf")
            found.push_back(symbol.address);
    return found;
}

/// An open perf event and its ring.
class PerfRing {
  public:
    PerfRing(perf_event_attr attr, int pid, int cpu) {
        attr.size = sizeof attr;
        fd_ = Fd(static_cast<int>(
            syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
        if (!fd_) return;
        void* const memory =
            mmap(nullptr, kPage + kRing, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
        if (memory != MAP_FAILED) memory_ = static_cast<unsigned char*>(memory);
    }
    ~PerfRing() {
        if (memory_) munmap(memory_, kPage + kRing);
    }
    PerfRing(const PerfRing&) = delete;
    PerfRing& operator=(const PerfRing&) = delete;

    explicit operator bool() const { return memory_; }
    /// Each record since the last call: its header and what follows.
    template <class Take>
    void drain(Take&& take) {
        auto* const page = reinterpret_cast<perf_event_mmap_page*>(memory_);
        const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        while (at_ < head) {
            std::vector<unsigned char> record(sizeof(perf_event_header));
            copy(record);
            perf_event_header header;
            std::memcpy(&header, record.data(), sizeof header);
            record.resize(header.size);
            copy(record);
            take(header, record);
            at_ += header.size;
        }
        __atomic_store_n(&page->data_tail, at_, __ATOMIC_RELEASE);
    }

  private:
    static constexpr size_t kPage = 4096, kRing = 64 * kPage;

    void copy(std::vector<unsigned char>& record) const {
        for (size_t i = 0; i < record.size(); ++i)
            record[i] = memory_[kPage + (at_ + i) % kRing];
    }

    Fd fd_;
    unsigned char* memory_ = nullptr;
    uint64_t at_ = 0;
};

template <class Value>
Value value_at(const std::vector<unsigned char>& record, size_t offset) {
    Value value;
    std::memcpy(&value, record.data() + offset, sizeof value);
    return value;
}

class Visible : public ProbeTest {
  protected:
    /// Detours are freed a while after their probes have gone.
    static bool are_gone() {
        for (int tries = 0; tries < 100 && !detour_symbols().empty(); ++tries)
            usleep(100000);
        return detour_symbols().empty();
    }
    /// A handler that calls bpf_trace_printk(), which is a tracepoint.
    static Fd printing_handler() {
        constexpr int kText = 'h' | 'i' << 8;
        const bpf_insn insns[] = {
            {BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, kText},
            {BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0},
            {BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, -8},
            {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 8},
            {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_trace_printk},
            {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
            {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
        };
        return Fd(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "printing", "GPL", insns, std::size(insns),
                                nullptr));
    }
    /// The kernel's call chain at the first bpf_trace_printk() of one getpgid().
    static std::vector<uint64_t> stack_in_handler() {
        unsigned id = 0;
        for (const char* folder : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"})
            if (!id)
                std::ifstream(std::string(folder) + "/events/bpf_trace/bpf_trace_printk/id") >> id;
        EXPECT_NE(id, 0u);
        perf_event_attr attr = {};
        attr.type = PERF_TYPE_TRACEPOINT;
        attr.config = id;
        attr.sample_period = 1;
        attr.sample_type = PERF_SAMPLE_CALLCHAIN;
        attr.exclude_callchain_user = 1;
        PerfRing ring(attr, 0, -1);
        EXPECT_TRUE(ring);
        EXPECT_EQ(call_getpgid(1), 0u);
        std::vector<uint64_t> chain;
        ring.drain([&](const perf_event_header& header, const auto& record) {
            if (header.type != PERF_RECORD_SAMPLE || !chain.empty()) return;
            const auto count = value_at<uint64_t>(record, sizeof header);
            for (uint64_t i = 0; i < count; ++i)
                chain.push_back(value_at<uint64_t>(record, sizeof header + 8 * (i + 1)));
        });
        return chain;
    }
};

TEST_F(Visible, DetoursHaveKernelSymbolsWhileTheyAreThere) {
    ASSERT_TRUE(are_gone());
    Probe probe = device_.must_attach(at(kGetpgid));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    EXPECT_FALSE(detour_symbols().empty());
    probe.detach();
    EXPECT_TRUE(are_gone());
}

// By a detour that calls the program itself, and by one that has a list of them.
TEST_F(Visible, AStackGoesThroughTheDetourToTheProbedFunction) {
    const Fd handler = printing_handler();
    ASSERT_TRUE(handler);
    Request request = at(kGetpgid);
    request.prog_fd = handler.get();
    const Probe probe = device_.must_attach(request);
    Probe second;
    for (const bool list : {false, true}) {
        if (list) second = device_.must_attach(at(kGetpgid));
        ASSERT_EQ(probe.settle().mechanism, uint32_t{DJPROBE_MECHANISM_JUMP});
        const std::vector<uint64_t> memory = detour_symbols();
        ASSERT_FALSE(memory.empty());
        const std::vector<uint64_t> chain = stack_in_handler();
        const auto detour = std::ranges::find_if(chain, [&](uint64_t ip) {
            return std::ranges::any_of(
                memory, [&](uint64_t start) { return ip >= start && ip < start + 16384; });
        });
        ASSERT_NE(detour, chain.end()) << list << ", " << chain.size() << " frames";
        ASSERT_GE(chain.end() - detour, 3) << "the stack ends at the detour";
        EXPECT_EQ(symbol_at(detour[1]), kGetpgid);
        EXPECT_EQ(detour[1], probe.query().address + 1) << "the probed instruction";
    }
}

/// All that perf tells of text, on all CPUs, in the order of its time.
class Pokes {
  public:
    struct Poke {
        uint64_t address;
        std::vector<unsigned char> before, after;
    };
    struct Named {
        uint64_t address;
        bool gone;
    };

    Pokes() {
        perf_event_attr attr = {};
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_DUMMY;
        attr.text_poke = 1;
        attr.ksymbol = 1;
        attr.sample_type = PERF_SAMPLE_TIME;
        attr.sample_id_all = 1;
        for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); ++cpu)
            rings_.push_back(std::make_unique<PerfRing>(attr, -1, static_cast<int>(cpu)));
    }
    bool are_there() const {
        return std::ranges::all_of(rings_, [](const auto& ring) { return bool(*ring); });
    }
    void read() {
        for (const auto& ring : rings_)
            ring->drain([&](const perf_event_header& header, const auto& record) {
                const size_t body = sizeof header;
                const auto time = value_at<uint64_t>(record, header.size - 8);
                const auto address = value_at<uint64_t>(record, body);
                if (header.type == PERF_RECORD_KSYMBOL) {
                    const std::string name(reinterpret_cast<const char*>(record.data()) + body +
                                           16);
                    if (name.starts_with("djprobe_detours_"))
                        named.push_back({address, (value_at<uint16_t>(record, body + 14) &
                                                   PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0});
                } else if (header.type == PERF_RECORD_TEXT_POKE) {
                    const auto old_size = value_at<uint16_t>(record, body + 8);
                    const auto new_size = value_at<uint16_t>(record, body + 10);
                    const auto bytes = record.begin() + static_cast<std::ptrdiff_t>(body) + 12;
                    pokes.emplace(time, Poke{address,
                                             {bytes, bytes + old_size},
                                             {bytes + old_size, bytes + old_size + new_size}});
                }
            });
    }

    std::multimap<uint64_t, Poke> pokes;
    std::vector<Named> named;

  private:
    std::vector<std::unique_ptr<PerfRing>> rings_;
};

/// Some bytes of text as who reads the events knows them.
class Copy {
  public:
    Copy(uint64_t address, const unsigned char* bytes, size_t size)
        : address_(address), bytes_(bytes, bytes + size) {}

    /// False: the event says of other bytes that they were there.
    bool apply(const Pokes::Poke& poke) {
        bool matches = true;
        for (size_t i = 0; i < poke.after.size(); ++i) {
            const uint64_t at = poke.address + i - address_;
            if (at >= bytes_.size()) continue;
            matches &= i < poke.before.size() && poke.before[i] == bytes_[at];
            bytes_[at] = poke.after[i];
        }
        return matches;
    }
    const std::vector<unsigned char>& bytes() const { return bytes_; }

  private:
    uint64_t address_;
    std::vector<unsigned char> bytes_;
};

TEST_F(Visible, PerfIsToldOfEachByteOfTextThatIsWritten) {
    ASSERT_TRUE(are_gone());
    Pokes told;
    ASSERT_TRUE(told.are_there());
    Probe probe = device_.must_attach(at(kGetpgid));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    const djprobe_query query = probe.query();
    told.read();

    Copy text(query.anchor, query.displaced, query.displaced_len);
    const auto original = text.bytes();
    for (const auto& [time, poke] : told.pokes)
        EXPECT_TRUE(text.apply(poke));
    ASSERT_EQ(text.bytes()[0], 0xe9) << "the jump";
    int32_t distance;
    std::memcpy(&distance, text.bytes().data() + 1, sizeof distance);
    const uint64_t target = query.anchor + 5 + static_cast<uint64_t>(int64_t{distance});
    EXPECT_TRUE(std::ranges::any_of(told.pokes, [&](const auto& each) {
        const Pokes::Poke& poke = each.second;
        return poke.before.empty() && target >= poke.address &&
               target < poke.address + poke.after.size();
    })) << "what the jump leads to";
    EXPECT_TRUE(std::ranges::any_of(told.named, [&](const Pokes::Named& named) {
        return !named.gone && target >= named.address && target < named.address + 16384;
    }));

    told.pokes.clear();
    probe.detach();
    const auto is_over = [&] {
        told.read();
        return std::ranges::any_of(told.named, &Pokes::Named::gone);
    };
    for (int tries = 0; tries < 100 && !is_over(); ++tries)
        usleep(100000);
    EXPECT_TRUE(is_over());
    for (const auto& [time, poke] : told.pokes)
        EXPECT_TRUE(text.apply(poke));
    EXPECT_EQ(text.bytes(), original);
}

}  // namespace
}  // namespace djprobe::vm
