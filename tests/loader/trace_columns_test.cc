// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>

#include "btf_builder.h"
#include "temp_file.h"
#include "trace/columns.h"
#include "trace/header.h"
#include "trace/types.h"

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
    std::string print(Style style, int times = 1) { return print(ColumnsStyle{style}, times); }
    Columns columns(ColumnsStyle style) {
        const std::vector<Field> fields = {
            {"time", "", "", Shape::kTime},     {"pid", "", ""},
            {"mask", "", "", Shape::kHex},      {"comm", "", ""},
            {"daddr", "", "", Shape::kAddress}, {"raw", "", "", Shape::kBytes},
            {"func", "", "", Shape::kSymbol},   {"kstack", "", "", Shape::kStack}};
        return {*btf, fields, style, "vfs_read", symbols};
    }
    std::string print(ColumnsStyle style, int times = 1) {
        Columns columns = this->columns(style);
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

TEST(TraceColumns, have_the_times_that_are_asked_for) {
    Made made;
    const auto delta = nlohmann::json::parse(made.print({Style::kJson, TimeColumn::kDelta}));
    EXPECT_EQ(delta["data"]["time"], 0) << "none came before";
    EXPECT_THAT(made.print({Style::kColumns, TimeColumn::kDelta}, 2),
                testing::HasSubstr("\n      0.000000      42"));
    EXPECT_THAT(made.print({Style::kColumns, TimeColumn::kWall}),
                testing::ContainsRegex("\n[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} "));
    EXPECT_THAT(made.print({Style::kCsv, TimeColumn::kWall}),
                testing::ContainsRegex("\n2[0-9]{3}-[0-9-]{5}T[0-9:.]{15}[+-][0-9]{4},42,"));
    const auto wall = nlohmann::json::parse(made.print({Style::kJson, TimeColumn::kWall}));
    EXPECT_TRUE(wall["data"]["time"].is_string());
}

TEST(TraceColumns, align_below_their_heads_with_colours_too) {
    const std::string plain = Made().print(Style::kColumns);
    std::string text = Made().print({Style::kColumns, TimeColumn::kBoot, true});
    EXPECT_NE(text, plain);
    EXPECT_THAT(text, testing::HasSubstr("\x1b[36ma,\"b\"\x1b[0m "));
    for (std::size_t at = 0; (at = text.find('\x1b')) != std::string::npos;)
        text.erase(at, text.find('m', at) - at + 1);
    EXPECT_EQ(text, plain);
}

TEST(TraceColumns, tell_a_report_all_but_the_time_beside_it) {
    Made made;
    Columns columns = made.columns({});
    std::string kinds;
    for (const ReportColumn& column : columns.report_columns())
        kinds += column.name + ":" + column.kind + " ";
    EXPECT_EQ(kinds, "pid:number mask:text comm:text daddr:text raw:text func:text kstack:stack ");
    const auto row = nlohmann::json::parse("[" + columns.report_row(made.record.bytes()) + "]");
    EXPECT_EQ(row[0], 42);
    EXPECT_EQ(row[6][0], "vfs_read+0x0");
    EXPECT_EQ(columns.time(made.record.bytes()), 12'000'345'678U);
}

// A kernel's types and those of a module that stand on them, as files.
struct ModuleTypes {
    ModuleTypes() {
        const int number = kernel.s32();
        kernel.integer("char", 1);
        function(kernel.get(), "shared_name", {"of_the_kernel"}, number);
        write("vmlinux", kernel.get());
        const std::unique_ptr<btf, decltype(&btf__free)> module(btf__new_empty_split(kernel.get()),
                                                                btf__free);
        function(module.get(), "shared_name", {"of_the_module", "second_of_the_module"}, number);
        write("bridge", module.get());
    }
    static void function(btf* to, const char* name, const std::vector<const char*>& arguments,
                         int type) {
        const int prototype = BtfBuilder::check(btf__add_func_proto(to, type));
        for (const char* const argument : arguments)
            EXPECT_EQ(btf__add_func_param(to, argument, type), 0);
        BtfBuilder::check(btf__add_func(to, name, BTF_FUNC_STATIC, prototype));
    }
    void write(const char* name, const btf* types) const {
        std::uint32_t size = 0;
        const auto* const bytes = static_cast<const char*>(btf__raw_data(types, &size));
        files.write(name, {bytes, size});
    }

    Files files;
    BtfBuilder kernel;
};

TEST(TraceTypes, know_the_sign_of_char) {
    const ModuleTypes made;
    EXPECT_EQ(trace_flags(Types::read(made.files.path() / "vmlinux", "")),
              std::vector<std::string>{"-funsigned-char"});
    BtfBuilder other;
    other.character();
    made.write("signed", other.get());
    EXPECT_TRUE(trace_flags(Types::read(made.files.path() / "signed", "")).empty());
}

TEST(TraceTypes, of_a_module_keep_their_names_beside_those_that_are_made) {
    const ModuleTypes made;
    Types types = Types::read(made.files.path() / "vmlinux", "bridge");
    EXPECT_EQ(types.name(types.number(true, false)), "unsigned long");
    EXPECT_EQ(types.name(types.pointer_to(types.number(false, true))), "int *");
    const auto function = types.function("shared_name");
    ASSERT_TRUE(function) << "the kernel has one of this name, too";
    ASSERT_EQ(function->arguments.size(), 2U);
    EXPECT_EQ(function->arguments[1].name, "second_of_the_module");
    EXPECT_EQ(types.name(function->arguments[1].type), "int");
    EXPECT_EQ(types.function_names(), std::vector<std::string>{"shared_name"});
}

}  // namespace
}  // namespace djprobe::loader
