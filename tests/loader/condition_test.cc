// SPDX-License-Identifier: GPL-2.0
#include "count/condition.h"

#include <fstream>

#include "count/slots.h"
#include "expect_error.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

using Conditions = std::vector<djprobe_action>;

/// A kernel with one function: read(file *, unsigned long count, int flags, struct big, int more).
class Condition : public testing::Test {
  protected:
    Condition() {
        const std::unique_ptr<btf, decltype(&btf__free)> types(btf__new_empty(), btf__free);
        const int number = btf__add_int(types.get(), "int", 4, BTF_INT_SIGNED);
        const int size = btf__add_typedef(types.get(), "size_t",
                                          btf__add_int(types.get(), "unsigned long", 8, 0));
        const int big = btf__add_struct(types.get(), "big", 16);
        const int pointer = btf__add_ptr(types.get(), big);
        const int function = btf__add_func_proto(types.get(), number);
        btf__add_func_param(types.get(), "file", pointer);
        btf__add_func_param(types.get(), "count", size);
        btf__add_func_param(types.get(), "flags", number);
        btf__add_func_param(types.get(), "big", big);
        btf__add_func_param(types.get(), "more", number);
        btf__add_func(types.get(), "read", BTF_FUNC_GLOBAL, function);
        const int wide = btf__add_int(types.get(), "long", 8, BTF_INT_SIGNED);
        const int seek = btf__add_func_proto(types.get(), number);
        btf__add_func_param(types.get(), "arg1", number);
        btf__add_func_param(types.get(), "by", wide);
        btf__add_func_param(types.get(), "arg2", number);
        btf__add_func(types.get(), "seek", BTF_FUNC_GLOBAL, seek);
        __u32 bytes = 0;
        const void* const data = btf__raw_data(types.get(), &bytes);
        files_.write("vmlinux", {static_cast<const char*>(data), bytes});
    }
    Conditions parse(const char* text, const char* site = "read") {
        return parse_conditions(text, parse_function(site), prototypes_);
    }
    std::string refused(const char* text, const char* site = "read") {
        return expect_error(ExitCode::kUsage, [&] { parse(text, site); });
    }

    Files files_;
    Prototypes prototypes_{files_.path()};
};

void expect_action(const djprobe_action& action, djprobe_action_operation operation, int reg,
                   int width, bool is_signed, std::uint64_t value) {
    EXPECT_EQ(action.operation, operation);
    EXPECT_EQ(action.reg, reg);
    EXPECT_EQ(action.width, width);
    EXPECT_EQ(action.flags, is_signed ? DJPROBE_ACTION_SIGNED : 0);
    EXPECT_EQ(action.value, value);
    EXPECT_EQ(action.offset, 0U);
}

TEST_F(Condition, names_arguments_and_registers) {
    const Conditions all = parse("count > 4096&&flags<=-1  &&  r10d == 0x10 && arg6 != 7");
    ASSERT_EQ(all.size(), 4U);
    expect_action(all[0], DJPROBE_ACTION_IF_GT, 6, 8, false, 4096);
    expect_action(all[1], DJPROBE_ACTION_IF_LE, 2, 4, true, ~0ULL);
    expect_action(all[2], DJPROBE_ACTION_IF_EQ, 10, 4, false, 16);
    expect_action(all[3], DJPROBE_ACTION_IF_NE, 9, 8, false, 7);
    expect_action(parse("file>=0").front(), DJPROBE_ACTION_IF_GE, 7, 8, false, 0);
    expect_action(parse("rax < 5", "read+0x20").front(), DJPROBE_ACTION_IF_LT, 0, 8, false, 5);
    expect_action(parse("edi == -2", "rea*").front(), DJPROBE_ACTION_IF_EQ, 7, 4, true, -2ULL);
    expect_action(parse("arg1 == 2", "rea*").front(), DJPROBE_ACTION_IF_EQ, 7, 8, false, 2);
    expect_action(parse("arg1 == 2", "seek").front(), DJPROBE_ACTION_IF_EQ, 7, 8, false, 2);
    expect_action(parse("by >= -9223372036854775808", "seek").front(), DJPROBE_ACTION_IF_GE, 6, 8,
                  true, std::uint64_t{1} << 63U);
}

TEST_F(Condition, may_be_broken_into_lines) {
    const Conditions all = parse("count >\n\t4096 &&\r\n flags\t== 1\n");
    ASSERT_EQ(all.size(), 2U);
    expect_action(all[0], DJPROBE_ACTION_IF_GT, 6, 8, false, 4096);
    expect_action(all[1], DJPROBE_ACTION_IF_EQ, 2, 4, true, 1);
}

