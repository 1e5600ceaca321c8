// SPDX-License-Identifier: GPL-2.0
#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/unique_fd.h"
#include "expect_error.h"
#include "small_files.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

std::string text_in(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

auto files_in(const std::filesystem::path& folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(WholeFile, is_as_it_was_where_the_disk_is_full) {
    const Files files;
    const auto file = files.write("a.html", "old"), none = files.path() / "none";
    const auto error = [](const std::filesystem::path& to) {
        const SmallFiles full(10'000);
        return expect_error(ExitCode::kFailure,
                            [&] { write_whole("--report", to, std::string(100'000, 'x')); });
    };
    EXPECT_EQ(error(file), "--report: " + file.string() + ": File too large");
    EXPECT_EQ(error(none), "--report: " + none.string() + ": File too large");
    EXPECT_EQ(text_in(file), "old");
    EXPECT_EQ(files_in(files.path()), 1) << "nothing is left of the new text";
    write_whole("--report", file, "new");
    EXPECT_EQ(text_in(file), "new");
}

TEST(WholeFile, takes_the_place_of_what_a_link_leads_to) {
    const Files files;
    const auto file = files.write("a.html", "old"), link = files.path() / "link";
    std::filesystem::create_symlink("a.html", link);
    chmod(file.c_str(), 0640);
    check_writable("--report", link);
    write_whole("--report", link, "new");
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(text_in(file), "new");
    EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0640));
    EXPECT_EQ(files_in(files.path()), 2);
}

// As the shell's "> FILE" leaves it: what comes behind goes into the same file.
TEST(WholeFile, is_written_in_place_where_it_is_open) {
    const Files files;
    const UniqueFd open_file(open(files.write("out", "old").c_str(), O_WRONLY | O_APPEND));
    const std::string fd = std::to_string(open_file.get());
    write_whole("--emit", "/dev/fd/" + fd, "new");
    EXPECT_EQ(write(open_file.get(), " more", 5), 5);
    EXPECT_EQ(text_in(files.path() / "out"), "new more");
}

TEST(WholeFile, may_have_the_longest_name) {
    const Files files;
    const auto file = files.path() / std::string(255, 'n');
    check_writable("--report", file);
    write_whole("--report", file, "new");
    EXPECT_EQ(text_in(file), "new");
    const auto longer = files.path() / std::string(256, 'n');
    EXPECT_EQ(expect_error(ExitCode::kFailure, [&] { check_writable("--report", longer); }),
              "--report: " + longer.string() + ": File name too long");
}

TEST(WholeFile, may_be_a_pipe) {
    const Files files;
    const auto fifo = files.path() / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK));
    check_writable("--emit", fifo);
    write_whole("--emit", fifo, "text");
    char text[8] = {};
    EXPECT_EQ(read(reader.get(), text, sizeof text), 4);
    EXPECT_STREQ(text, "text");
    EXPECT_TRUE(std::filesystem::is_fifo(fifo));
    write_whole("--emit", "/dev/null", "text");
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(WholeFile, that_cannot_be_made_is_told_before) {
    const Files files;
    const auto error = [](const std::filesystem::path& file) {
        return expect_error(ExitCode::kFailure, [&] { check_writable("--report", file); });
    };
    EXPECT_EQ(error("/none/a.html"), "--report: /none/a.html: No such file or directory");
    EXPECT_EQ(error(files.path()), "--report: " + files.path().string() + ": Is a directory");
    check_writable("--report", files.path() / "a.html");
    EXPECT_EQ(files_in(files.path()), 0);
}

}  // namespace
}  // namespace djprobe::loader
