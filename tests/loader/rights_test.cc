// SPDX-License-Identifier: GPL-2.0
#include "kernel/rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temp_file.h"

namespace djprobe::loader {
namespace {

constexpr std::uint64_t kAll = (1ull << 41) - 1;

std::uint64_t only(Capability capability) {
    return std::uint64_t{1} << static_cast<unsigned>(capability);
}

std::uint64_t without(Capability capability) {
    return kAll & ~only(capability);
}

TEST(Rights, missing_capability_is_named) {
    EXPECT_EQ(why_denied({Capability::kSysAdmin}, {0, 1000, true}),
              "CAP_SYS_ADMIN is missing: run as root");
    EXPECT_EQ(why_denied({Capability::kSysAdmin}, {without(Capability::kSysAdmin), 0, true}),
              "CAP_SYS_ADMIN is missing: run with all capabilities");
}

TEST(Rights, of_two_capabilities_those_that_are_missing_are_named) {
    EXPECT_EQ(why_denied(kToProbe, {0, 1000, true}),
              "CAP_BPF and CAP_PERFMON are missing: run as root");
    EXPECT_EQ(why_denied(kToProbe, {only(Capability::kBpf), 1000, true}),
              "CAP_PERFMON is missing: run as root");
    EXPECT_EQ(
        why_denied(kToProbe, {kAll, 0, false}),
        "CAP_BPF and CAP_PERFMON are those of a user namespace: run outside of the container");
}

TEST(Rights, CAP_SYS_ADMIN_stands_for_both) {
    const auto may_probe = [](std::uint64_t capabilities) {
        return Rights{capabilities, 1000, true}.has(kToProbe);
    };
    EXPECT_TRUE(may_probe(only(Capability::kBpf) | only(Capability::kPerfmon)));
    EXPECT_TRUE(may_probe(only(Capability::kSysAdmin)));
    EXPECT_FALSE(may_probe(only(Capability::kBpf)));
    EXPECT_FALSE(may_probe(only(Capability::kPerfmon)));
    EXPECT_FALSE(may_probe(~(only(Capability::kPerfmon) | only(Capability::kSysAdmin))));
}

TEST(Rights, capability_that_does_not_help_is_told) {
    EXPECT_EQ(why_denied({Capability::kSysAdmin}, {kAll, 0, false}),
              "CAP_SYS_ADMIN is that of a user namespace: run outside of the container");
    EXPECT_EQ(why_denied({Capability::kSysRawio}, {kAll, 0, true}),
              "although CAP_SYS_RAWIO is there: kernel lockdown, a security module or the device "
              "rules of a container forbid it");
}

TEST(Rights, mode_of_a_file_is_told_where_it_is_why) {
    const Files files;
    const std::string path = files.write("device", "");
    chmod(path.c_str(), 0600);
    struct stat file = {};
    ASSERT_EQ(stat(path.c_str(), &file), 0);
    const uid_t other = file.st_uid + 1;
    const std::string closed = "mode 0600 of user " + std::to_string(file.st_uid) +
                               " is closed to user " + std::to_string(other);
    EXPECT_EQ(why_not_opened(path.c_str(), {Capability::kSysAdmin}, {0, other, true}),
              closed + ", and CAP_SYS_ADMIN is missing: " +
                  (other == 0 ? "run with all capabilities" : "run as root"));
    EXPECT_EQ(why_not_opened(path.c_str(), {Capability::kSysAdmin},
                             {without(Capability::kSysAdmin), 0, true}),
              "CAP_SYS_ADMIN is missing: run with all capabilities");
    EXPECT_EQ(why_not_opened("/nonexistent", {Capability::kSysAdmin}, {0, 1000, true}),
              "CAP_SYS_ADMIN is missing: run as root");
}

TEST(Rights, group_of_a_file_opens_it_and_grants_no_capability) {
    const Files files;
    const std::string path = files.write("device", "");
    struct stat file = {};
    chmod(path.c_str(), 0660);
    ASSERT_EQ(stat(path.c_str(), &file), 0);
    const uid_t other = file.st_uid + 1;
    const auto why = [&](const std::vector<gid_t>& groups) {
        return why_not_opened(path.c_str(), {Capability::kSysAdmin}, {0, other, true, groups});
    };
    EXPECT_THAT(why({file.st_gid + 1}), testing::HasSubstr(" and group "));
    EXPECT_THAT(why({file.st_gid + 1}), testing::HasSubstr("is closed to user "));
    const std::string missing = std::string("CAP_SYS_ADMIN is missing: ") +
                                (other == 0 ? "run with all capabilities" : "run as root");
    EXPECT_EQ(why({file.st_gid + 1, file.st_gid}), missing);
    chmod(path.c_str(), 0606);
    EXPECT_THAT(why({file.st_gid}), testing::HasSubstr("mode 0606 of user "));
    EXPECT_EQ(why({file.st_gid + 1}), missing);
}

TEST(Rights, hidden_addresses_have_two_causes) {
    EXPECT_EQ(why_hidden(2, {kAll, 0, true}), "kernel.kptr_restrict is 2: set it below 2");
    EXPECT_EQ(why_hidden(1, {0, 1000, true}), "CAP_SYSLOG is missing: run as root");
    const Files files;
    EXPECT_EQ(kptr_restrict(files.write("kptr_restrict", "2\n").c_str()), 2);
    EXPECT_EQ(kptr_restrict("/nonexistent"), 0);
}

TEST(Rights, addresses_are_shown_as_the_kernel_shows_them) {
    const Rights none = {0, 0, true}, all = {kAll, 0, true};
    const Rights rest = {without(Capability::kSyslog), 0, true};
    EXPECT_TRUE(shows_addresses(none, 0, 1));
    EXPECT_FALSE(shows_addresses(none, 0, 2));
    EXPECT_FALSE(shows_addresses(none, 1, -1));
    EXPECT_FALSE(shows_addresses(rest, 0, 3));
    EXPECT_TRUE(shows_addresses(all, 0, 3));
    EXPECT_TRUE(shows_addresses(all, 1, 3));
    EXPECT_FALSE(shows_addresses(all, 2, -1));
}

TEST(Rights, of_this_process_can_be_read) {
    const Rights rights = Rights::of_this_process();
    EXPECT_EQ(rights.user, geteuid());
    EXPECT_THAT(rights.groups, testing::Contains(getegid()));
}

TEST(Rights, user_namespace_is_not_blamed_where_there_is_no_proc) {
    const Files files;
    EXPECT_TRUE(Rights::of_this_process((files.path() / "nothing").c_str()).in_initial_namespace);
    std::ofstream(files.path() / "map") << "0 1000 1\n";
    EXPECT_FALSE(Rights::of_this_process((files.path() / "map").c_str()).in_initial_namespace);
}

}  // namespace
}  // namespace djprobe::loader
