// SPDX-License-Identifier: GPL-2.0
// BTF made by hand, and records to go with it.
#pragma once

#include <bpf/btf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/formatter.h"

namespace djprobe::loader {

/// Each method adds a type and returns its id.
class BtfBuilder {
  public:
    BtfBuilder() : btf_(btf__new_empty()) { btf__set_pointer_size(btf_.get(), 8); }

    btf* get() { return btf_.get(); }
    const btf& operator*() const { return *btf_; }

    int integer(const char* name, std::size_t size, int encoding = 0) {
        return check(btf__add_int(get(), name, size, encoding));
    }
    int u8() { return integer("unsigned char", 1); }
    int u16() { return integer("unsigned short", 2); }
    int u32() { return integer("unsigned int", 4); }
    int u64() { return integer("unsigned long long", 8); }
    int s32() { return integer("int", 4, BTF_INT_SIGNED); }
    int s64() { return integer("long long", 8, BTF_INT_SIGNED); }
    int character() { return integer("char", 1, BTF_INT_SIGNED); }
    int array(int element, unsigned count) {
        return check(btf__add_array(get(), u32(), element, count));
    }
    int structure(const char* name, unsigned size) {
        return check(btf__add_struct(get(), name, size));
    }
    /// Adds to the struct or union added last; the offset is in bytes.
    void member(const char* name, int type, unsigned offset) {
        check(btf__add_field(get(), name, type, offset * 8, 0) + 1);
    }
    void bits(const char* name, int type, unsigned bit_offset, unsigned width) {
        check(btf__add_field(get(), name, type, bit_offset, width) + 1);
    }
    static int check(int result) {
        EXPECT_GT(result, 0);
        return result;
    }

  private:
    struct Free {
        void operator()(btf* btf) const { btf__free(btf); }
    };
    std::unique_ptr<btf, Free> btf_;
};

/// A record of the given bytes.
class Record {
  public:
    explicit Record(std::size_t size) : bytes_(size) {}

    template <typename T>
    Record& put(std::size_t offset, const T& value) {
        EXPECT_LE(offset + sizeof value, bytes_.size());
        std::memcpy(bytes_.data() + offset, &value, sizeof value);
        return *this;
    }
    Record& put_text(std::size_t offset, std::string_view text) {
        EXPECT_LE(offset + text.size(), bytes_.size());
        std::memcpy(bytes_.data() + offset, text.data(), text.size());
        return *this;
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

inline std::string to_text(const BtfBuilder& btf, int type, const Record& record,
                           std::string_view head = "event") {
    Formatter formatter(
        DecodePlan::compile(*btf, static_cast<std::uint32_t>(type), Format::kText, head));
    EXPECT_TRUE(formatter.plan().accepts(record.bytes().size()));
    Buffer out;
    formatter.append(out, record.bytes());
    return {out.data(), out.size()};
}

inline std::string to_json_text(const BtfBuilder& btf, int type, const Record& record) {
    Formatter formatter(DecodePlan::compile(*btf, static_cast<std::uint32_t>(type), Format::kJson));
    EXPECT_TRUE(formatter.plan().accepts(record.bytes().size()));
    Buffer out;
    formatter.append(out, record.bytes());
    return {out.data(), out.size()};
}

inline nlohmann::json to_json(const BtfBuilder& btf, int type, const Record& record) {
    return nlohmann::json::parse(to_json_text(btf, type, record));
}

}  // namespace djprobe::loader
