// SPDX-License-Identifier: GPL-2.0
#include "decode/record_type.h"

#include "btf_builder.h"

namespace djprobe::loader {
namespace {

using Names = std::vector<std::string>;

int add_struct(BtfBuilder& btf, const char* name) {
    const int u32 = btf.u32();
    const int id = btf.structure(name, 4);
    btf.member("a", u32, 0);
    return id;
}

int add_anchor(BtfBuilder& btf, const char* name, int type) {
    const int constant = BtfBuilder::check(btf__add_const(btf.get(), type));
    const int pointer = BtfBuilder::check(btf__add_ptr(btf.get(), constant));
    return BtfBuilder::check(btf__add_var(btf.get(), name, BTF_VAR_GLOBAL_ALLOCATED, pointer));
}

TEST(RecordType, names_to_look_for) {
    EXPECT_EQ(record_type_names("event"), (Names{"event", "event_t"}));
    EXPECT_EQ(record_type_names("events"), (Names{"events", "events_t", "event", "event_t"}));
    EXPECT_EQ(record_type_names("s"), (Names{"s", "s_t"}));
}

TEST(RecordType, struct_named_as_the_map) {
    BtfBuilder btf;
    add_struct(btf, "other");
    const int id = add_struct(btf, "event");
    const auto found = find_record_type(btf.get(), "event", false);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->type_id, static_cast<std::uint32_t>(id));
    EXPECT_EQ(found->name, "event");
}

TEST(RecordType, plural_map_holds_the_singular_struct) {
    BtfBuilder btf;
    const int id = add_struct(btf, "event");
    const auto found = find_record_type(btf.get(), "events", false);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->type_id, static_cast<std::uint32_t>(id));
}

TEST(RecordType, struct_with_the_maps_own_name_wins) {
    BtfBuilder btf;
    const int id = add_struct(btf, "events");
    add_struct(btf, "event");
    EXPECT_EQ(find_record_type(btf.get(), "events", false)->type_id,
              static_cast<std::uint32_t>(id));
}

TEST(RecordType, typedef_of_an_anonymous_struct) {
    BtfBuilder btf;
    const int id = add_struct(btf, nullptr);
    BtfBuilder::check(btf__add_typedef(btf.get(), "event_t", id));
    const auto found = find_record_type(btf.get(), "events", false);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->type_id, static_cast<std::uint32_t>(id));
    EXPECT_EQ(found->name, "event_t");
}

TEST(RecordType, other_kinds_of_that_name_do_not_count) {
    BtfBuilder btf;
    const int u32 = btf.u32();
    BtfBuilder::check(btf__add_typedef(btf.get(), "event", u32));
    BtfBuilder::check(btf__add_fwd(btf.get(), "event", BTF_FWD_STRUCT));
    EXPECT_FALSE(find_record_type(btf.get(), "event", false));
}

TEST(RecordType, only_anchor_serves_the_only_event_map) {
    BtfBuilder btf;
    const int id = add_struct(btf, "read_call");
    add_struct(btf, "not_anchored");
    add_anchor(btf, "unused", id);
    const auto found = find_record_type(btf.get(), "rb", true);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name, "read_call");
    EXPECT_FALSE(find_record_type(btf.get(), "rb", false));
}

TEST(RecordType, two_anchors_are_no_answer) {
    BtfBuilder btf;
    const int first = add_struct(btf, "first");
    const int second = add_struct(btf, "second");
    add_anchor(btf, "a", first);
    add_anchor(btf, "b", second);
    EXPECT_FALSE(find_record_type(btf.get(), "rb", true));
}

TEST(RecordType, no_btf_no_type) {
    EXPECT_FALSE(find_record_type(nullptr, "events", true));
}

TEST(RecordType, hint_names_the_struct_to_add) {
    EXPECT_EQ(anchor_hint("events"),
              "name the record 'struct event' and add 'const struct event *unused_event "
              "__attribute__((unused));' to the program");
}

}  // namespace
}  // namespace djprobe::loader