TEST_F(Condition, names_memory_as_disassemblers_do) {
    const Conditions all = parse("0x18(%rdi):4 == 7 && -8(%r12) > 1 && (%rsp):2<=-3", "read+0x20");
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].reg, 7);
    EXPECT_EQ(all[0].width, 4);
    EXPECT_EQ(all[0].flags, DJPROBE_ACTION_MEMORY);
    EXPECT_EQ(all[0].offset, 0x18U);
    EXPECT_EQ(all[0].value, 7U);
    EXPECT_EQ(all[1].reg, 12);
    EXPECT_EQ(all[1].width, 8);
    EXPECT_EQ(all[1].offset, 0xffff'fff8U);
    EXPECT_EQ(all[2].reg, DJPROBE_REG_SP);
    EXPECT_EQ(all[2].flags, DJPROBE_ACTION_MEMORY | DJPROBE_ACTION_SIGNED);
    EXPECT_EQ(all[2].offset, 0U);
    const djprobe_action sum = action_of(DJPROBE_ACTION_ADD, {12, 8, false, -8});
    EXPECT_EQ(sum.offset, 0U);
    EXPECT_EQ(sum.value, ~7ULL);
    for (const char* text : {"8(%edi) > 1", "8(%rdx):3 > 1", "8(%rdi)4 > 1", "x(%rdi) > 1",
                             "8(%rdi,%rax,2) > 1", "0x80000000(%rdi) > 1"})
        EXPECT_NE(refused(text).find("memory is written as in 0x18(%rdi):4"), std::string::npos)
            << text;
}

TEST_F(Condition, that_cannot_be_is_one_line_that_says_why) {
    EXPECT_EQ(refused("size > 1"),
              "'size': read has no such argument: it has file, count, flags, big, more");
    for (const char* text : {"(count > 1)", "count + 1 > 2", "0x44(%rdi:4 == 1", "> 1"})
        EXPECT_NE(refused(text).find("': an operand is the name of an argument, arg1 to arg6, a "
                                     "register (edi, rdi) or memory (0x18(%rdi):4)"),
                  std::string::npos)
            << text;
    for (const char* text : {"count > 1 &&", "&& count > 1", "count > 1 && && by > 2", "&&"})
        EXPECT_EQ(refused(text),
                  "--if: '" + std::string(text) + "': a comparison is missing beside '&&'");
    EXPECT_EQ(refused("count >"), "--if: 'count >': a number is missing behind '>'");
    EXPECT_EQ(refused("count > 1 && count <="),
              "--if: 'count <=': a number is missing behind '<='");
    EXPECT_EQ(refused("arg4 > 1", "seek"), "'arg4': seek has 3 arguments");
    for (const char* text : {"al > 1", "dx > 1", "r8b > 1", "rdiw > 1"})
        EXPECT_NE(refused(text).find("': a register is named whole or by its lower half: rdi, edi"),
                  std::string::npos)
            << text;
    EXPECT_EQ(refused("retval > 1"),
              "'retval' is known when read returns: 'probeload trace read:return' takes it");
    EXPECT_EQ(refused("more > 1"), "'more': this argument of read is in no known register");
    EXPECT_EQ(refused("big > 1"), "'big': this argument of read is in no known register");
    EXPECT_NE(refused("count > 1", "write").find("BTF does not tell the arguments of write"),
              std::string::npos);
    EXPECT_NE(refused("count > 1", "read+0x4").find("at the entry of a function only"),
              std::string::npos);
    EXPECT_NE(refused("arg1 > 1", "read+0x4").find("at the entry of a function only"),
              std::string::npos);
    EXPECT_NE(refused("count > 1", "re*").find("may have other arguments"), std::string::npos);
    EXPECT_EQ(refused("edi > 0x100000000"),
              "--if: 'edi > 0x100000000': 'edi' has 4 bytes, which never hold 0x100000000");
    EXPECT_NE(refused("flags < 0x80000000").find("never hold"), std::string::npos);
    EXPECT_NE(refused("edi == -2147483649").find("never hold"), std::string::npos);
    EXPECT_NE(refused("by < 0x8000000000000000", "seek").find("never hold"), std::string::npos);
    EXPECT_EQ(refused("arg2 > 1", "seek"),
              "'arg2': seek calls its argument 3 so: name its register (edi, rdi)");
    EXPECT_EQ(refused("file->f_flags == 0 && count > 1"),
              "'file->f_flags': what a pointer leads to is no operand: 'probeload trace' reads it, "
              "in its --if and --hist");
    EXPECT_EQ(refused("count > 10 || count < 5"),
              "--if: 'count > 10 || count < 5': comparisons are joined by && only; --if of trace "
              "has ||");
    EXPECT_EQ(refused("4096<count"),
              "--if: '4096<count': the operand comes first: write 'count > 4096'");
    EXPECT_EQ(refused("-1 == flags"),
              "--if: '-1 == flags': the operand comes first: write 'flags == -1'");
    EXPECT_NE(refused("0x10 >= count").find("write 'count <= 0x10'"), std::string::npos);
    for (const char* text : {"rdi > x", "rdi >> 3", "rdi > -9223372036854775809"})
        EXPECT_NE(refused(text).find("is no number"), std::string::npos) << text;
    for (const char* text : {"", "rdi", "rdi = 1", "rdi ! 1"})
        EXPECT_NE(refused(text).find("is no comparison"), std::string::npos) << text;
    EXPECT_EQ(refused("rdi>1&&rdi>2&&rdi>3&&rdi>4&&rdi>5&&rdi>6&&rdi>7&&rdi>8"),
              "--if: 8 comparisons, more than 7");
}

