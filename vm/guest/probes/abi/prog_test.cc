// SPDX-License-Identifier: GPL-2.0
// Programs that are no handlers.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

constexpr bpf_insn kReturnZero[] = {
    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
    {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
};

/// bpf_override_return(ctx, kOverridden), with ctx still in r1.
constexpr int kOverridden = 4242;
constexpr bpf_insn kOverride[] = {
    {.code = BPF_ALU64 | BPF_MOV | BPF_K,
     .dst_reg = BPF_REG_2,
     .src_reg = 0,
     .off = 0,
     .imm = kOverridden},
    {.code = BPF_JMP | BPF_CALL,
     .dst_reg = 0,
     .src_reg = 0,
     .off = 0,
     .imm = BPF_FUNC_override_return},
    kReturnZero[0],
    kReturnZero[1],
};

template <size_t Count>
Fd load(bpf_prog_type type, const bpf_insn (&insns)[Count], bpf_attach_type expected = {},
        uint32_t flags = 0) {
    LIBBPF_OPTS(bpf_prog_load_opts, options);
    options.expected_attach_type = expected;
    options.prog_flags = flags;
    return Fd(bpf_prog_load(type, "test", "GPL", insns, Count, &options));
}

class Prog : public ProbeTest {
  protected:
    Answer attach(int prog_fd) const {
        Request request = at(kGetpgid);
        request.prog_fd = prog_fd;
        return device_.attach(request);
    }
    void expect_refused(int prog_fd, int error, djprobe_reason reason, const char* what) const {
        const Answer answer = attach(prog_fd);
        EXPECT_EQ(answer.error, error) << what;
        EXPECT_EQ(describe(answer.reason), describe(reason)) << what;
    }
};

TEST_F(Prog, AnyKprobeProgramIsAccepted) {
    const Fd prog = load(BPF_PROG_TYPE_KPROBE, kReturnZero);
    ASSERT_TRUE(prog);
    const Answer answer = attach(prog.get());
    EXPECT_EQ(answer.error, 0);
    EXPECT_EQ(call_getpgid(10), 0u);
    EXPECT_EQ(answer.probe.hits(), 10u);
}

TEST_F(Prog, OneThatWritesToTheRegistersIsRefused) {
    constexpr int kStackPointer = 152;  // within struct pt_regs
    const bpf_insn writes[] = {
        {.code = BPF_ST | BPF_MEM | BPF_DW,
         .dst_reg = BPF_REG_1,
         .src_reg = 0,
         .off = kStackPointer,
         .imm = 0},
        kReturnZero[0],
        kReturnZero[1],
    };
    const Fd prog = load(BPF_PROG_TYPE_KPROBE, writes);
    if (!prog) GTEST_SKIP() << "this kernel's verifier refuses it";
    expect_refused(prog.get(), -EOPNOTSUPP, DJPROBE_REASON_PROG_WRITES, "writes");
    EXPECT_EQ(call_getpgid(10), 0u);

    // Nobody looks at what a tail call leads to.
    const Fd programs(
        bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "programs", sizeof(int), sizeof(int), 1, nullptr));
    const bpf_insn calls[] = {
        {.code = BPF_LD | BPF_DW | BPF_IMM,
         .dst_reg = BPF_REG_2,
         .src_reg = BPF_PSEUDO_MAP_FD,
         .off = 0,
         .imm = programs.get()},
        {},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K,
         .dst_reg = BPF_REG_3,
         .src_reg = 0,
         .off = 0,
         .imm = 0},
        {.code = BPF_JMP | BPF_CALL,
         .dst_reg = 0,
         .src_reg = 0,
         .off = 0,
         .imm = BPF_FUNC_tail_call},
        kReturnZero[0],
        kReturnZero[1],
    };
    const Fd caller = load(BPF_PROG_TYPE_KPROBE, calls);
    ASSERT_TRUE(caller);
    for (const djprobe_mode mode : {DJPROBE_MODE_AUTO, DJPROBE_MODE_INT3}) {
        Request request = at(kGetpgid);
        request.prog_fd = caller.get();
        request.mode = mode;
        const Probe probe = device_.must_attach(request);
        const int key = 0, writer = prog.get();
        ASSERT_EQ(bpf_map_update_elem(programs.get(), &key, &writer, BPF_ANY), 0);
        expect_mechanism(probe, mode);
        EXPECT_EQ(call_getpgid(10), 0u);
        EXPECT_EQ(probe.hits(), 10u);
        ASSERT_EQ(bpf_map_delete_elem(programs.get(), &key), 0);
    }
}

TEST_F(Prog, TheModuleKeepsAProgramThatIsClosed) {
    Fd prog = load(BPF_PROG_TYPE_KPROBE, kReturnZero);
    const Answer answer = attach(prog.get());
    ASSERT_EQ(answer.error, 0);
    prog.reset();
    EXPECT_EQ(call_getpgid(10), 0u);
    EXPECT_EQ(answer.probe.hits(), 10u);
}

TEST_F(Prog, WhoLooksForItsContextFindsOne) {
    // Kernels do not know it to be there, and the analysis of the program took it for unused.
    const Object object("extend");
    Request request = at("do_getpgid");  // its argument, in rdi, is 0
    request.prog_fd = object.program("looks_for_context");
    const Probe probe = device_.must_attach(request);
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    EXPECT_EQ(call_getpgid(10), 0u);
    EXPECT_EQ(probe.hits(), 10u);
    EXPECT_EQ(object.get<uint64_t>(".bss", 0), 10u);
}

