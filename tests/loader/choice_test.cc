// SPDX-License-Identifier: GPL-2.0
#include "session/choice.h"

#include <cstdlib>

#include "expect_error.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

constexpr const char* kMixed = R"(
#define SEC(name) __attribute__((section(name), used))
char LICENSE[] SEC("license") = "GPL";
SEC("fentry/vfs_read") int typed(void *ctx) { return 0; }
SEC("kprobe/vfs_read") int entry(void *ctx) { return 0; }
SEC("kretprobe/vfs_read") int at_return(void *ctx) { return 0; }
SEC("?kprobe/vfs_write") int optional(void *ctx) { return 0; }
SEC("tp_btf/sched_switch") int switched(void *ctx) { return 0; }
SEC("raw_tp/sched_switch") int raw(void *ctx) { return 0; }
SEC("raw_tp/sys_enter") int entered(void *ctx) { return 0; }
)";

constexpr const char* kUserProbe = R"(
#define SEC(name) __attribute__((section(name), used))
SEC("uprobe") int user(void *ctx) { return 0; }
)";

constexpr const char* kSession = R"(
#define SEC(name) __attribute__((section(name), used))
SEC("kprobe.session/vfs_*") int both(void *ctx) { return 0; }
SEC("kprobe/vfs_read") int probe(void *ctx) { return 0; }
)";

constexpr const char* kTailCall = R"(
#define SEC(name) __attribute__((section(name), used))
char LICENSE[] SEC("license") = "GPL";
int callee(void *ctx);
struct {
    int (*type)[3];
    int (*max_entries)[1];
    unsigned *key;
    int (*values[])(void *);
} jumps SEC(".maps") = {.values = {[0] = &callee}};
SEC("kprobe/callee") int callee(void *ctx) { return 0; }
SEC("kprobe/vfs_read") int caller(void *ctx) {
    ((long (*)(void *, void *, unsigned))12)(ctx, &jumps, 0);
    return 0;
}
SEC("kprobe/vfs_write") int third(void *ctx) { return 0; }
)";

std::string names(const std::vector<Program>& programs) {
    std::string text;
    for (const Program& program : programs)
        text += (text.empty() ? "" : " ") + program.name;
    return text;
}

class ChoiceOf : public testing::Test {
  protected:
    Object open(const char* source) { return Object::open(files_.write("x.bpf.c", source), false); }
    std::string error(const char* source, ExitCode code) {
        const Object object = open(source);
        return expect_error(code, [&] { choose_programs(options_, object); });
    }

    Files files_;
    AttachOptions options_;
};

TEST_F(ChoiceOf, mixed_object_goes_to_djprobe_and_to_libbpf) {
    const Object object = open(kMixed);
    const Choice choice = choose_programs(options_, object);
    EXPECT_EQ(names(choice.probes), "entry at_return");
    // The kprobe programs are there for fentry's, and the typed tracepoint for the raw one.
    EXPECT_EQ(names(choice.others), "switched entered");
    ASSERT_EQ(choice.left_out.size(), 1U);
    EXPECT_EQ(choice.left_out[0], "2 programs left out: the object has others for the same places");
}

TEST_F(ChoiceOf, alternative_that_names_no_function_is_left_out) {
    const Object object = open(R"(
        #define SEC(name) __attribute__((section(name), used))
        SEC("fentry/dummy_fentry") int typed_entry(void *ctx) { return 0; }
        SEC("fexit/dummy_fexit") int typed_return(void *ctx) { return 0; }
        SEC("fentry/other_fentry") int other(void *ctx) { return 0; }
        SEC("kprobe/dummy_kprobe") int entry(void *ctx) { return 0; }
        SEC("kretprobe/dummy_kretprobe") int at_return(void *ctx) { return 0; }
    )");
    const Choice choice = choose_programs(options_, object);
    EXPECT_EQ(names(choice.probes), "entry at_return");
    EXPECT_EQ(names(choice.others), "other");
}

TEST_F(ChoiceOf, alternative_is_taken_by_its_name) {
    options_.programs = {"typed", "entry"};
    const Object object = open(kMixed);
    const Choice choice = choose_programs(options_, object);
    EXPECT_EQ(names(choice.probes), "entry");
    EXPECT_EQ(names(choice.others), "typed");
    EXPECT_TRUE(choice.left_out.empty());
}

TEST_F(ChoiceOf, optional_program_is_taken_by_its_name_or_place) {
    options_.places = {{"optional", "vfs_open"}};
    const Object object = open(kMixed);
    Choice choice = choose_programs(options_, object);
    EXPECT_EQ(names(choice.probes), "entry at_return optional");
    EXPECT_EQ(choice.probes[2].places, std::vector<std::string>{"vfs_open"});
    options_.places.clear();
    options_.programs = {"optional"};
    EXPECT_EQ(names(choose_programs(options_, object).probes), "optional");
}