TEST(Slots, are_drawn_with_zero_apart) {
    Slots slots;
    EXPECT_EQ(slots_text(slots), "");
    EXPECT_EQ(slots_json(slots, 1.5),
              "{\"type\":\"histogram\",\"seconds\":1.5,\"total\":0,\"slots\":[]}\n");
    slots.counts[0] = 1;
    slots.counts[2] = 2;
    slots.least = 0;
    slots.greatest = 3;
    EXPECT_EQ(slots_text(slots),
              "           0 -> 0                     1 |********************                    |\n"
              "           1 -> 1                     0 |                                        |\n"
              "           2 -> 3                     2 |****************************************|\n"
              "min 0, max 3\n");
    slots.counts[2] = 0;
    slots.counts[64] = 3;
    slots.greatest = ~0ULL;
    EXPECT_EQ(slots_json(slots, 2),
              "{\"type\":\"histogram\",\"seconds\":2.0,\"total\":4,\"min\":0,"
              "\"max\":18446744073709551615,\"uncompared\":0,\"slots\":["
              "{\"from\":0,\"to\":0,\"count\":1},{\"from\":9223372036854775808,"
              "\"to\":18446744073709551615,\"count\":3}]}\n");
}

TEST(Slots, are_a_distribution_with_negative_numbers_below_zero) {
    Slots slots;
    slots.counts[0] = 1;
    slots.counts[2] = 2;
    slots.counts[64] = 3;
    const Distribution values = slots_distribution(slots);
    EXPECT_EQ(values.count, 6U);
    EXPECT_EQ(values.buckets.front().value, 0);
    EXPECT_EQ(values.buckets.front().count, 1U);
    EXPECT_EQ(values.buckets.at(2).value, 3);
    EXPECT_EQ(values.buckets.at(2).count, 3U);
    EXPECT_EQ(values.buckets.back().count, 3U) << "the largest numbers are above all buckets";
    EXPECT_FALSE(values.sum);
    slots.is_signed = true;
    const Distribution with_sign = slots_distribution(slots);
    EXPECT_EQ(with_sign.count, 6U);
    EXPECT_EQ(with_sign.buckets.front().value, -1);
    EXPECT_EQ(with_sign.buckets.front().count, 3U);
    EXPECT_EQ(with_sign.buckets.back().count, 6U);
}

/// The counters of one CPU that has seen so many values, of them these.
std::vector<std::uint64_t> cpu_with(std::uint64_t count, std::uint64_t greatest,
                                    std::uint64_t least, std::uint64_t uncompared) {
    std::vector<std::uint64_t> counters(kSlotCounters);
    counters[5] = count;
    counters[DJPROBE_LOG2_SLOTS] = greatest;
    counters[DJPROBE_LOG2_SLOTS + 1] = uncompared;
    counters[DJPROBE_LOG2_SLOTS + 2] = least;
    return counters;
}

TEST(Slots, the_extremes_of_all_cpus_are_those_of_all_values) {
    std::vector<std::uint64_t> cpus = cpu_with(3, 30, ~std::uint64_t{17}, 0);
    const std::vector<std::uint64_t> idle = cpu_with(0, 0, 0, 0), last = cpu_with(2, 20, ~16ULL, 4);
    cpus.insert(cpus.end(), idle.begin(), idle.end());
    cpus.insert(cpus.end(), last.begin(), last.end());
    const Slots slots = add_slots(cpus, false);
    EXPECT_EQ(slots.counts[5], 5U);
    EXPECT_EQ(slots.least, 16U);
    EXPECT_EQ(slots.greatest, 30U);
    EXPECT_TRUE(slots_text(slots).ends_with("\nmin 16, max 30, 4 not compared\n"));
}

TEST(Slots, the_extremes_of_numbers_with_a_sign_have_one) {
    constexpr std::uint64_t kTurn = std::uint64_t{1} << 63U;
    const Slots slots = add_slots(cpu_with(2, kTurn - 5, ~(kTurn - 30), 0), true);
    EXPECT_TRUE(slots_text(slots).ends_with("\nmin -30, max -5\n"));
    EXPECT_NE(slots_json(slots, 1).find("\"min\":-30,\"max\":-5,"), std::string::npos);
    const std::vector<djprobe_action> actions = slot_actions({7, 4, true});
    EXPECT_TRUE(has_sign(actions));
    EXPECT_EQ(actions.size(), kSlotActions);
    EXPECT_FALSE(has_sign(slot_actions({7, 8, false})));
}

}  // namespace
}  // namespace djprobe::loader
