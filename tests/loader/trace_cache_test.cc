// SPDX-License-Identifier: GPL-2.0
// What trace has compiled is kept: where, and what becomes of it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/cache_folder.h"
#include "expect_error.h"
#include "small_files.h"
#include "temp_file.h"
#include "trace/compiled.h"

namespace djprobe::loader {
namespace {

TEST(TraceCache, keeps_what_is_compiled_and_only_where_it_is_safe) {
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("trace_cache." + std::to_string(getpid()));
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    const std::string source = "int kept = 24;\n";
    {
        TempDir directory;
        compiled(source, "", {}, directory);
    }
    setenv("PATH", "/none", 1);
    {
        TempDir directory;
        EXPECT_EQ(compiled(source, "", {}, directory).parent_path(), folder / "djprobe");
        EXPECT_EQ(
            expect_error(ExitCode::kCompile, [&] { compiled("int other;\n", "", {}, directory); }),
            "the trace's program: needs clang to be compiled (apt install clang libbpf-dev), "
            "or make it where clang is: probeload trace ... --btf VMLINUX --emit FILE.bpf.o, "
            "and here: probeload attach FILE.bpf.o");
    }
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    std::filesystem::permissions(folder / "djprobe", std::filesystem::perms::all);
    EXPECT_FALSE(cache_folder()) << "others may write there";
    std::filesystem::permissions(folder / "djprobe", std::filesystem::perms::owner_all);
    EXPECT_TRUE(cache_folder());
    std::filesystem::permissions(folder, std::filesystem::perms::all);
    EXPECT_FALSE(cache_folder()) << "others may put another folder there";
    std::filesystem::remove_all(folder);
    unsetenv("XDG_CACHE_HOME");
}

TEST(TraceCache, makes_no_folder_in_a_home_that_is_another_users) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    const Files home;
    ASSERT_EQ(chown(home.path().c_str(), 65534, 65534), 0);
    const char* const own = std::getenv("HOME");
    const std::string before = own ? own : "/";
    setenv("HOME", home.path().c_str(), 1);
    EXPECT_FALSE(cache_folder());
    EXPECT_FALSE(std::filesystem::exists(home.path() / ".cache"));
    ASSERT_EQ(chown(home.path().c_str(), 0, 0), 0);
    EXPECT_TRUE(cache_folder());
    setenv("HOME", before.c_str(), 1);
}

TEST(TraceCache, leaves_no_part_where_the_disk_is_full) {
    const Files files;
    setenv("XDG_CACHE_HOME", files.path().c_str(), 1);
    {
        TempDir directory;
        const SmallFiles full(10'000);
        // The object is small, its text is not.
        compiled("int kept;\n//" + std::string(9'000, ' ') + "\n",
                 "//" + std::string(5'000, ' ') + "\n", {}, directory);
    }
    for (const auto& file : std::filesystem::directory_iterator(files.path() / "djprobe"))
        EXPECT_EQ(file.path().extension(), ".o") << file.path();
    unsetenv("XDG_CACHE_HOME");
}

TEST(TraceCompiled, says_why_it_cannot_be_written) {
    TempDir directory;
    const SmallFiles full(10'000);
    EXPECT_EQ(expect_error(ExitCode::kFailure,
                           [&] { compiled(std::string(100'000, ' '), "", {}, directory); }),
              (directory.path() / "trace.bpf.c").string() + ": cannot be written: File too large");
}

// Of the cache; a TempDir there is only one of at a time.
struct Folder {
    Folder() { setenv("XDG_CACHE_HOME", path.c_str(), 1); }
    ~Folder() {
        unsetenv("XDG_CACHE_HOME");
        std::filesystem::remove_all(path);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("trace_folder." + std::to_string(getpid()));
};

TEST(TraceCache, tells_programs_of_another_sign_of_char_apart) {
    const Folder folder;
    const std::string source = "_Static_assert((char)-1 > 0, \"signed\");\nint sign;\n";
    {
        TempDir directory;
        compiled(source, "", {"-funsigned-char"}, directory);
    }
    TempDir directory;
    EXPECT_THROW(compiled(source, "", {}, directory), Error);
}

TEST(TraceCache, is_in_no_folder_by_chance) {
    const Files files;
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(files.path());
    const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "/root";
    setenv("HOME", files.path().c_str(), 1);
    for (const char* const nowhere : {"", "relative"}) {
        setenv("XDG_CACHE_HOME", nowhere, 1);
        EXPECT_EQ(cache_folder(), files.path() / ".cache/djprobe");
    }
    setenv("HOME", "", 1);
    EXPECT_FALSE(cache_folder());
    EXPECT_FALSE(std::filesystem::exists(files.path() / "djprobe"));
    EXPECT_FALSE(std::filesystem::exists(files.path() / "relative"));
    setenv("HOME", home.c_str(), 1);
    unsetenv("XDG_CACHE_HOME");
    std::filesystem::current_path(before);
}

TEST(TraceCache, makes_room_among_its_own_files) {
    const Folder folder;
    const std::filesystem::path cache = cache_folder().value();
    const auto fill = [&](const char* format) {
        for (unsigned i = 0; i < 300; ++i)
            std::ofstream(cache / fmt::format(fmt::runtime(format), i));
    };
    fill("{:016x}.bpf.o");
    fill("note{}");
    TempDir directory;
    compiled("int more = 1;\n", "", {}, directory);
    const auto files_there = [&] {
        return std::distance(std::filesystem::directory_iterator(cache), {});
    };
    EXPECT_EQ(files_there(), 300 + 128 + 2);
}
}  // namespace
}  // namespace djprobe::loader
