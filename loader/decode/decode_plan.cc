// SPDX-License-Identifier: GPL-2.0
#include "decode/decode_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "decode/btf_util.h"
#include "decode/stack_fields.h"

namespace djprobe::loader {
namespace {

// No real record is that deep or that wide; a struct that contains itself has no end.
constexpr int kDeepest = 32;
constexpr std::size_t kMostOps = 32768;
constexpr std::uint32_t kWidestBitfield = 64;

bool is_flexible_array(const btf_type& type) {
    return btf_is_array(&type) && btf_array(&type)->nelems == 0;
}

bool is_integer_size(std::uint32_t size) {
    return size == 1 || size == 2 || size == 4 || size == 8;
}

}  // namespace

class DecodePlanCompiler {
  public:
    DecodePlanCompiler(const btf& btf, Format format) : btf_(btf) { plan_.format_ = format; }

    DecodePlan run(std::uint32_t type_id, std::string_view head, std::string_view tail) {
        if (const auto process = stack_fields_of(btf_, type_id, "").process)
            plan_.process_at_ = process->offset;
        outermost_ = &type_at(btf_, skip_modifiers(btf_, type_id));
        const std::int64_t size = btf__resolve_size(&btf_, type_id);
        if (size < 0) {
            fail(ExitCode::kBadFile, "BTF type {} has no size: it cannot be decoded", type_id);
        }
        plan_.size_ = static_cast<std::uint32_t>(size);
        limit_ = plan_.size_;
        pending_ = head;
        has_head_ = !head.empty();
        add_value(type_id, 0, Place::kTop);
        pending_ += tail;
        if (!pending_.empty()) add_op({});
        if (plan_.flexible_) plan_.size_ = static_cast<std::uint32_t>(end_);
        return std::move(plan_);
    }

  private:
    // Only the members of the outermost struct get columns; inside, widths would not line up
    // anyway.
    enum class Place { kTop, kMember, kInside };

    [[nodiscard]] bool json() const { return plan_.format_ == Format::kJson; }
    [[nodiscard]] std::uint32_t size_of(std::uint32_t type_id) const {
        return static_cast<std::uint32_t>(
            std::max<std::int64_t>(0, btf__resolve_size(&btf_, type_id)));
    }
    [[nodiscard]] std::string_view name_of(std::uint32_t at) const {
        return printable_name(btf_, at);
    }

    Op& add_op(Op op) {
        if (plan_.ops_.size() >= kMostOps)
            fail(ExitCode::kBadFile, "BTF describes a record of more than {} values", kMostOps);
        op.literal_at = static_cast<std::uint32_t>(plan_.literals_.size());
        op.literal_size = static_cast<std::uint32_t>(pending_.size());
        plan_.literals_ += pending_;
        pending_.clear();
        return plan_.ops_.emplace_back(op);
    }

    // The formatter trusts the plan: a type that reaches beyond its record must not get that far.
    void check_bounds(std::uint64_t offset, std::uint64_t bytes) {
        end_ = std::max(end_, offset + bytes);
        if (offset + bytes <= limit_) return;
        fail(ExitCode::kBadFile, "BTF is inconsistent: a member ends at byte {} of a type of {}",
             offset + bytes, limit_);
    }

    void add_leaf(Op op, Place place) {
        if (place == Place::kMember && !json()) op.column = plan_.columns_++;
        add_op(op);
    }

    // Takes one level of the nesting that is allowed, while it lives.
    class Deeper {
      public:
        explicit Deeper(int& depth) : depth_(depth) {
            if (depth_ == kDeepest)
                fail(ExitCode::kBadFile, "BTF describes a record nested more than {} deep",
                     kDeepest);
            ++depth_;
        }
        ~Deeper() { --depth_; }
        Deeper(const Deeper&) = delete;

      private:
        int& depth_;
    };

