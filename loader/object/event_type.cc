// SPDX-License-Identifier: GPL-2.0
#include "object/event_type.h"

#include <fmt/core.h>

#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/temp_dir.h"
#include "decode/btf_util.h"
#include "object/compile.h"

namespace djprobe::loader {
namespace {

constexpr const char* kVariable = "djprobe_event_type";

// A tool's header relies on what is included before it. To say the same again is no error in C.
constexpr const char* kUsualTypes = R"(
typedef unsigned char __u8; typedef signed char __s8;
typedef unsigned short __u16; typedef short __s16;
typedef unsigned int __u32; typedef int __s32;
typedef unsigned long long __u64; typedef long long __s64;
typedef __u8 u8; typedef __s8 s8; typedef __u16 u16; typedef __s16 s16;
typedef __u32 u32; typedef __s32 s32; typedef __u64 u64; typedef __s64 s64;
typedef int pid_t; typedef _Bool bool;
)";

std::string without_keyword(std::string_view type) {
    for (const std::string_view keyword : {"struct ", "union "})
        if (type.starts_with(keyword)) return std::string(type.substr(keyword.size()));
    return std::string(type);
}

std::uint32_t type_of_variable(const btf& types) {
    for (std::uint32_t id = 1; id < btf__type_cnt(&types); ++id) {
        const btf_type& type = type_at(types, id);
        if (btf_is_var(&type) && btf_name(types, type) == kVariable)
            return skip_modifiers(types, type.type);
    }
    fail(ExitCode::kCompile, "clang has written no type");
}

}  // namespace

EventTypeOption parse_event_type(const std::string& text) {
    const std::size_t equals = text.find('='), colon = text.rfind(':');
    const bool is_complete = equals != text.npos && equals != 0 && colon != text.npos &&
                             colon > equals + 1 && colon + 1 < text.size();
    if (!is_complete)
        fail(ExitCode::kUsage,
             "--type: '{}' is not MAP=FILE.h:TYPE, as in events=tool.h:'struct "
             "event'",
             text);
    EventTypeOption option{text.substr(0, equals), text.substr(equals + 1, colon - equals - 1),
                           text.substr(colon + 1)};
    if (option.type.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
            "_ ") != option.type.npos)
        fail(ExitCode::kUsage, "--type: '{}' is no type's name: 'struct NAME', or a typedef's",
             option.type);
    return option;
}

EventType read_event_type(const EventTypeOption& option) {
    std::error_code error;
    const std::filesystem::path header = std::filesystem::absolute(option.header, error);
    if (!std::filesystem::is_regular_file(header, error))
        fail(ExitCode::kBadFile, "--type: {}: no such file", option.header.string());
    TempDir directory;
    const std::filesystem::path source = directory.file("type.c");
    std::ofstream(source) << kUsualTypes << "#include \"" << header.string() << "\"\n"
                          << option.type << " " << kVariable << ";\n";
    const std::filesystem::path object = compile(
        source, option.header.string(), header.parent_path(), directory, {}, "leave out --type");
    EventType type{std::unique_ptr<btf, EventType::Free>(btf__parse(object.c_str(), nullptr)), 0,
                   without_keyword(option.type)};
    if (!type.types) fail(ExitCode::kCompile, "--type: clang has written no types");
    type.type_id = type_of_variable(*type.types);
    if (!btf_is_composite(&type_at(*type.types, type.type_id)))
        fail(ExitCode::kUsage, "--type: '{}' is no struct and no union", option.type);
    return type;
}

}  // namespace djprobe::loader