TEST_F(ChoiceOf, place_of_sections_stands_for_the_programs_there_that_djprobe_runs) {
    options_.places = {{"vfs_read", "vfs_write"}};
    const Object object = open(kMixed);
    const Choice choice = choose_programs(options_, object);
    for (const Program& program : choice.probes)
        EXPECT_EQ(program.places, std::vector<std::string>{"vfs_write"});
    EXPECT_EQ(choice.left_out.size(), 1U);
}

TEST_F(ChoiceOf, probe_program_in_user_space_is_one_for_libbpf) {
    options_.places = {{"entry", "/lib/libc.so.6:getpid"}};
    const Object object = open(kMixed);
    EXPECT_EQ(names(choose_programs(options_, object).probes), "at_return");
}

TEST_F(ChoiceOf, without_others_they_are_refused_or_left_out) {
    options_.others_too = false;
    EXPECT_EQ(error(kMixed, ExitCode::kWrongProgram),
              "program 'switched': not a program of type kprobe, as its SEC "
              "\"tp_btf/sched_switch\" says: use SEC \"kprobe\" or \"kretprobe\"; or choose those "
              "that can run with --prog: entry (SEC \"kprobe/vfs_read\"), at_return (SEC "
              "\"kretprobe/vfs_read\"); or add --skip-unsupported");
    options_.skip_unsupported = true;
    const Object object = open(kMixed);
    const Choice choice = choose_programs(options_, object);
    EXPECT_EQ(names(choice.probes), "entry at_return");
    EXPECT_TRUE(choice.others.empty());
    EXPECT_EQ(choice.left_out.size(), 3U);
}

TEST_F(ChoiceOf, unknown_names_are_answered_with_the_list) {
    options_.programs = {"fourth"};
    EXPECT_NE(error(kMixed, ExitCode::kUsage).find("no program 'fourth'; it has: typed (SEC "),
              std::string::npos);
    options_.programs.clear();
    options_.places = {{"nothing", "vfs_read"}};
    EXPECT_EQ(error(kSession, ExitCode::kUsage),
              "--at nothing=vfs_read: no program has this name, and no section this place; there "
              "are: both (SEC \"kprobe.session/vfs_*\"), probe (SEC \"kprobe/vfs_read\")");
}

TEST_F(ChoiceOf, object_without_a_probe_is_refused) {
    EXPECT_EQ(error(kUserProbe, ExitCode::kWrongProgram),
              "program 'user' has SEC \"uprobe\", which is not for a probe in the kernel: use SEC "
              "\"kprobe\" or \"kretprobe\"");
    EXPECT_EQ(error("int unused;\n", ExitCode::kBadFile),
              (files_.path() / "x.bpf.c").string() + ": no BPF program in it");
}

TEST_F(ChoiceOf, session_of_the_kernel_is_refused_with_a_way_round) {
    EXPECT_NE(error(kSession, ExitCode::kWrongProgram)
                  .find("program 'both' has SEC \"kprobe.session/vfs_*\": write two, SEC "
                        "\"kprobe\" and SEC \"kretprobe\", and attach them with --session"),
              std::string::npos);
}

TEST_F(ChoiceOf, what_is_called_from_another_program_is_loaded_and_not_attached) {
    Object object = open(kTailCall);
    EXPECT_EQ(names(choose_programs(options_, object).probes), "caller third");
    options_.programs = {"caller"};
    const Choice choice = choose_programs(options_, object);
    EXPECT_EQ(names(choice.probes), "caller");
    object.take(choice.probes);
    for (const Program& program : object.programs())
        EXPECT_EQ(bpf_program__autoload(program.handle), program.name != "third") << program.name;
    options_.programs = {"callee"};
    EXPECT_EQ(names(choose_programs(options_, object).probes), "callee");
}

TEST(PlaceOption, is_a_program_and_its_site) {
    const PlaceOption option = parse_place_option("on_read=ext4:ext4_readdir+0x10");
    EXPECT_EQ(option.name, "on_read");
    EXPECT_EQ(option.place, "ext4:ext4_readdir+0x10");
    for (const char* text : {"", "=", "on_read", "on_read=", "=vfs_read"})
        EXPECT_EQ(expect_error(ExitCode::kUsage, [&] { parse_place_option(text); }),
                  std::string("--at: '") + text + "' is not PROG=SITE");
}

}  // namespace
}  // namespace djprobe::loader
