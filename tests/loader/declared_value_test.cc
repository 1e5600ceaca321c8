// SPDX-License-Identifier: GPL-2.0
// What a map's values are, by its declaration.
#include "decode/declared_value.h"

#include "base/error.h"
#include "btf_builder.h"

namespace djprobe::loader {
namespace {

class DeclaredValue : public testing::Test {
  protected:
    /// A map whose declaration has one member.
    int declare(const char* map, const char* member, int type) {
        const int declaration = btf_.structure("", 8);
        btf_.member(member, type, 0);
        return BtfBuilder::check(
            btf__add_var(btf_.get(), map, BTF_VAR_GLOBAL_ALLOCATED, declaration));
    }
    void put_into_section(const std::vector<int>& variables) {
        BtfBuilder::check(btf__add_datasec(btf_.get(), ".maps", 0));
        for (const int variable : variables)
            BtfBuilder::check(btf__add_datasec_var_info(btf_.get(), variable, 0, 8) + 1);
    }
    int pointer(int type) { return BtfBuilder::check(btf__add_ptr(btf_.get(), type)); }
    std::uint32_t type_of(const char* map) { return declared_value_type(*btf_, map); }

    BtfBuilder btf_;
};

TEST_F(DeclaredValue, is_what_the_member_value_points_to) {
    const int u32 = btf_.u32(), u64 = btf_.u64();
    const int other = declare("other", "value", pointer(u32));
    const int queue = declare("queue", "value", pointer(u64));
    put_into_section({other, queue});
    EXPECT_EQ(type_of("queue"), static_cast<std::uint32_t>(u64));
    EXPECT_EQ(type_of("other"), static_cast<std::uint32_t>(u32));
}

TEST_F(DeclaredValue, none_where_the_declaration_names_none) {
    const int u64 = btf_.u64();
    const int sized = declare("sized", "value_size", pointer(u64));
    const int odd = declare("odd", "value", u64);
    const int number =
        BtfBuilder::check(btf__add_var(btf_.get(), "number", BTF_VAR_GLOBAL_ALLOCATED, u64));
    EXPECT_EQ(type_of("sized"), 0U);
    put_into_section({sized, odd, number});
    for (const char* map : {"sized", "odd", "number", "missing"})
        EXPECT_EQ(type_of(map), 0U) << map;
}

TEST_F(DeclaredValue, a_type_that_is_not_there_is_an_error) {
    put_into_section({declare("queue", "value", 1000)});
    EXPECT_THROW(type_of("queue"), Error);
}

}  // namespace
}  // namespace djprobe::loader
