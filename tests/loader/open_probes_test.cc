// SPDX-License-Identifier: GPL-2.0
#include "kernel/open_probes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "temp_file.h"

namespace djprobe::loader {
namespace {

class OpenProbes : public testing::Test {
  protected:
    void process(int pid, const char* comm) const {
        const auto directory = made(pid);
        std::filesystem::create_directories(directory / "fd");
        std::filesystem::create_directories(directory / "fdinfo");
        write(directory / "comm", std::string(comm) + "\n");
    }
    void fd(int pid, int number, const char* link, const std::string& info) const {
        std::filesystem::create_symlink(link, made(pid) / "fd" / std::to_string(number));
        write(made(pid) / "fdinfo" / std::to_string(number), "pos:\t0\nflags:\t02000000\n" + info);
    }
    [[nodiscard]] std::vector<OpenProbe> found() const { return find_open_probes(proc_.path()); }

  private:
    [[nodiscard]] std::filesystem::path made(int pid) const {
        return proc_.path() / std::to_string(pid);
    }
    static void write(const std::filesystem::path& path, const std::string& content) {
        std::ofstream(path) << content;
    }
    Files proc_;
};

TEST_F(OpenProbes, are_found_by_process_and_number) {
    process(200, "later");
    fd(200, 3, "anon_inode:[djprobe]", "attachment:\t9\nprobes:\t1\nprog_id:\t12\n");
    process(30, "first one");
    fd(30, 10, "anon_inode:[djprobe]", "attachment:\t8\nprog_id:\t11\nentry_prog_id:\t13\n");
    fd(30, 4, "anon_inode:[djprobe]", "attachment:\t7\nprog_id:\t11\n");
    const auto files = found();
    ASSERT_EQ(files.size(), 3U);
    EXPECT_EQ(files[0].pid, 30);
    EXPECT_EQ(files[0].fd, 4);
    EXPECT_EQ(files[0].comm, "first one");
    EXPECT_EQ(files[0].attachment, 7U);
    EXPECT_EQ(files[0].program_id, 11U);
    EXPECT_EQ(files[0].entry_program_id, 0U);
    EXPECT_EQ(files[1].entry_program_id, 13U);
    EXPECT_EQ(files[2].pid, 200);
}

TEST_F(OpenProbes, tell_of_the_map_of_what_only_counts) {
    process(30, "probeload");
    fd(30, 3, "anon_inode:[djprobe]", "attachment:\t7\nprobes:\t2\nmap_id:\t21\n");
    ASSERT_EQ(found().size(), 1U);
    EXPECT_EQ(found()[0].map_id, 21U);
    EXPECT_EQ(found()[0].program_id, 0U);
}

TEST_F(OpenProbes, other_files_and_names_are_passed_over) {
    process(30, "cat");
    fd(30, 0, "/dev/null", "");
    fd(30, 3, "anon_inode:[djprobe] ", "attachment:\t7\n");
    fd(30, 4, "anon_inode:bpf-prog", "prog_id:\t11\n");
    fd(30, 5, "anon_inode:[djprobe]", "");  // closed in between
    EXPECT_TRUE(found().empty());
}

TEST_F(OpenProbes, one_that_several_have_is_told_of_once) {
    for (const int pid : {30, 31}) {
        process(pid, "forked");
        fd(pid, 3, "anon_inode:[djprobe]", "attachment:\t7\nprog_id:\t11\n");
    }
    ASSERT_EQ(found().size(), 1U);
    EXPECT_EQ(found()[0].pid, 30);
}

TEST_F(OpenProbes, that_a_tool_has_under_run_are_the_tools) {
    process(30, "probeload");
    fd(30, 3, "anon_inode:[djprobe]", "attachment:\t7\nprog_id:\t11\n");
    process(31, "bpftrace");
    fd(31, 9, "anon_inode:[djprobe-event]", "attachment:\t7\nprog_id:\t11\n");
    fd(31, 10, "anon_inode:[djprobe-event]", "");  // it has no program yet
    ASSERT_EQ(found().size(), 1U);
    EXPECT_EQ(found()[0].comm, "bpftrace");
}

TEST(OpenProbe, that_is_another_file_by_now_is_not_borrowed) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const OpenProbe file{getpid(), ends[0], "", 7, 1, 0};
    EXPECT_FALSE(borrow(file));
    close(ends[0]);
    EXPECT_FALSE(borrow(file));
    close(ends[1]);
}

TEST(OpenProbe, of_a_process_that_has_ended_is_not_borrowed) {
    EXPECT_FALSE(borrow(OpenProbe{0x7ffffff0, 3, "", 7, 1, 0}));
}

}  // namespace
}  // namespace djprobe::loader
