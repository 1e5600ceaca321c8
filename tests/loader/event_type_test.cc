// SPDX-License-Identifier: GPL-2.0
#include "object/event_type.h"

#include <fstream>

#include "base/temp_dir.h"
#include "btf_builder.h"
#include "events/printer.h"
#include "expect_error.h"

namespace djprobe::loader {
namespace {

TEST(EventType, is_named_by_map_header_and_type) {
    const EventTypeOption option = parse_event_type("events=a:b/tool.h:struct event");
    EXPECT_EQ(option.map, "events");
    EXPECT_EQ(option.header, "a:b/tool.h");
    EXPECT_EQ(option.type, "struct event");
    for (const char* text : {"events", "=f.h:t", "events=f.h", "events=:t", "events=f.h:"})
        EXPECT_EQ(expect_error(ExitCode::kUsage, [&] { parse_event_type(text); }),
                  fmt::format("--type: '{}' is not MAP=FILE.h:TYPE, as in events=tool.h:'struct "
                              "event'",
                              text));
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { parse_event_type("e=f.h:int x; int"); }),
              "--type: 'int x; int' is no type's name: 'struct NAME', or a typedef's");
}

TEST(EventType, comes_from_a_header_that_relies_on_others) {
    std::string path = testing::TempDir() + "event_type_test.h";
    std::ofstream(path) << "struct event { pid_t pid; __u64 bytes; char comm[8]; };\n"
                           "typedef struct event event_t; enum { kNothing };\n";
    for (const char* type : {"struct event", "event_t"}) {
        const EventType found = read_event_type({"events", path, type});
        RecordPrinter printer(found.types.get(), "events", RecordType{found.type_id, found.name},
                              {Format::kText, RecordSize::kExact});
        Buffer out;
        printer.print(out, Record(24).put(0, 7).put(8, 9UL).put_text(16, "head").bytes());
        EXPECT_EQ(std::string(out.data(), out.size()),
                  found.name + " pid=7 bytes=9 comm=\"head\"\n");
    }
    EXPECT_EQ(expect_error(ExitCode::kUsage,
                           [&] {
                               read_event_type({"events", path, "pid_t"});
                           }),
              "--type: 'pid_t' is no struct and no union");
    testing::internal::CaptureStderr();
    expect_error(ExitCode::kCompile, [&] { read_event_type({"events", path, "struct none"}); });
    EXPECT_NE(testing::internal::GetCapturedStderr().find("never completed"), std::string::npos);
    EXPECT_EQ(expect_error(ExitCode::kBadFile,
                           [] {
                               read_event_type({"e", "/no/such.h", "t"});
                           }),
              "--type: /no/such.h: no such file");
}

}  // namespace
}  // namespace djprobe::loader
