// SPDX-License-Identifier: GPL-2.0
// The programs that `probeload trace` makes: their text, and that clang and libbpf take them.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

#include "decode/record_type.h"
#include "expect_error.h"
#include "object/object.h"
#include "session/targets.h"
#include "temp_file.h"
#include "trace/cgroup.h"
#include "trace/compiled.h"
#include "trace/header.h"
#include "trace/prepare.h"
#include "trace/program.h"
#include "trace_questions.h"

namespace djprobe::loader {
namespace {

class TraceProgramTest : public TraceQuestions {
  protected:
    // From the first function on.
    static std::string functions(const Question& question) {
        const std::string text = source(question);
        return text.substr(text.find("SEC(\"k"));
    }
    static std::string refused(const std::string& place, const std::string& items,
                               ExitCode code = ExitCode::kUsage) {
        Types all = types();
        return expect_error(code, [&] { write_program(question(place, items), all); });
    }
    // Where that is not there, attach names none of its own options.
    static void expect_attached_by_the_users_word(const Question& question,
                                                  const TraceProgram& program,
                                                  const Object& object) {
        PreparedTrace trace{{}, types(), program};
        trace.options.question = question;
        const AttachOptions attach = attach_options(trace, "a.bpf.o", nullptr);
        EXPECT_FALSE(attach.tells_of_no_return);
        const std::vector<Target> targets = choose_targets(attach, object.programs());
        ASSERT_EQ(targets.size(), 1U);
        EXPECT_EQ(targets.front().site.str(), question.site.str());
        EXPECT_FALSE(targets.front().by_section);
    }
    static void expect_compiles(const Question& question) {
        Types all = types();
        const TraceProgram program = write_program(question, all);
        std::optional<TempDir> directory(std::in_place);
        const std::filesystem::path file = compiled(
            program.source, trace_header(all, program.types), trace_flags(all), *directory);
        const std::filesystem::path kept = std::filesystem::temp_directory_path() /
                                           ("trace_test." + std::to_string(getpid()) + ".bpf.o");
        std::filesystem::copy_file(file, kept, std::filesystem::copy_options::overwrite_existing);
        directory.reset();
        const Object object = Object::open(kept, false);
        EXPECT_EQ(object.programs().size(), program.is_session ? 2U : 1U);
        const bool sends = find_record_type(object.types(), "events", false).has_value();
        EXPECT_NE(sends, question.aggregation.has_value());
        expect_attached_by_the_users_word(question, program, object);
        std::filesystem::remove(kept);
    }
    void SetUp() override { setenv("XDG_CACHE_HOME", "/proc/none", 1); }
    void TearDown() override { unsetenv("XDG_CACHE_HOME"); }
};

TEST_F(TraceProgramTest, reads_as_written_by_hand) {
    Question asked =
        question("vfs_read", "file->f_path.dentry->d_name.name:str, count", "count > 4096");
    asked.columns = {"time", "comm"};
    EXPECT_EQ(source(asked), R"(// SPDX-License-Identifier: GPL-2.0
/*
 * probeload trace vfs_read 'file->f_path.dentry->d_name.name:str, count' --if 'count > 4096'
 *
 * Attach it with: probeload attach FILE
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

struct event {
    __u64 time; /* nanoseconds since boot */
    char comm[16];
    char name[64];
    size_t count;
};
const struct event *unused_event __attribute__((unused));

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 256 * 1024);
} events SEC(".maps");

/* Events for which there was no room. */
__u64 lost;

/* What is read of a task. Where it is the running kernel tells. */
struct task_struct___named {
    char comm[16];
} __attribute__((preserve_access_index));

/* The task's name, for a tenth of what bpf_get_current_comm() costs. */
static __always_inline void read_comm(char *to) {
    const struct task_struct___named *task = (const void *)bpf_get_current_task_btf();
    const __u64 *from = (const void *)task->comm;

    ((__u64 *)to)[0] = from[0];
    ((__u64 *)to)[1] = from[1];
}

/* The tracer, whose own calls do not count. 0: all calls do. */
const volatile __u32 own_pid;

SEC("kprobe/vfs_read")
int on_vfs_read(struct pt_regs *ctx) {
    struct file *file = (struct file *)PT_REGS_PARM1(ctx);
    size_t count = (size_t)PT_REGS_PARM3(ctx);
    struct event *event;

    if (own_pid && bpf_get_current_pid_tgid() >> 32 == own_pid) return 0;
    if (!(count > 4096)) return 0;
    event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
    if (!event) {
        __sync_fetch_and_add(&lost, 1);
        return 0;
    }
    event->time = bpf_ktime_get_ns();
    read_comm(event->comm);
    bpf_probe_read_kernel_str(event->name, sizeof(event->name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
    event->count = count;
    bpf_ringbuf_submit(event, 0);
    return 0;
}
)");
}

TEST_F(TraceProgramTest, keeps_for_the_return_what_it_names) {
    const std::string text = functions(question("vfs_read:return", "retval, count"));
    EXPECT_THAT(text, testing::HasSubstr("    call.count = (size_t)PT_REGS_PARM3(ctx);\n"));
    EXPECT_THAT(text, testing::HasSubstr("    return frame;\n"));
    EXPECT_THAT(text, testing::HasSubstr("    ssize_t retval = (ssize_t)PT_REGS_RC(ctx);\n"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("file")));
    const std::string alone = functions(question("vfs_read:return", "retval"));
    EXPECT_THAT(alone, testing::StartsWith("SEC(\"kretprobe/vfs_read\")\nint on_vfs_read("));
}

TEST_F(TraceProgramTest, filters_in_the_program) {
    Question asked = question("vfs_read", "count");
    asked.filters = {.pid = 3, .tid = 4, .uid = 5, .cpu = 1, .comm = "a\"\n1", .cgroup = {}};
    const std::string text = functions(asked);
    EXPECT_THAT(source(asked), testing::Not(testing::HasSubstr("own_pid")));
    EXPECT_THAT(text, testing::HasSubstr("if (bpf_get_current_pid_tgid() >> 32 != 3) return 0;"));
    EXPECT_THAT(text, testing::HasSubstr("if ((__u32)bpf_get_current_pid_tgid() != 4) return 0;"));
    EXPECT_THAT(text, testing::HasSubstr("if ((__u32)bpf_get_current_uid_gid() != 5) return 0;"));
    EXPECT_THAT(text, testing::HasSubstr("if (bpf_get_smp_processor_id() != 1) return 0;"));
    EXPECT_THAT(text, testing::HasSubstr(R"(sizeof(task_comm), "a\042\0121") != 0) return 0;)"));
    expect_compiles(asked);
}

TEST_F(TraceProgramTest, filters_by_a_control_group_and_those_below_it) {
    Question asked = question("vfs_read", "count");
    asked.filters.cgroup = "/sys/fs/cgroup/none";
    EXPECT_THAT(
        source(asked),
        testing::HasSubstr(
            "if (bpf_get_current_ancestor_cgroup_id(cgroup_level) != cgroup_id) return 0;"));
    EXPECT_EQ(attach_words(asked, false, "a.o"),
              "--set cgroup_id=INODE --set cgroup_level=LEVEL a.o");
    EXPECT_THAT(expect_error(ExitCode::kUsage, [] { find_cgroup("/proc"); }),
                testing::StartsWith("--cgroup: /proc: is no folder of a cgroup file system"));
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { find_cgroup("/none"); }),
              "--cgroup: /none: No such file or directory");
}

