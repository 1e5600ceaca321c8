// SPDX-License-Identifier: GPL-2.0
// What a declaration of a probe that stays means, and who owns a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "base/child.h"
#include "base/manager.h"
#include "base/unique_fd.h"
#include "expect_error.h"
#include "service/declaration.h"
#include "service/units.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Declaration, keys_are_long_options_and_the_file_comes_last) {
    const Declaration read = parse_declaration(
        "file = 'a.bpf.o'\nfunc = ['vfs_read', 'vfs_*']\njson = true\nstrict = false\n"
        "interval = 0.5\nlimit = 7\n",
        "/etc/probeload/reads.toml");
    EXPECT_EQ(read.folder, "/etc/probeload");
    EXPECT_THAT(read.words, ElementsAre("attach", "--func=vfs_read", "--func=vfs_*",
                                        "--interval=0.5", "--json=true", "--limit=7", "a.bpf.o"));
}

TEST(Declaration, may_trace) {
    const Declaration read = parse_declaration(
        "verb = 'trace'\nwords = ['vfs_read', 'count']\nfolder = '/srv'", "x.toml");
    EXPECT_EQ(read.folder, "/srv");
    EXPECT_THAT(read.words, ElementsAre("trace", "vfs_read", "count"));
}

TEST(Declaration, of_a_command_line_means_the_same_words) {
    const std::vector<std::string> words = {"--func", "vfs_read", "--set", "text=\"a\\b\"",
                                            "x.bpf.c"};
    const Declaration read = parse_declaration(declaration_text(words, "/a b"), "y.toml");
    EXPECT_EQ(read.folder, "/a b");
    EXPECT_THAT(read.words,
                ElementsAre("attach", "--func", "vfs_read", "--set", "text=\"a\\b\"", "x.bpf.c"));
}

TEST(Declaration, of_words_that_it_cannot_hold_is_refused) {
    const auto refused = [](const char* word, const char* folder) {
        return expect_error(ExitCode::kUsage, [&] { (void)declaration_text({word}, folder); });
    };
    EXPECT_THAT(refused("a\xff.bpf.o", "/"), HasSubstr(" are UTF-8: "));
    EXPECT_THAT(refused("a.bpf.o", "/\xff"), HasSubstr(" are UTF-8: "));
    EXPECT_NE(declaration_text({"caf\u00e9.bpf.o"}, "/"), "");
    EXPECT_THAT(expect_error(ExitCode::kUsage,
                             [] { (void)parse_declaration(R"(file = "a\u0000b")", "x.toml"); }),
                HasSubstr("x.toml: file: has a byte 0"));
}

TEST(Declaration, is_a_regular_file) {
    const Files files;
    const std::string fifo = files.path() / "x.toml";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    for (const std::string& file : {fifo, std::string("/dev/zero")})
        EXPECT_EQ(expect_error(ExitCode::kBadFile, [&] { (void)read_declaration(file); }),
                  file + ": not a regular file");
}

TEST(Declaration, start_takes_the_options_of_attach_only) {
    const auto refused = [](const std::vector<std::string>& words) {
        return expect_error(ExitCode::kUsage, [&] { check_transient("reads", words); });
    };
    EXPECT_EQ(refused({"trace", "vfs_read"}),
              "start takes the options of attach: a service of trace is declared in "
              "/etc/probeload/reads.toml, with verb = \"trace\"");
    EXPECT_THAT(refused({"--func", "vfs_read", "-"}), HasSubstr("a service has no stdin: "));
    check_transient("reads", {"--func", "trace", "x.bpf.o"});
    check_transient("reads", {});
}

TEST(Declaration, what_is_wrong_is_told_with_its_place) {
    const auto refused = [](const char* text) {
        return expect_error(ExitCode::kUsage, [&] { (void)parse_declaration(text, "d/x.toml"); });
    };
    EXPECT_THAT(refused("file = 'a'\nfunc = \n"), HasSubstr("d/x.toml: line 2, column 8: "));
    EXPECT_EQ(refused("verb = 'survey'"),
              "d/x.toml: verb: none of attach, trace, count, hist, latency, cover");
    EXPECT_EQ(refused("[func]\na = 1"),
              "d/x.toml: func: neither a text nor a number, nor a list of them");
    EXPECT_EQ(refused("unknown = []"), "d/x.toml: unknown: an empty list: leave the line out");
    EXPECT_EQ(refused("help = true"), "d/x.toml: help: no option of a service");
    EXPECT_EQ(refused("help = 'x'"), "d/x.toml: help: no option of a service");
    EXPECT_EQ(refused("file = '--help'"),
              "d/x.toml: file: '--help' is no file: options have keys of their own");
    EXPECT_EQ(refused("file = ['a.bpf.o', '-']"),
              "d/x.toml: file: '-' is no file: options have keys of their own");
}

