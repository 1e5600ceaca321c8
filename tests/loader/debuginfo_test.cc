// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "debuginfo/build_id.h"
#include "debuginfo/debug_file.h"
#include "debuginfo/source_text.h"

namespace djprobe::loader {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::string note(std::uint32_t type, const std::string& name, const std::string& value) {
    const auto word = [](std::size_t size) {
        const auto number = static_cast<std::uint32_t>(size);
        return std::string(reinterpret_cast<const char*>(&number), sizeof number);
    };
    const auto padded = [](std::string text) {
        text.resize((text.size() + 3) / 4 * 4);
        return text;
    };
    return word(name.size()) + word(value.size()) + word(type) + padded(name) + padded(value);
}

TEST(BuildId, IsFoundAmongOtherNotes) {
    const std::string gnu("GNU\0", 4), linux("Linux\0", 6);
    const std::string notes = note(257, linux, "version") + note(1, gnu, "abi") +
                              note(3, gnu, "\x01\x02\x03") + note(3, linux, "x");
    EXPECT_THAT(find_build_id(notes), ElementsAre(1, 2, 3));
    EXPECT_THAT(find_build_id(note(3, linux, "x")), IsEmpty());
    EXPECT_THAT(find_build_id(notes.substr(0, 15)), IsEmpty());
    // A size that reaches far beyond the end.
    EXPECT_THAT(find_build_id(std::string(12, '\xff')), IsEmpty());
    EXPECT_THAT(file_build_id("/etc/passwd"), IsEmpty());
}

TEST(DebugFile, WhatIsMissingNamesThePackage) {
    EXPECT_THAT([] { (void)find_debug_file("no_such_module", "/proc/self/fdinfo"); },
                ThrowsMessage<Error>(HasSubstr("install the package linux-image-")));
}

TEST(DebugFile, WhatIsNamedIsAFolderOrAnElfFile) {
    const auto refused = [](const char* named) {
        try {
            (void)find_debug_file("", named);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refused("/no/folder"), "--debuginfo /no/folder: No such file or directory");
    for (const char* other : {"/etc/passwd", "/dev/null"})
        EXPECT_EQ(refused(other),
                  "--debuginfo " + std::string(other) +
                      ": neither a folder nor an ELF file with a build id: a vmlinux, or a "
                      "module's .ko or .ko.debug");
    EXPECT_THAT(refused("/proc/self/exe"), HasSubstr("belongs to another build"));
}

TEST(DebugFile, OfAnotherKernelIsOfTheSameBuildWhereBothTell) {
    const std::string kernel = "/proc/self/exe";
    EXPECT_EQ(find_debug_file_of(kernel, "", kernel), kernel);
    EXPECT_EQ(find_debug_file_of("/etc/passwd", "", kernel), kernel) << "BTF alone tells none";
    EXPECT_THAT([&] { (void)find_debug_file_of(kernel, "", "/bin/sh"); },
                ThrowsMessage<Error>("/bin/sh: belongs to another build than /proc/self/exe"));
}

TEST(SourceText, TheBuildsFoldersGiveWayToTheUsers) {
    const std::filesystem::path folder = testing::TempDir() + "source_text_test";
    std::filesystem::create_directories(folder / "net/ipv4");
    std::ofstream(folder / "net/ipv4/tcp.c") << "first\nsecond\n";
    SourceText source(folder.string());
    EXPECT_EQ(source.line("/build/linux-6.12/./net/core/../ipv4/tcp.c", 2), "second");
    EXPECT_EQ(source.line("net/ipv4/tcp.c", 1), "first");
    EXPECT_EQ(source.line("net/ipv4/tcp.c", 3), "");
    EXPECT_EQ(source.find("net/ipv4/udp.c"), std::nullopt);
    EXPECT_EQ(SourceText(std::nullopt).find("net/ipv4/tcp.c"), std::nullopt);
    EXPECT_THAT([&] { SourceText((folder / "nothing").string()); },
                ThrowsMessage<Error>(HasSubstr("nothing: no folder")));
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace djprobe::loader
