// SPDX-License-Identifier: GPL-2.0
#include "object/object.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/unique_fd.h"
#include "expect_error.h"
#include "object/compile.h"
#include "object/libbpf_log.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

const std::filesystem::path kExamples = DJPROBE_BPF_DIR;

constexpr const char* kTwoPrograms = R"(
#define SEC(name) __attribute__((section(name), used))
char LICENSE[] SEC("license") = "GPL";
SEC("kprobe/vfs_read") int first(void *ctx) { return 0; }
SEC("kretprobe/vfs_read") int second(void *ctx) { return 0; }
SEC("?kprobe/vfs_write") int third(void *ctx) { return 0; }
)";

constexpr const char* kMultiProbe = R"(
#define SEC(name) __attribute__((section(name), used))
SEC("kprobe.multi/vfs_*") int many(void *ctx) { return 0; }
)";

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string open_error(const std::filesystem::path& path) {
    return expect_error(ExitCode::kBadFile, [&] { Object::open(path, false); });
}

// Nothing may be left in the directory that probeload uses for its intermediate files.
class CompileIn : public testing::Test {
  protected:
    void SetUp() override { setenv("TMPDIR", scratch_.path().c_str(), 1); }
    void TearDown() override {
        EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
        unsetenv("TMPDIR");
    }

    Files files_;
    Files scratch_;
};

TEST(ObjectFile, missing) {
    EXPECT_EQ(open_error("/nonexistent.bpf.o"), "/nonexistent.bpf.o: No such file or directory");
}

TEST(ObjectFile, directory) {
    const Files files;
    EXPECT_EQ(open_error(files.path()), files.path().string() + ": not a regular file");
}

TEST(ObjectFile, fifo_without_a_writer) {
    const Files files;
    for (const char* name : {"x.bpf.o", "x.bpf.c"}) {
        const auto path = files.path() / name;
        ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
        EXPECT_EQ(open_error(path), path.string() + ": not a regular file");
    }
}

TEST(ObjectFile, empty) {
    const Files files;
    const auto path = files.write("x.bpf.o", "");
    EXPECT_EQ(open_error(path), path.string() + ": empty file");
}

TEST(ObjectFile, text) {
    const Files files;
    const auto path = files.write("x.bpf.o", "int main() {}\n");
    EXPECT_EQ(open_error(path), path.string() +
                                    ": not an ELF file; expected a BPF object (.bpf.o) or its "
                                    "source (.bpf.c)");
}

TEST(ObjectFile, elf_of_another_machine) {
    EXPECT_EQ(
        open_error("/proc/self/exe"),
        "/proc/self/exe: an ELF file, but not a BPF object (built with clang -target bpf -c)");
}

TEST(ObjectFile, cut_within_the_header) {
    const Files files;
    const auto path = files.write("x.bpf.o", read_file(kExamples / "count.bpf.o").substr(0, 40));
    EXPECT_EQ(open_error(path), path.string() + ": truncated: its ELF header is incomplete");
}

TEST(ObjectFile, section_headers_at_an_offset_that_wraps) {
    const Files files;
    std::string object = read_file(kExamples / "count.bpf.o");
    object.replace(0x28, 8, "\xc0\xff\xff\xff\xff\xff\xff\xff");
    const auto path = files.write("x.bpf.o", object);
    EXPECT_NE(open_error(path).find(": truncated: "), std::string::npos) << open_error(path);
}

TEST(ObjectFile, of_another_class) {
    const Files files;
    std::string object = read_file(kExamples / "count.bpf.o");
    object[4] = 1;
    const auto path = files.write("x.bpf.o", object);
    EXPECT_NE(open_error(path).find("not a BPF object"), std::string::npos) << open_error(path);
}

TEST(ObjectFile, cut_at_any_length_is_an_error) {
    const Files files;
    const std::string whole = read_file(kExamples / "count.bpf.o");
    ASSERT_GT(whole.size(), 1000U);
    for (std::size_t size = 1; size < whole.size(); size += whole.size() / 50) {
        const auto path = files.write("x.bpf.o", whole.substr(0, size));
        const std::string message = open_error(path);
        EXPECT_EQ(message.find('\n'), message.npos);
    }
}