    void add_value(std::uint32_t type_id, std::uint32_t offset, Place place) {
        type_id = skip_modifiers(btf_, type_id);
        const btf_type& type = type_at(btf_, type_id);
        if (btf_is_composite(&type)) return add_struct(type, offset, place);
        if (btf_is_array(&type)) return add_array(type, offset, place, btf_array(&type)->nelems);
        const Op op = scalar(type_id, offset);
        check_bounds(op.offset, op.size);
        add_leaf(op, place);
    }

    Op scalar(std::uint32_t type_id, std::uint32_t offset) {
        const btf_type& type = type_at(btf_, type_id);
        Op op{.offset = offset};
        op.size = size_of(type_id);
        const bool fits = is_integer_size(op.size);
        if (btf_is_ptr(&type)) {
            op.kind = OpKind::kPointer;
        } else if (btf_is_any_enum(&type) && fits) {
            op.kind = OpKind::kEnum;
            op.enumeration = add_enumeration(type);
        } else if (btf_is_float(&type)) {
            op.kind = op.size == 4 || op.size == 8 ? OpKind::kFloat : OpKind::kBytes;
        } else if (btf_is_int(&type) && fits) {
            const auto encoding = btf_int_encoding(&type);
            op.kind = (encoding & BTF_INT_BOOL) != 0     ? OpKind::kBool
                      : (encoding & BTF_INT_SIGNED) != 0 ? OpKind::kSigned
                                                         : OpKind::kUnsigned;
        } else {
            op.kind = OpKind::kBytes;
        }
        return op;
    }

    std::uint32_t add_enumeration(const btf_type& type) {
        Enumeration enumeration;
        enumeration.is_signed = btf_kflag(&type);
        const std::uint64_t mask = type.size >= 8 ? ~0ULL : (1ULL << (type.size * 8)) - 1;
        for (std::uint32_t i = 0; i < btf_vlen(&type); ++i) {
            if (btf_is_enum64(&type)) {
                const struct btf_enum64& entry = btf_enum64(&type)[i];
                enumeration.entries.push_back(
                    {btf_enum64_value(&entry), std::string(name_of(entry.name_off))});
            } else {
                const struct btf_enum& entry = btf_enum(&type)[i];
                // Compilers before enum64 do not tell the sign; a negative name does.
                enumeration.is_signed |= entry.val < 0;
                enumeration.entries.push_back(
                    {static_cast<std::uint64_t>(std::int64_t{entry.val}) & mask,
                     std::string(name_of(entry.name_off))});
            }
        }
        // Stable: of several names for one value the first declared is the one to print.
        std::ranges::stable_sort(enumeration.entries, {}, &Enumeration::Entry::value);
        plan_.enumerations_.push_back(std::move(enumeration));
        return static_cast<std::uint32_t>(plan_.enumerations_.size() - 1);
    }

    void add_struct(const btf_type& type, std::uint32_t offset, Place place) {
        // The outermost struct's members follow its name in text.
        const bool bare = place == Place::kTop && !json();
        if (!bare) pending_ += '{';
        bool first = !bare || !has_head_;
        add_members(type, offset, place == Place::kTop ? Place::kMember : Place::kInside, first);
        if (!bare) pending_ += '}';
    }

    void add_members(const btf_type& type, std::uint32_t offset, Place place, bool& first) {
        const Deeper deeper(depth_);
        for (std::uint32_t i = 0; i < btf_vlen(&type); ++i) {
            const btf_member& member = btf_members(&type)[i];
            const std::uint32_t member_type = skip_modifiers(btf_, member.type);
            const btf_type& resolved = type_at(btf_, member_type);
            const std::uint32_t bits = btf_member_bit_offset(&type, i);
            const std::string_view name = name_of(member.name_off);
            if (name.empty()) {
                // C names the members of an anonymous struct or union as the outer one's.
                if (btf_is_composite(&resolved)) {
                    add_members(resolved, offset + bits / 8, place, first);
                }
                continue;
            }
            add_member_name(name, first);
            member_ = name;
            const bool last =
                place == Place::kMember && &type == outermost_ && i + 1 == btf_vlen(&type);
            if (last && is_flexible_array(resolved)) {
                plan_.flexible_ = true;
                plan_.flexible_element_ = size_of(btf_array(&resolved)->type);
                add_array(resolved, offset + bits / 8, place, kToRecordEnd);
            } else if (const std::uint32_t width = bitfield_width(type, i, resolved)) {
                const std::uint32_t inner = btf_is_int(&resolved) ? btf_int_offset(&resolved) : 0;
                add_bitfield(member_type, offset * std::uint64_t{8} + bits + inner, width, place);
            } else {
                add_value(member_type, offset + bits / 8, place);
            }
        }
    }

