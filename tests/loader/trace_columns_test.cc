// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>

#include "btf_builder.h"
#include "trace/columns.h"

namespace djprobe::loader {
namespace {

// An event as a trace sends it.
struct Made {
    Made() {
        const int text = btf.array(btf.character(), 16), address = btf.array(btf.u8(), 4);
        const int frames = btf.array(btf.u64(), 3), u32 = btf.u32(), u64 = btf.u64();
        btf.structure("event", 88);
        btf.member("time", u64, 0);
        btf.member("pid", u32, 8);
        btf.member("mask", u32, 12);
        btf.member("comm", text, 16);
        btf.member("daddr", address, 32);
        btf.member("raw", address, 36);
        btf.member("func", u64, 40);
        btf.member("kstack", frames, 48);
        record.put<std::uint64_t>(0, 12'000'345'678).put<std::uint32_t>(8, 42);
        record.put<std::uint32_t>(12, 255).put_text(16, "a,\"b\"");
        record.put_text(32, std::string_view("\x7f\x00\x00\x01\x0a\xff\x00\x01", 8));
        record.put<std::uint64_t>(40, 0xffffffff81000010);
        record.put<std::uint64_t>(48, 0xffffffff81000000).put<std::uint64_t>(56, 4096);
    }
    std::string print(Style style, int times = 1) {
        const std::vector<Field> fields = {
            {"time", "", "", Shape::kTime},     {"pid", "", ""},
            {"mask", "", "", Shape::kHex},      {"comm", "", ""},
            {"daddr", "", "", Shape::kAddress}, {"raw", "", "", Shape::kBytes},
            {"func", "", "", Shape::kSymbol},   {"kstack", "", "", Shape::kStack}};
        Columns columns(*btf, fields, style, "vfs_read", symbols);
        Buffer out;
        for (int i = 0; i < times; ++i)
            columns.print(out, record.bytes());
        return {out.data(), out.size()};
    }

    BtfBuilder btf;
    Record record{88};
    Symbolizer symbols{Kallsyms::parse("ffffffff81000000 T vfs_read\n")};
};

TEST(TraceColumns, align_below_one_head) {
    EXPECT_EQ(Made().print(Style::kColumns, 2),
              R"(          TIME     PID    MASK COMM            DADDR RAW FUNC
     12.000345      42    0xff a,"b"           127.0.0.1 0aff0001 vfs_read+0x10
    vfs_read+0x0
    0x1000
     12.000345      42    0xff a,"b"           127.0.0.1 0aff0001 vfs_read+0x10
    vfs_read+0x0
    0x1000
)");
}

TEST(TraceColumns, are_json) {
    const auto json = nlohmann::json::parse(Made().print(Style::kJson));
    EXPECT_EQ(json["type"], "event");
    EXPECT_EQ(json["name"], "vfs_read");
    EXPECT_EQ(json["data"]["time"], 12'000'345'678);
    EXPECT_EQ(json["data"]["mask"], "0xff");
    EXPECT_EQ(json["data"]["comm"], "a,\"b\"");
    EXPECT_EQ(json["data"]["daddr"], "127.0.0.1");
    EXPECT_EQ(json["data"]["func"], "vfs_read+0x10");
    EXPECT_EQ(json["data"]["kstack"], (std::vector<std::string>{"vfs_read+0x0", "0x1000"}));
}

TEST(TraceColumns, are_csv) {
    EXPECT_EQ(Made().print(Style::kCsv),
              "time,pid,mask,comm,daddr,raw,func,kstack\n"
              "12.000345,42,0xff,\"a,\"\"b\"\"\",127.0.0.1,0aff0001,vfs_read+0x10,"
              "vfs_read+0x0;0x1000\n");
}

}  // namespace
}  // namespace djprobe::loader