TEST(ObjectFile, garbage_behind_a_good_header_is_one_line) {
    const Files files;
    std::string bytes = read_file(kExamples / "count.bpf.o");
    std::fill(bytes.begin() + sizeof(Elf64_Ehdr), bytes.end(), '\xa5');
    const std::string message = open_error(files.write("x.bpf.o", bytes));
    EXPECT_NE(message.find("not a loadable BPF object: "), message.npos);
    EXPECT_EQ(message.find('\n'), message.npos);
}

// libbpf 1.1 crashes over this one.
TEST(ObjectFile, types_that_refer_to_nowhere) {
    const std::filesystem::path path = DJPROBE_FUZZ_CORPUS "/object/types_of_nowhere";
    // libbpf 1.5 looks at them itself.
    EXPECT_THAT(open_error(path),
                testing::AnyOf(path.string() + ": BTF is inconsistent: it refers to type "
                                               "1680736261, but has only 50",
                               path.string() + ": not a loadable BPF object: btf: type [7]: "
                                               "invalid referenced type ID 1680736261"));
}

TEST(ObjectFile, example_has_its_program_and_site) {
    Object object = Object::open(kExamples / "vfs_read.bpf.o", false);
    const Program program = object.programs().front();
    EXPECT_EQ(program.name, "on_vfs_read");
    const auto site = site_of_section(program.section);
    ASSERT_TRUE(site);
    EXPECT_EQ(site->symbol, "vfs_read");
    EXPECT_NE(object.types(), nullptr);
}

TEST(ObjectSection, names_a_site_or_none) {
    EXPECT_FALSE(site_of_section("kprobe"));
    EXPECT_FALSE(site_of_section("kprobe/"));
    EXPECT_EQ(site_of_section("kprobe/vfs_read+0x10")->offset, 16U);
    EXPECT_EQ(site_of_section("kprobe/ext4:ext4_readdir")->symbol, "ext4:ext4_readdir");
    EXPECT_EQ(site_of_section("kretprobe/vfs_read")->symbol, "vfs_read");
    EXPECT_FALSE(site_of_section("kretprobe"));
    EXPECT_TRUE(site_of_section("kprobe/vfs_*")->is_glob());
    EXPECT_TRUE(site_of_section("kprobe.multi/vfs_*")->is_glob());
    EXPECT_EQ(site_of_section("ksyscall/openat")->symbol, "__x64_sys_openat");
    EXPECT_FALSE(site_of_section("raw_tracepoint/sys_enter"));
}

TEST(ObjectSection, says_whether_it_is_for_returns) {
    EXPECT_TRUE(is_return_section("kretprobe"));
    EXPECT_TRUE(is_return_section("kretprobe/vfs_read"));
    EXPECT_FALSE(is_return_section("kprobe/vfs_read"));
    EXPECT_TRUE(is_return_section("kretprobe.multi/vfs_read"));
    EXPECT_TRUE(is_return_section("kretsyscall/openat"));
}

// While it lives, stdin is this file.
class Stdin {
  public:
    explicit Stdin(const std::filesystem::path& file) {
        const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
        dup2(fd.get(), STDIN_FILENO);
    }
    ~Stdin() { dup2(before_.get(), STDIN_FILENO); }

  private:
    UniqueFd before_{dup(STDIN_FILENO)};
};

TEST_F(CompileIn, source_from_stdin) {
    for (const char* name : {"-", "/dev/stdin"}) {
        const Stdin given(files_.write("two.bpf.c", kTwoPrograms));
        const Object object = Object::open(name, false);
        EXPECT_EQ(object.programs().size(), 3U);
    }
}

TEST_F(CompileIn, bad_source_from_stdin_is_told_by_its_line_there) {
    const Stdin given(files_.write("bad.bpf.c", "int fine;\nint bad bad;\n"));
    testing::internal::CaptureStderr();
    EXPECT_EQ(expect_error(ExitCode::kCompile, [] { Object::open("-", false); }),
              "stdin: clang ended with status 1");
    EXPECT_NE(testing::internal::GetCapturedStderr().find("<stdin>:2:8: error:"),
              std::string::npos);
}

