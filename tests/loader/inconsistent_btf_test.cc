// SPDX-License-Identifier: GPL-2.0
// BTF that no compiler makes: each fault gets its line, before anything follows it.
#include <gmock/gmock.h>

#include "btf_builder.h"
#include "expect_error.h"
#include "object/btf_check.h"

namespace djprobe::loader {
namespace {

constexpr std::uint32_t kNowhere = 99;

class InconsistentBtf : public testing::Test {
  protected:
    std::string check_error() {
        return expect_error(ExitCode::kBadFile, [&] { check_btf(*btf_); });
    }
    std::string decode_error(int type) {
        return expect_error(ExitCode::kBadFile, [&] {
            DecodePlan::compile(*btf_, static_cast<std::uint32_t>(type), Format::kJson);
        });
    }

    BtfBuilder btf_;
    int u32_ = btf_.u32();
};

TEST_F(InconsistentBtf, TypesThatAreNotThere) {
    const int type = btf_.structure("event", 4);
    btf_.member("a", kNowhere, 0);
    EXPECT_EQ(check_error(), "BTF is inconsistent: it refers to type 99, but has only 2");
    EXPECT_EQ(decode_error(type), check_error());
}

TEST_F(InconsistentBtf, TypedefsInACircle) {
    const int first = BtfBuilder::check(btf__add_typedef(btf_.get(), "a", u32_ + 2));
    BtfBuilder::check(btf__add_typedef(btf_.get(), "b", first));
    for (const std::string& line : {check_error(), decode_error(first)})
        EXPECT_THAT(line, testing::HasSubstr("typedefs and qualifiers without an end"));
}

TEST_F(InconsistentBtf, AStructThatContainsItself) {
    const int type = btf_.structure("event", 4);
    btf_.member("a", type, 0);
    EXPECT_EQ(decode_error(type), "BTF describes a record nested more than 32 deep");
}

TEST_F(InconsistentBtf, MoreValuesThanArePrinted) {
    // Each of 8 levels has 8 times the level below.
    int type = btf_.structure("level", 4);
    btf_.member("a", u32_, 0);
    for (int level = 0; level < 8; ++level) {
        const int outer = btf_.structure("level", 4);
        for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"})
            btf_.member(name, type, 0);
        type = outer;
    }
    EXPECT_EQ(decode_error(type), "BTF describes a record of more than 32768 values");
}

TEST_F(InconsistentBtf, ABitfieldOfWhatHasNoBits) {
    const int real = BtfBuilder::check(btf__add_float(btf_.get(), "real", 8));
    const int type = btf_.structure("event", 8);
    btf_.bits("a", real, 0, 5);
    EXPECT_EQ(decode_error(type), "BTF is inconsistent: 5 bits of a type that has none");
}

TEST_F(InconsistentBtf, ANameThatJsonCannotHold) {
    const int type = btf_.structure("event", 4);
    btf_.member("a\"b", u32_, 0);
    EXPECT_EQ(check_error(), "BTF has the name 'a\"b', which is none: it allows ASCII only");
    EXPECT_EQ(decode_error(type), check_error());
}

TEST_F(InconsistentBtf, ANameThatIsNotAscii) {
    btf_.structure("event", 4);
    btf_.member("gr\u00f6\u00dfe", u32_, 0);
    EXPECT_EQ(check_error(),
              "BTF has the name 'gr\u00f6\u00dfe', which is none: it allows ASCII only");
}

TEST_F(InconsistentBtf, ASectionOfTypesThatAreNoVariables) {
    BtfBuilder::check(btf__add_datasec(btf_.get(), ".data", 4));
    EXPECT_EQ(btf__add_datasec_var_info(btf_.get(), u32_, 0, 4), 0);
    EXPECT_EQ(check_error(),
              "BTF is inconsistent: type 2 refers to something that is no variable or function");
}

// None of these is inconsistent: all are to be survived.
TEST_F(InconsistentBtf, TheTextOfATagIsFree) {
    BtfBuilder::check(btf__add_decl_tag(btf_.get(), "say \"a\\b\"", u32_, -1));
    BtfBuilder::check(btf__add_type_tag(btf_.get(), "\"", u32_));
    EXPECT_NO_THROW(check_btf(*btf_));
}

TEST_F(InconsistentBtf, AnEnumOfThreeBytesIsBytes) {
    const int odd = BtfBuilder::check(btf__add_enum(btf_.get(), "odd", 4));
    const_cast<btf_type*>(btf__type_by_id(btf_.get(), static_cast<std::uint32_t>(odd)))->size = 3;
    const int type = btf_.structure("event", 3);
    btf_.member("a", odd, 0);
    EXPECT_EQ(to_text(btf_, type, Record(3).put_text(0, "\1\2\3")), "event a=0x030201");
}

TEST_F(InconsistentBtf, AnArrayOfFourBillionNothings) {
    const int nothing = btf_.structure("nothing", 0);
    const int many = btf_.array(nothing, ~0U - 1);
    const int type = btf_.structure("event", 0);
    btf_.member("a", many, 0);
    EXPECT_EQ(to_json_text(btf_, type, Record(0)), R"({"a":[]})");
}

}  // namespace
}  // namespace djprobe::loader