/// A program that takes the place of another one.
class Extension {
  public:
    explicit Extension(int target)
        : object_(bpf_object__open_file("bpf/extend.bpf.o", nullptr), bpf_object__close),
          program_(bpf_object__find_program_by_name(object_.get(), "extension")) {
        bpf_program* program = nullptr;
        while ((program = bpf_object__next_program(object_.get(), program)))
            bpf_program__set_autoload(program, program == program_);
        EXPECT_EQ(bpf_program__set_attach_target(program_, target, "extended"), 0);
        EXPECT_EQ(bpf_object__load(object_.get()), 0);
    }
    Fd attach() const { return Fd(bpf_raw_tracepoint_open(nullptr, bpf_program__fd(program_))); }

  private:
    std::unique_ptr<bpf_object, void (*)(bpf_object*)> object_;
    bpf_program* program_;
};

TEST_F(Prog, ExtensionsAndProbesKeepEachOtherOff) {
    const Object object("extend");
    const int prog = object.program("extended");
    for (const djprobe_mode mode : kBothModes) {
        const Extension extension(prog);  // each is attached once
        Request request = at(kGetpgid);
        request.prog_fd = prog;
        request.mode = mode;
        Answer answer = device_.attach(request);
        ASSERT_EQ(answer.error, 0);
        EXPECT_FALSE(extension.attach()) << "it would find no cookie, and not its registers";
        EXPECT_EQ(errno, EBUSY);
        EXPECT_EQ(call_getpgid(10), 0u);
        EXPECT_EQ(answer.probe.hits(), 10u);
        answer.probe = Probe();

        // Handlers are given back after a quiescence.
        Fd link = extension.attach();
        for (int tenths = 0; !link && tenths < 300; ++tenths) {
            usleep(100'000);
            link = extension.attach();
        }
        ASSERT_TRUE(link) << strerror(errno);
        expect_refused(prog, -EBUSY, DJPROBE_REASON_PROG_EXTENDED, "extended");
        link.reset();
    }
}

TEST_F(Prog, OtherTypes) {
    for (const bpf_prog_type type :
         {BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_PROG_TYPE_PERF_EVENT,
          BPF_PROG_TYPE_SOCKET_FILTER, BPF_PROG_TYPE_XDP}) {
        const Fd prog = load(type, kReturnZero);
        ASSERT_TRUE(prog) << type;
        expect_refused(prog.get(), -EOPNOTSUPP, DJPROBE_REASON_PROG_TYPE, "other type");
    }
}

TEST_F(Prog, NoPrograms) {
    const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    const Fd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "test", 4, 4, 1, nullptr));
    ASSERT_TRUE(map);
    const Probe probe = device_.must_attach(at("vfs_read"));
    Fd closed = load(BPF_PROG_TYPE_KPROBE, kReturnZero);
    const int number = closed.get();
    closed.reset();
    expect_refused(null.get(), -EBADF, DJPROBE_REASON_PROG_FD, "/dev/null");
    expect_refused(map.get(), -EBADF, DJPROBE_REASON_PROG_FD, "map");
    expect_refused(probe.fd(), -EBADF, DJPROBE_REASON_PROG_FD, "probe");
    expect_refused(device_.fd(), -EBADF, DJPROBE_REASON_PROG_FD, "device");
    expect_refused(number, -EBADF, DJPROBE_REASON_PROG_FD, "closed");
    expect_refused(-1, -EBADF, DJPROBE_REASON_PROG_FD, "-1");
    expect_refused(1 << 30, -EBADF, DJPROBE_REASON_PROG_FD, "never open");
}

TEST_F(Prog, KprobeMulti) {
    const Fd prog = load(BPF_PROG_TYPE_KPROBE, kReturnZero, BPF_TRACE_KPROBE_MULTI);
    ASSERT_TRUE(prog);
    const Answer answer = attach(prog.get());
    EXPECT_EQ(answer.error, -EOPNOTSUPP);
    EXPECT_EQ(describe(answer.reason), describe(DJPROBE_REASON_PROG_ATTACH_TYPE));
    EXPECT_EQ(answer.detail[0], static_cast<uint64_t>(BPF_TRACE_KPROBE_MULTI));
}

TEST_F(Prog, Sleepable) {
    const Fd prog = load(BPF_PROG_TYPE_KPROBE, kReturnZero, {}, BPF_F_SLEEPABLE);
    ASSERT_TRUE(prog) << "uprobe programs may be sleepable since 6.0";
    expect_refused(prog.get(), -EOPNOTSUPP, DJPROBE_REASON_PROG_SLEEPABLE, "sleepable");
}

TEST_F(Prog, OverrideWhereErrorsMayBeInjected) {
    const Fd prog = load(BPF_PROG_TYPE_KPROBE, kOverride);
    if (!prog) GTEST_SKIP() << "this kernel has no CONFIG_BPF_KPROBE_OVERRIDE";
    // Within the function, and in one that is not on the list.
    Request request = at(kGetpgid);
    request.prog_fd = prog.get();
    const uint64_t inside = attach_everywhere(device_, counter(), kGetpgid, 2)[1].query().offset;
    request.offset = inside;
    EXPECT_EQ(device_.attach(request).reason, DJPROBE_REASON_PROG_OVERRIDE);
    request.offset = 0;
    request.symbol = "vfs_read";
    EXPECT_EQ(device_.attach(request).error, -EOPNOTSUPP);
    request.symbol = kGetpgid;
    const pid_t group = getpgid(0);
    for (const djprobe_mode mode : {DJPROBE_MODE_AUTO, DJPROBE_MODE_INT3}) {
        request.mode = mode;
        const Probe probe = device_.must_attach(request);
        expect_mechanism(probe, mode);
        EXPECT_EQ(syscall(SYS_getpgid, 0), kOverridden);
    }
    EXPECT_EQ(getpgid(0), group);
}

}  // namespace
}  // namespace djprobe::vm