TEST_F(CompileIn, object_from_stdin_or_nothing) {
    {
        const Stdin given(DJPROBE_BPF_DIR "/count.bpf.o");
        EXPECT_EQ(Object::open("-", false).programs().size(), 1U);
    }
    const Stdin given("/dev/null");
    EXPECT_EQ(expect_error(ExitCode::kBadFile, [] { Object::open("-", false); }),
              "stdin: empty: give a program's source, or an object (.bpf.o)");
}

TEST_F(CompileIn, only_programs_that_are_taken_are_loaded) {
    Object object = Object::open(files_.write("two.bpf.c", kTwoPrograms), false);
    object.take({object.programs()[1]});
    for (const Program& program : object.programs())
        EXPECT_EQ(bpf_program__autoload(program.handle), program.name == "second");
}

TEST_F(CompileIn, program_of_kprobe_multi_is_loaded_as_one_of_kprobe) {
    Object object = Object::open(files_.write("multi.bpf.c", kMultiProbe), false);
    object.take(object.programs());
    EXPECT_EQ(bpf_program__expected_attach_type(object.programs().front().handle), 0);
}

TEST_F(CompileIn, sources_own_headers_are_found) {
    files_.write("vmlinux.h", "typedef unsigned int own_type;\n");
    const auto path = files_.write("x.bpf.c", "#include \"vmlinux.h\"\nown_type value;\n");
    EXPECT_NO_THROW(Object::open(path, false));
}

TEST_F(CompileIn, kernels_types_are_there_when_none_lie_beside) {
    if (!std::filesystem::exists("/sys/kernel/btf/vmlinux")) GTEST_SKIP() << "no kernel BTF";
    const auto path =
        files_.write("vfs_read.bpf.c", read_file(DJPROBE_BPF_SOURCES "/vfs_read.bpf.c"));
    Object object = Object::open(path, false);
    EXPECT_EQ(object.programs().front().name, "on_vfs_read");
}

TEST_F(CompileIn, clangs_errors_are_shown_as_they_are) {
    const auto path = files_.write("bad.bpf.c", "int f(void) { return undeclared; }\n");
    testing::internal::CaptureStderr();
    const std::string message =
        expect_error(ExitCode::kCompile, [&] { Object::open(path, false); });
    const std::string shown = testing::internal::GetCapturedStderr();
    EXPECT_EQ(message, path.string() + ": clang ended with status 1");
    EXPECT_NE(shown.find("bad.bpf.c:1:22: error: use of undeclared identifier 'undeclared'"),
              shown.npos);
}

TEST_F(CompileIn, missing_clang_says_what_to_install) {
    const auto path = files_.write("x.bpf.c", "int unused;\n");
    const std::string old = getenv("PATH");
    setenv("PATH", "/nonexistent", 1);
    const std::string message =
        expect_error(ExitCode::kCompile, [&] { Object::open(path, false); });
    setenv("PATH", old.c_str(), 1);
    EXPECT_EQ(message, path.string() +
                           ": needs clang to be compiled (apt install clang libbpf-dev), or give "
                           "an object (.bpf.o)");
}

TEST_F(CompileIn, missing_source_is_a_bad_file) {
    EXPECT_EQ(open_error("/nonexistent.bpf.c"), "/nonexistent.bpf.c: No such file or directory");
}

TEST(VmlinuxHeader, is_made_of_the_types_of_a_btf) {
    const Files files;
    const auto header = files.path() / "vmlinux.h";
    write_vmlinux_header(kExamples / "vfs_read.bpf.o", header);
    const std::string text = read_file(header);
    EXPECT_NE(text.find("preserve_access_index"), text.npos);
    EXPECT_NE(text.find("struct event {"), text.npos);
}

TEST(VmlinuxHeader, without_btf_is_an_error) {
    const Files files;
    const auto path = files.write("vmlinux", "no BTF here");
    const LibbpfLog quiet(false);
    expect_error(ExitCode::kCompile,
                 [&] { write_vmlinux_header(path, files.path() / "vmlinux.h"); });
}

}  // namespace
}  // namespace djprobe::loader