TEST_F(TraceProgramTest, counts_in_equal_steps) {
    Question asked = question("vfs_read");
    asked.aggregation = {Aggregation::Kind::kHistogram, "count", "", Linear{0, 4096, 16}};
    std::string text = source(asked);
    EXPECT_THAT(text, testing::HasSubstr("--hist 'count:linear(0,4096,16)'"));
    EXPECT_THAT(text, testing::HasSubstr("    __u64 slots[16]; /* of 256 each */\n"));
    EXPECT_THAT(text, testing::HasSubstr(R"(
    if (value >= (__u64)4096LL) {
        ++result->above;
    } else {
        __u64 slot = ((__u64)value - 0ULL) / 256;

        /* The verifier does not divide, so clang must not drop the check. */
        barrier_var(slot);
        if (slot < 16) ++result->slots[slot];
    }
)"));
    expect_compiles(asked);
    asked.aggregation->linear->from = -5;
    Types all = types();
    EXPECT_THAT(expect_error(ExitCode::kUsage, [&] { write_program(asked, all); }),
                testing::StartsWith("this number has no sign: linear() begins at 0"));
    asked.aggregation->value = "(int)count - 1";
    EXPECT_THAT(source(asked), testing::HasSubstr("    if (value < (__s64)-5LL)\n"));
    expect_compiles(asked);
}

TEST_F(TraceProgramTest, shows_kept_addresses_as_a_stack) {
    const Question asked = question("vfs_read", "(unsigned long *)buf:kstack 8, pos:kstack");
    EXPECT_THAT(source(asked), testing::HasSubstr("    unsigned long buf[8];\n"));
    EXPECT_THAT(source(asked), testing::HasSubstr("    unsigned long pos[16];\n"));
    expect_compiles(asked);
    EXPECT_THAT(refused("vfs_read", "file:kstack"),
                testing::StartsWith("a stack is an array of addresses: this is struct file *"));
    EXPECT_THAT(refused("vfs_read", "pos:kstack 128"), testing::StartsWith("how many frames"));
    EXPECT_THAT(refused("vfs_read", "count:linear"), testing::StartsWith("linear() is for --hist"));
}

TEST_F(TraceProgramTest, gives_no_name_twice) {
    const std::string text = source(question("vfs_setxattr", "*(u64 *)value"));
    EXPECT_THAT(text, testing::HasSubstr("READ(u64, (u64 *)value_)"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("type value_ =")));
    expect_compiles(question("bpf_set_retval:return", "retval"));
    expect_compiles(question("bpf_set_retval:return", "retval, latency"));
    expect_compiles(question("io_issue_sqe", "req->ctx->restricted"));
    Question twice = question("wake_up_new_task");
    twice.aggregation = {Aggregation::Kind::kCount, "", "p->comm, comm, comm, kstack"};
    twice.kernel_stack = twice.user_stack = true;
    expect_compiles(twice);
}

TEST_F(TraceProgramTest, takes_a_bool_from_its_byte) {
    EXPECT_THAT(functions(question("capable:return")),
                testing::HasSubstr("bool retval = (unsigned char)PT_REGS_RC(ctx);"));
}

TEST_F(TraceProgramTest, tells_what_there_is_instead) {
    EXPECT_EQ(refused("vfs_read", "count + cnt"),
              "vfs_read has no argument `cnt`; it has file, buf, count, pos\n"
              "  count + cnt\n"
              "          ^^^");
    EXPECT_EQ(refused("vfs_read", "file->f_pat.dentry"),
              "struct file has no member `f_pat`; did you mean f_path?\n"
              "  file->f_pat.dentry\n"
              "        ^^^^^");
    EXPECT_THAT(refused("vfs_read", "file.f_pos"), testing::StartsWith("`file` is a pointer"));
    EXPECT_THAT(refused("vfs_read", "file->f_path->mnt"),
                testing::StartsWith("`file->f_path` is no pointer: write .mnt"));
    EXPECT_THAT(refused("vfs_read", "count->x"), testing::StartsWith("`count` is no struct"));
    EXPECT_THAT(refused("vfs_read", "(int)count / 2"), testing::StartsWith("BPF divides only"));
    EXPECT_THAT(refused("vfs_read", "(struct fil *)buf"),
                testing::StartsWith("the kernel has no struct fil"));
    EXPECT_THAT(refused("vfs_read", "file * 2"), testing::StartsWith("a pointer is no number"));
    EXPECT_THAT(refused("vfs_read", "&count"), testing::StartsWith("only what lies in"));
    EXPECT_THAT(refused("vfs_read", "*file->f_inode"),
                testing::HasSubstr("bytes, and up to 256 are shown"));
    EXPECT_THAT(refused("vfs_read", "count:str"), testing::StartsWith("it is no pointer"));
    EXPECT_THAT(refused("vfs_read", "count:foo"), testing::StartsWith("a value is shown as"));
    EXPECT_THAT(refused("vfs_reed", "count", ExitCode::kNoSuchSite),
                testing::HasSubstr("did you mean vfs_read?"));
}

TEST_F(TraceProgramTest, tells_what_to_write_in_place_of_other_tracers_words) {
    EXPECT_EQ(
        refused("vfs_read", "comm"),
        "`comm` is no number: it is a column (--columns), a key (--count-by comm, --by comm), "
        "and --comm NAME takes the tasks of one name\n  comm\n  ^^^^");
    EXPECT_EQ(refused("vfs_read", "kstack"),
              "stacks are shown by --kstack, and counted by --count-by kstack\n"
              "  kstack\n  ^^^^^^");
    EXPECT_EQ(refused("vfs_read", "retval"),
              "`retval` is known when the function returns: trace vfs_read:return\n"
              "  retval\n  ^^^^^^");
    EXPECT_EQ(refused("schedule:return", "retval"), "schedule returns nothing\n  retval\n  ^^^^^^");
    EXPECT_EQ(refused("__pte:return", "retval"),
              "__pte returns pte_t, which is no number\n  retval\n  ^^^^^^");
    EXPECT_EQ(refused("vfs_read", "arg3"),
              "arguments have names here: arg3 is `count`\n  arg3\n  ^^^^");
    EXPECT_EQ(refused("vfs_read", "arg6"),
              "vfs_read has no argument `arg6`; it has file, buf, count, pos\n  arg6\n  ^^^^");
    EXPECT_EQ(refused("vfs_read", "file == NULL"),
              "NULL is a macro: write 0\n  file == NULL\n          ^^^^");
    EXPECT_EQ(refused("vfs_read", "AF_INET"),
              "`AF_INET` is no constant of the kernel's enums, and macros are not known: write its "
              "value\n  AF_INET\n  ^^^^^^^");
    EXPECT_EQ(refused("tcp_v4_connect", "sk->sk_daddr"),
              "struct sock has no member `sk_daddr`; did you mean __sk_common.skc_daddr?\n"
              "  sk->sk_daddr\n      ^^^^^^^^");
    EXPECT_EQ(refused("vfs_read", "count / 0"),
              "BPF divides nothing by 0\n  count / 0\n          ^");
    EXPECT_EQ(refused("vfs_read", "count >> 64"),
              "`count` has 64 bits: a shift of it is by 0 to 63\n  count >> 64\n           ^^");
    EXPECT_THAT(refused("vfs_read", "1 << 32"),
                testing::StartsWith("`1` has 32 bits: a shift of it is by 0 to 31"));
    EXPECT_THAT(refused("vfs_read", "count << -1"), testing::StartsWith("`count` has 64 bits"));
    EXPECT_EQ(refused("vfs_read", "file->f_inode->i_sb->s_id[32]"),
              "`file->f_inode->i_sb->s_id` has the elements 0 to 31\n"
              "  file->f_inode->i_sb->s_id[32]\n                            ^^");
    EXPECT_THAT(refused("vfs_read", "file->f_inode->i_sb->s_id[-1]"),
                testing::HasSubstr("has the elements 0 to 31"));
    EXPECT_THAT(refused("vfs_read", "18446744073709551615"),
                testing::StartsWith("'18446744073709551615' has no type in C: write "
                                    "18446744073709551615u\n"));
    EXPECT_THAT(refused("vfs_read", "18446744073709551616"),
                testing::StartsWith("'18446744073709551616' is no number of 64 bits"));
    EXPECT_THAT(refused("vfs_read", "08"), testing::StartsWith("'08' is no number that C knows"));
    EXPECT_THAT(refused("vfs_read", "5x"), testing::StartsWith("'5x' is no number that C knows"));
}

TEST_F(TraceProgramTest, takes_each_element_and_each_shift_that_c_has) {
    source(
        question("vfs_read", "file->f_inode->i_sb->s_id[31], count << 63, 1u >> 31, 1 << count"));
    // Of a flexible array any.
    source(question("vfs_read", "file->f_path.dentry->d_iname[1], 18446744073709551615u"));
    source(question("do_sys_openat2", "((struct linux_dirent64 *)filename)->d_name[100]"));
}

TEST_F(TraceProgramTest, takes_numbers_and_letters_for_what_c_takes_them) {
    EXPECT_THAT(source(question("vfs_read", "TCP_ESTABLISHED")),
                testing::HasSubstr("    int TCP_ESTABLISHED;\n"));
    EXPECT_THAT(source(question("vfs_read", "file->f_path.dentry->d_iname")),
                testing::ContainsRegex("    char d_iname\\[[0-9]+\\];\n"));
    EXPECT_THAT(source(question("dev_set_mac_address", "dev->perm_addr")),
                testing::ContainsRegex("    char perm_addr\\[32\\];\n"));
    expect_compiles(question("vfs_read", "TCP_ESTABLISHED, file->f_path.dentry->d_iname"));
}

TEST_F(TraceProgramTest, tells_of_a_function_without_types_and_how_it_is_attached) {
    Types all = types();
    const auto unknown = [&](const char* place) {
        return write_program(question(place, "pid"), all).unknown;
    };
    EXPECT_EQ(unknown("vfs_read"), "");
    EXPECT_EQ(unknown("vfs_raed"),
              "vfs_raed: the kernel's types know no such function, and so none of its arguments; "
              "did you mean vfs_read?");
    EXPECT_EQ(attach_words(question("vfs_read:return"), true, "a.o"), "--session a.o");
    EXPECT_EQ(attach_words(question("vfs_*"), false, "a.o"), "--func 'vfs_*' a.o");
}

TEST_F(TraceProgramTest, traces_a_module_without_types_without_arguments) {
    Types all = Types::read(std::string(DJPROBE_KERNEL) + "/vmlinux", "no_such_module");
    const TraceProgram program = write_program(question("no_such_module:vfs_read:return"), all);
    EXPECT_EQ(program.unknown,
              "no_such_module:vfs_read: module no_such_module has no types (BTF), and so none of "
              "its arguments");
    EXPECT_THAT(program.source, testing::HasSubstr("SEC(\"kretprobe/no_such_module:vfs_read\")"));
    EXPECT_EQ(
        expect_error(ExitCode::kNoSuchSite,
                     [&] { write_program(question("no_such_module:vfs_read", "file"), all); }),
        program.unknown);
}

TEST_F(TraceProgramTest, compiles_whatever_is_asked) {
    for (const auto& [place, items] : std::vector<std::pair<const char*, const char*>>{
             {"vfs_read", ""},
             {"vfs_read:return", ""},
             {"vfs_read:return", "latency"},
             {"__pte:return", ""},
             {"vfs_read.isra.0", "pid"},
             {"vfs_read.isra.0:return", "retval, latency"},
             {"vfs_read:return", "retval, file->f_pos, latency / 1000"},
             {"vfs_read", "*pos, pos[0] + 1, (char)buf, buf:ustr 16, &file->f_pos, file:hex 8"},
             {"vfs_read", "file->f_op->read_iter:sym, file->f_inode->i_sb->s_type->name:str"},
             {"vfs_read", "file->f_mode & 1 || count == 3 && file == 0 ? pid : ~count << 3"},
             {"vfs_read", "-(-count), !file, (struct inode *)buf == file->f_inode, 'a' + 010"},
             {"vfs_open", "path->dentry->d_name, (*path).mnt, path[1].dentry->d_iname:str"},
             {"tcp_sendmsg", "sk->__sk_common.skc_daddr:ip, sk->__sk_common.skc_v6_daddr:ip"},
             {"tcp_sendmsg", "sk->__sk_common.skc_reuse, sk->__sk_common, size:x"},
             {"wake_up_new_task", "p->comm, p->cpus_ptr->bits[0], p->in_execve, p->comm[cpu & 7]"},
             {"wake_up_new_task", "p->thread_info.flags:x, p->comm:hex 4, TASK_COMM_LEN + tid"},
             {"attach_pid", "type, (enum pid_type)1, (u32)uid"},
             {"vfs_read", "(unsigned short int)count, (int long unsigned)pos, (signed)count"},
             {"do_mmap", ""},
             {"perf_event_release_kernel", "event->attr.type, event->parent->cpu"},
         }) {
        SCOPED_TRACE(fmt::format("{} '{}'", place, items));
        Question asked = question(place, items, "cpu < 64");
        asked.columns = {"time", "cpu", "pid", "tid", "uid", "comm"};
        asked.kernel_stack = asked.user_stack = true;
        expect_compiles(asked);
    }
}

TEST_F(TraceProgramTest, keeps_results_in_the_kernel) {
    Question asked = question("vfs_read:return", "", "retval > 0");
    asked.aggregation = {Aggregation::Kind::kSum, "retval", "comm"};
    const auto has_room = [&](const Aggregation& aggregation, const char* many) {
        asked.aggregation = aggregation;
        EXPECT_THAT(source(asked), testing::HasSubstr(fmt::format("max_entries, {});", many)));
    };
    has_room({Aggregation::Kind::kSum, "retval", ""}, "1");
    has_room({Aggregation::Kind::kHistogram, "retval", "comm"}, "1024");
    has_room({Aggregation::Kind::kSum, "retval", "comm"}, "10240");
    const std::string text = functions(asked);
    EXPECT_THAT(text, testing::HasSubstr(R"(
    struct result *result;
    struct result_key key;
    __s64 value;

    if (own_pid && bpf_get_current_pid_tgid() >> 32 == own_pid) return 0;
    if (!(retval > 0)) return 0;
    __builtin_memset(&key, 0, sizeof(key));
    read_comm(key.comm);
    value = retval;
)"));
    EXPECT_THAT(text, testing::HasSubstr("    result->sum += value;\n"));
    EXPECT_THAT(source(asked), testing::HasSubstr("vfs_read:return --sum 'retval' --by 'comm'"));
}

TEST_F(TraceProgramTest, compiles_results_of_each_kind) {
    using Kind = Aggregation::Kind;
    for (const auto& [place, aggregation] : std::vector<std::pair<const char*, Aggregation>>{
             {"vfs_read", {Kind::kCount, "", "comm, kstack, count > 4096, func"}},
             {"vfs_read:return", {Kind::kSum, "retval", "file->f_inode->i_ino"}},
             {"vfs_read", {Kind::kAverage, "count", "cpu, file->f_op->read_iter:sym"}},
             {"vfs_read", {Kind::kLeast, "(int)count", ""}},
             {"vfs_read", {Kind::kMost, "count", "ustack"}},
             {"vfs_read:return", {Kind::kHistogram, "retval", "comm"}},
             {"vfs_*:return", {Kind::kHistogram, "latency", "func"}},
             {"vfs_*", {Kind::kCount, "", "func, pid"}},
         }) {
        SCOPED_TRACE(aggregation.value + " by " + aggregation.keys);
        Question asked = question(place, "", "cpu < 64");
        asked.aggregation = aggregation;
        expect_compiles(asked);
    }
    Question asked = question("vfs_read");
    Types all = types();
    asked.aggregation = {Aggregation::Kind::kCount, "", "comm:x"};
    EXPECT_THAT(expect_error(ExitCode::kUsage, [&] { write_program(asked, all); }),
                testing::StartsWith("comm is shown in one form only"));
    for (const char* const form : {"pos:x 3", "file:sym 3", "count:ip 4"})
        EXPECT_THAT(
            expect_error(ExitCode::kUsage, [&] { write_program(question("vfs_read", form), all); }),
            testing::HasSubstr(" takes no length"));
    asked.aggregation = {Aggregation::Kind::kSum, "file", ""};
    EXPECT_THAT(expect_error(ExitCode::kUsage, [&] { write_program(asked, all); }),
                testing::StartsWith("this is a pointer"));
}

TEST_F(TraceProgramTest, names_registers_within_a_function) {
    const std::string text = functions(question("vfs_read+0x2b", "rdi, esi, pid", "rax & 1"));
    EXPECT_THAT(text, testing::HasSubstr("SEC(\"kprobe/vfs_read+0x2b\")"));
    EXPECT_THAT(text, testing::HasSubstr("if (!(ctx->ax & 1)) return 0;"));
    EXPECT_THAT(text, testing::HasSubstr("event->rdi = ctx->di;"));
    EXPECT_THAT(text, testing::HasSubstr("event->esi = (__u32)ctx->si;"));
    EXPECT_THAT(functions(question("vfs_read", "rdi, count")),
                testing::HasSubstr("event->rdi = ctx->di;"));
    expect_compiles(question("vfs_read+0x2b", "((struct file *)rdi)->f_inode, r10d:x, func:sym"));
    EXPECT_THAT(refused("vfs_read+0x2b", "count"),
                testing::StartsWith("`count` is known where the function begins: what holds it "
                                    "then may hold something else at vfs_read+0x2b"));
    EXPECT_EQ(refused("vfs_read:return", "rdi"),
              "registers are not named at a return: `retval` is, and the arguments as they were at "
              "the entry; trace vfs_read+OFFSET takes registers\n  rdi\n  ^^^");
}

}  // namespace
}  // namespace djprobe::loader