    void add_member_name(std::string_view name, bool& first) {
        if (!first) pending_ += json() ? ',' : ' ';
        pending_ += json() ? fmt::format("\"{}\":", name) : fmt::format("{}=", name);
        first = false;
    }

    // With kind_flag the member holds the bitfield's size, in older BTF the int does.
    static std::uint32_t bitfield_width(const btf_type& type, std::uint32_t index,
                                        const btf_type& resolved) {
        if (const std::uint32_t width = btf_member_bitfield_size(&type, index)) return width;
        if (btf_is_int(&resolved) && btf_int_bits(&resolved) < resolved.size * 8) {
            return btf_int_bits(&resolved);
        }
        return 0;
    }

    void add_bitfield(std::uint32_t type_id, std::uint64_t bits, std::uint32_t width, Place place) {
        check_bounds(bits / 8, (bits % 8 + width + 7) / 8);
        Op op = scalar(type_id, static_cast<std::uint32_t>(bits / 8));
        if (width > kWidestBitfield || op.kind == OpKind::kBytes || op.kind == OpKind::kFloat)
            fail(ExitCode::kBadFile, "BTF is inconsistent: {} bits of a type that has none", width);
        op.bit_size = static_cast<std::uint8_t>(width);
        op.bit_shift = static_cast<std::uint8_t>(bits % 8);
        add_leaf(op, place);
    }

    void add_array(const btf_type& type, std::uint32_t offset, Place place, std::uint32_t count) {
        const struct btf_array& array = *btf_array(&type);
        const std::uint32_t element = skip_modifiers(btf_, array.type);
        const Deeper deeper(depth_);
        Op op{.offset = offset};
        op.size = size_of(element);
        // Elements of no size show nothing, however many they are said to be.
        op.count = op.size == 0 ? 0 : count;
        check_bounds(offset, count == kToRecordEnd ? 0 : std::uint64_t{op.size} * count);
        if (const auto kind = stack_kind(btf_, type, member_)) {
            op.kind = *kind == StackKind::kBuildIds ? OpKind::kBuildIdStack : OpKind::kStack;
            return add_leaf(op, Place::kInside);
        }
        if (is_char(btf_, element)) {
            op.kind = OpKind::kString;
            return add_leaf(op, place);
        }
        op.kind = OpKind::kArray;
        pending_ += '[';
        add_op(op);
        const std::size_t at = plan_.ops_.size() - 1;
        const std::uint32_t outer_limit = std::exchange(limit_, op.size);
        const std::uint64_t outer_end = end_;
        add_value(element, 0, Place::kInside);
        limit_ = outer_limit;
        end_ = outer_end;
        if (!pending_.empty()) add_op({});
        plan_.ops_[at].body = static_cast<std::uint32_t>(plan_.ops_.size() - 1 - at);
        pending_ += ']';
    }

    const btf& btf_;
    const btf_type* outermost_ = nullptr;
    std::string_view member_;  // the innermost that has a name
    int depth_ = 0;
    std::string pending_;
    bool has_head_ = false;
    std::uint32_t limit_ = 0;  // size of what offsets count in: the record, or an array's element
    std::uint64_t end_ = 0;    // how far the values reach in it
    DecodePlan plan_;
};

DecodePlan DecodePlan::compile(const btf& btf, std::uint32_t type_id, Format format,
                               std::string_view head, std::string_view tail) {
    return DecodePlanCompiler(btf, format).run(type_id, head, tail);
}

}  // namespace djprobe::loader