TEST(Declaration, that_is_no_file_is_told_by_its_name) {
    const Files files;
    const auto error = [&](const char* name) {
        return expect_error(ExitCode::kBadFile,
                            [&] { (void)read_declaration(files.path() / name); });
    };
    std::filesystem::create_directory(files.path() / "folder.toml");
    EXPECT_EQ(error("folder.toml"), (files.path() / "folder.toml").string() + ": Is a directory");
    EXPECT_EQ(error("none.toml"),
              (files.path() / "none.toml").string() + ": No such file or directory");
    const Declaration read = read_declaration(files.write("x.toml", "file = 'a.bpf.o'\n"));
    EXPECT_EQ(read.folder, files.path());
    EXPECT_THAT(read.words, ElementsAre("attach", "a.bpf.o"));
}

TEST(Service, names_are_those_of_units) {
    check_service_name("reads-2.all_");
    for (const char* name : {"", "-f", ".", "a/b", "a b", "a@b"})
        EXPECT_THAT(expect_error(ExitCode::kUsage, [&] { check_service_name(name); }),
                    HasSubstr("cannot name a service"));
}

TEST(Service, a_process_belongs_to_the_unit_of_its_cgroup) {
    EXPECT_EQ(unit_in_cgroup("0::/system.slice/system-probeload.slice/probeload@reads.service"),
              "probeload@reads.service");
    EXPECT_EQ(unit_in_cgroup("0::/user.slice/user-0.slice/session-3.scope"), "");
    EXPECT_EQ(unit_in_cgroup("0::/user.slice/user-1.slice/user@1.service/app.slice/a.service/b"),
              "a.service");
    EXPECT_EQ(unit_in_cgroup("0::/"), "");
}

TEST(Service, that_has_ended_has_last_words_and_an_exit_code) {
    const UnitState ended = parse_state(
        "LoadState=loaded\nActiveState=failed\nStatusText=a=b: no such function\n"
        "ExecMainCode=1\nExecMainStatus=9\n");
    EXPECT_TRUE(ended.is_known && ended.has_failed && !ended.is_running);
    EXPECT_EQ(ended.last_words, "a=b: no such function");
    EXPECT_EQ(ended.exit_code, ExitCode::kNoSuchSite);
    // By signal 9: no code of ours.
    EXPECT_EQ(parse_state("ExecMainCode=2\nExecMainStatus=9\n").exit_code, ExitCode::kFailure);
    EXPECT_TRUE(parse_state("LoadState=loaded\nActiveState=activating\n").is_running);
    EXPECT_FALSE(parse_state("LoadState=not-found\nActiveState=inactive\n").is_known);
}

TEST(Child, that_has_ended_has_said_all) {
    const Finished finished = run_to_end({"sh", "-c", "echo one; echo two >&2; exit 3"});
    EXPECT_EQ(finished.output, "one\ntwo\n");
    EXPECT_EQ(describe_wait_status(finished.status), "status 3");
    EXPECT_THROW((void)run_to_end({"/nonexistent"}), std::system_error);
}

TEST(Manager, hears_at_the_socket_that_it_names) {
    const Files files;
    const std::string path = files.path() / "notify";
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const UniqueFd manager(socket(AF_UNIX, SOCK_DGRAM, 0));
    ASSERT_EQ(bind(manager.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    unsetenv("NOTIFY_SOCKET");
    tell_manager("nobody listens");
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    tell_manager_why("first line\nsecond");
    { const Life life; }
    unsetenv("NOTIFY_SOCKET");
    const auto heard = [&] {
        char text[64];
        const ssize_t length = recv(manager.get(), text, sizeof text, MSG_DONTWAIT);
        return length < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(length));
    };
    EXPECT_EQ(heard(), "STATUS=first line");
    EXPECT_EQ(heard(), "READY=1\nSTATUS=attached");
    EXPECT_EQ(heard(), "STOPPING=1");
    EXPECT_EQ(heard(), "nothing");
}

TEST(Manager, watches_only_whom_it_names) {
    setenv("WATCHDOG_USEC", "3000000", 1);
    unsetenv("WATCHDOG_PID");
    EXPECT_EQ(watchdog_interval(), 1.5);
    setenv("WATCHDOG_PID", "1", 1);
    EXPECT_EQ(watchdog_interval(), std::nullopt);
    unsetenv("WATCHDOG_PID");
    unsetenv("WATCHDOG_USEC");
    EXPECT_EQ(watchdog_interval(), std::nullopt);
}

}  // namespace
}  // namespace djprobe::loader
