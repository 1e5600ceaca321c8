// SPDX-License-Identifier: GPL-2.0
// Types of events that the object's own types do not have: from a header of the tool.
#pragma once

#include <bpf/btf.h>

#include <filesystem>
#include <memory>
#include <string>

namespace djprobe::loader {

/// The user's word: MAP=FILE.h:TYPE.
struct EventTypeOption {
    std::string map;
    std::filesystem::path header;
    std::string type;  ///< as C has it: "struct event", or a typedef's name

    bool operator==(const EventTypeOption&) const = default;
};

/// Throws Error(kUsage).
EventTypeOption parse_event_type(const std::string& text);

struct EventType {
    struct Free {
        void operator()(btf* types) const { btf__free(types); }
    };
    std::unique_ptr<btf, Free> types;
    std::uint32_t type_id;
    std::string name;  ///< without "struct"
};

/// Compiles the header with clang. Throws Error: kCompile, kBadFile.
EventType read_event_type(const EventTypeOption& option);

}  // namespace djprobe::loader
