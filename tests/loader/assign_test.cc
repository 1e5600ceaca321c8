// SPDX-License-Identifier: GPL-2.0
#include "object/assign.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "decode/globals.h"
#include "expect_error.h"
#include "object/object.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

constexpr const char* kObject = R"(
#define SEC(name) __attribute__((section(name), used))
char LICENSE[] SEC("license") = "GPL";
enum color { RED, GREEN = 7 };
const volatile unsigned filter = 1;
const volatile _Bool yes = 0;
const volatile enum color color = RED;
const volatile char comm[8] = "abcdefg";
const volatile unsigned short ports[4];
const volatile void *volatile lock;
signed char small = 1;
struct inner { int a, b; };
struct outer { char c; struct inner in; } outer;
struct { int (*type)[2]; int (*max_entries)[1]; unsigned *key, *value; } counts SEC(".maps");
struct { int (*type)[27]; int (*max_entries)[4096]; } events SEC(".maps");  // a ring buffer
SEC("kprobe/vfs_read") int on_read(void *ctx) {
    static int calls;
    if (filter && yes && color && comm[1] && ports[1] && lock) calls++;
    return calls + small + outer.in.b + outer.c;
}
)";

class Assign : public testing::Test {
  protected:
    // What the variable's bytes are then, as a number.
    std::uint64_t set(const std::string& text) {
        assign_global(object_.handle(), text);
        for (const Global& global : globals_of(object_.handle()))
            if (global.name == text.substr(0, text.find_first_of("=."))) return value_of(global);
        return ~0ULL;
    }
    static std::uint64_t value_of(const Global& global) {
        std::size_t size = 0;
        const void* const section = bpf_map__initial_value(global.map, &size);
        std::uint64_t value = 0;
        std::memcpy(&value, static_cast<const char*>(section) + global.offset,
                    std::min<std::size_t>(global.size, sizeof value));
        return value;
    }
    std::string error(const std::string& text) {
        return expect_error(ExitCode::kUsage, [&] { assign_global(object_.handle(), text); });
    }
    std::string map_error(const std::string& text) {
        return expect_error(ExitCode::kUsage, [&] { assign_map(object_.handle(), text); });
    }

    Files files_;
    Object object_ = Object::open(files_.write("x.bpf.c", kObject), false);
};

TEST_F(Assign, numbers_with_or_without_sign) {
    EXPECT_EQ(set("filter=42"), 42U);
    EXPECT_EQ(set("filter=0x10"), 16U);
    EXPECT_EQ(set("filter=-1"), 0xffffffffU);
    EXPECT_EQ(set("filter=4294967295"), 0xffffffffU);
    EXPECT_EQ(set("small=-128"), 0x80U);
    EXPECT_EQ(set("lock=0xffffffff81000000"), 0xffffffff81000000U);
    EXPECT_EQ(set("on_read.calls=3"), ~0ULL);
}

TEST_F(Assign, bool_enum_text_array_and_member) {
    EXPECT_EQ(set("yes=true"), 1U);
    EXPECT_EQ(set("yes=0"), 0U);
    EXPECT_EQ(set("color=GREEN"), 7U);
    EXPECT_EQ(set("color=1"), 1U);
    EXPECT_EQ(set("comm=ls"), std::uint64_t{'l'} | 's' << 8);
    EXPECT_EQ(set("ports=80,443"), 80U | 443U << 16);
    EXPECT_EQ(set("outer.in.a=5"), std::uint64_t{5} << 32);
}

TEST_F(Assign, other_variables_stay_as_they_were) {
    set("filter=2");
    set("yes=1");
    EXPECT_EQ(set("color=GREEN"), 7U);
    for (const Global& global : globals_of(object_.handle())) {
        if (global.name == "filter") {
            EXPECT_EQ(value_of(global), 2U);
        } else if (global.name == "small") {
            EXPECT_EQ(value_of(global), 1U);
        }
    }
}

TEST_F(Assign, what_does_not_fit_is_told) {
    EXPECT_EQ(error("filter"), "--set: 'filter' is not NAME=VALUE");
    EXPECT_EQ(error("filter=4294967296"),
              "--set filter=4294967296: a number of 32 bits is expected");
    EXPECT_EQ(error("small=-129"), "--set small=-129: a number of 8 bits is expected");
    EXPECT_EQ(error("yes=maybe"), "--set yes=maybe: true or false is expected");
    EXPECT_EQ(error("yes=2"), "--set yes=2: true or false is expected");
    EXPECT_EQ(error("color=BLUE"), "--set color=BLUE: the enum has no such value");
    EXPECT_EQ(error("comm=12345678"), "--set comm=12345678: a text of at most 7 bytes is expected");
    EXPECT_EQ(error("ports=1,2,3,4,5"), "--set ports=1,2,3,4,5: room for 4 values, not for 5");
    EXPECT_EQ(error("ports=1,x"), "--set ports=1,x: a number of 16 bits is expected");
    EXPECT_EQ(error("outer=1"),
              "--set outer=1: it is no number, enum, bool, text or array of these: name a member "
              "of it");
    EXPECT_EQ(error("outer.d=1"), "--set outer.d=1: no member 'd' there");
    EXPECT_EQ(error("filter.d=1"), "--set filter.d=1: no member 'd' there");
    EXPECT_EQ(error("nothing=1").find("--set nothing=1: no global variable 'nothing'; there are: "),
              0U);
}

TEST_F(Assign, sizes_of_maps) {
    bpf_map* const map = bpf_object__find_map_by_name(object_.handle(), "counts");
    assign_map(object_.handle(), "counts.max_entries=100");
    EXPECT_EQ(bpf_map__max_entries(map), 100U);
    assign_map(object_.handle(), "counts.value_size=0x20");
    EXPECT_EQ(bpf_map__value_size(map), 32U);
    assign_map(object_.handle(), "events.max_entries=8192");
    EXPECT_EQ(bpf_map__max_entries(bpf_object__find_map_by_name(object_.handle(), "events")),
              8192U);
}

TEST_F(Assign, wrong_map_or_size_is_told) {
    for (const char* text : {"counts", "counts=1", ".max_entries=1", "counts.max_entries"})
        EXPECT_EQ(map_error(text), std::string("--map: '") + text +
                                       "' is neither NAME.max_entries=N nor NAME.value_size=N");
    EXPECT_EQ(map_error("counts.max_entries=0"),
              "--map counts.max_entries=0: '0' is not a whole number from 1 to 4294967295");
    EXPECT_EQ(map_error("count.max_entries=1"),
              "--map count.max_entries=1: no map 'count'; there are: counts, events");
    EXPECT_EQ(map_error("counts.key_size=1"),
              "--map counts.key_size=1: 'key_size' is neither max_entries nor value_size");
    EXPECT_EQ(map_error("events.value_size=8"),
              "--map events.value_size=8: 'events' is a ring buffer, which has no values: give "
              "events.max_entries=BYTES");
}

}  // namespace
}  // namespace djprobe::loader
