// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/variables.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "debuginfo/data_location.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kMostLocations = 8;  // that hold at one address

class Reader {
  public:
    Reader(const DwarfFile& debug, std::uint64_t address)
        : debug_(debug), address_(address), scopes_(debug.scopes_at(address)) {}

    std::vector<SourceVariable> read(std::uint64_t from) {
        std::size_t i = 0;
        while (from && i < scopes_.size() && dwarf_dieoffset(&scopes_[i]) != from)
            ++i;
        for (; i < scopes_.size(); ++i) {
            if (dwarf_tag(&scopes_[i]) == DW_TAG_compile_unit) break;
            add_scope(i);
            if (dwarf_tag(&scopes_[i]) == DW_TAG_subprogram) break;
        }
        return std::move(found_);
    }

  private:
    // What has no place of its own in an inlined copy, a static variable or one that is optimized
    // out, stands only where the function is written. It hides the callers' of its name.
    void add_scope(std::size_t scope) {
        add_children(scopes_[scope], scope);
        const std::optional<Dwarf_Die> origin = origin_of(scopes_[scope]);
        if (!origin) return;
        Dwarf_Die written = *origin;
        add_children(written, scope);
        std::set<Dwarf_Off> copied;
        add_copied_blocks(scopes_[scope], copied);
        hide_blocks(written, copied, scope);
    }
    static std::optional<Dwarf_Die> origin_of(Dwarf_Die& die) {
        Dwarf_Attribute attribute;
        Dwarf_Die origin;
        if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute)) return std::nullopt;
        if (!dwarf_formref_die(&attribute, &origin)) return std::nullopt;
        return origin;
    }
    static void add_copied_blocks(Dwarf_Die& of, std::set<Dwarf_Off>& copied) {
        each_block(of, [&](Dwarf_Die& block) {
            if (auto origin = origin_of(block)) copied.insert(dwarf_dieoffset(&*origin));
            add_copied_blocks(block, copied);
        });
    }
    // Of a block that the copy does not have nobody knows where it begins and ends.
    void hide_blocks(Dwarf_Die& written, const std::set<Dwarf_Off>& copied, std::size_t scope) {
        each_block(written, [&](Dwarf_Die& block) {
            if (copied.contains(dwarf_dieoffset(&block))) return;
            const std::size_t before = found_.size();
            add_children(block, scope);
            for (std::size_t i = before; i < found_.size(); ++i)
                found_[i].location = no_location("optimized out here");
            hide_blocks(block, copied, scope);
        });
    }
    template <class Use>
    static void each_block(Dwarf_Die& of, const Use& use) {
        Dwarf_Die child;
        for (int more = dwarf_child(&of, &child); more == 0; more = dwarf_siblingof(&child, &child))
            if (dwarf_tag(&child) == DW_TAG_lexical_block) use(child);
    }
    void add_children(Dwarf_Die& of, std::size_t scope) {
        Dwarf_Die child;
        for (int more = dwarf_child(&of, &child); more == 0;
             more = dwarf_siblingof(&child, &child)) {
            const int tag = dwarf_tag(&child);
            if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) add(child, scope);
        }
    }

    void add(Dwarf_Die& die, std::size_t scope) {
        const char* const name = dwarf_diename(&die);
        if (!name || std::ranges::find(found_, name, &SourceVariable::name) != found_.end()) return;
        SourceVariable variable{name, function_of(scope), type_of(die), locate(die, address_)};
        if (variable.location.kind == Location::Kind::kNone) look_around(die, variable);
        found_.push_back(std::move(variable));
    }

    std::string function_of(std::size_t scope) {
        for (; scope < scopes_.size(); ++scope) {
            const int tag = dwarf_tag(&scopes_[scope]);
            if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
            const char* const name = dwarf_diename(&scopes_[scope]);
            return name ? name : "";
        }
        return "";
    }

    [[nodiscard]] Location locate(Dwarf_Die& die, std::uint64_t address) const {
        Dwarf_Attribute attribute;
        if (dwarf_attr_integrate(&die, DW_AT_const_value, &attribute)) return constant(attribute);
        if (!dwarf_attr_integrate(&die, DW_AT_location, &attribute)) return nowhere();
        Dwarf_Op* ops[kMostLocations];
        std::size_t counts[kMostLocations];
        const int count = dwarf_getlocation_addr(&attribute, address, ops, counts, kMostLocations);
        if (count <= 0) return nowhere();
        std::vector<Dwarf_Op> base, frame;
        if (names_frame({ops[0], counts[0]}))
            base = frame_base(address), frame = debug_.frame_at(address);
        return to_location(
            {ops[0], counts[0]},
            {base, frame, [this](std::uint64_t at) { return data_location(debug_, at); },
             [this](std::uint64_t type) { return base_type(type); }});
    }
    // To find it takes longer than all the rest.
    static bool names_frame(std::span<const Dwarf_Op> expression) {
        return std::ranges::any_of(expression, [](const Dwarf_Op& op) {
            return op.atom == DW_OP_fbreg || op.atom == DW_OP_call_frame_cfa;
        });
    }
    static Location nowhere() { return no_location("optimized out here"); }

    [[nodiscard]] std::optional<BaseType> base_type(std::uint64_t offset) const {
        Dwarf_Die unit, type;
        Dwarf_Die scope = scopes_.front();
        if (!dwarf_diecu(&scope, &unit, nullptr, nullptr)) return std::nullopt;
        const Dwarf_Off begin = dwarf_dieoffset(&unit) - dwarf_cuoffset(&unit);
        if (!dwarf_offdie(dwarf_cu_getdwarf(unit.cu), begin + offset, &type)) return std::nullopt;
        return base_type_of(type);
    }

    static Location constant(Dwarf_Attribute& attribute) {
        Dwarf_Sword negative = 0;
        Dwarf_Word value = 0;
        const bool is_sdata = dwarf_whatform(&attribute) == DW_FORM_sdata ||
                              dwarf_whatform(&attribute) == DW_FORM_implicit_const;
        if (is_sdata && dwarf_formsdata(&attribute, &negative) == 0)
            return constant_location(static_cast<std::uint64_t>(negative));
        if (dwarf_formudata(&attribute, &value) == 0) return constant_location(value);
        Dwarf_Block block;
        if (dwarf_formblock(&attribute, &block) == 0)
            return constant_location({block.data, block.length});
        return no_location("it is a constant that is no number");
    }

    [[nodiscard]] std::vector<Dwarf_Op> frame_base(std::uint64_t address) const {
        for (Dwarf_Die scope : scopes_) {
            Dwarf_Attribute attribute;
            if (dwarf_tag(&scope) != DW_TAG_subprogram) continue;
            if (!dwarf_attr_integrate(&scope, DW_AT_frame_base, &attribute)) return {};
            Dwarf_Op* ops = nullptr;
            std::size_t count = 0;
            if (dwarf_getlocation_addr(&attribute, address, &ops, &count, 1) <= 0) return {};
            return {ops, ops + count};
        }
        return {};
    }

    void look_around(Dwarf_Die& die, SourceVariable& variable) const {
        Dwarf_Attribute attribute;
        if (!dwarf_attr_integrate(&die, DW_AT_location, &attribute)) return;
        std::optional<std::uint64_t> before, behind;
        Dwarf_Addr base = 0, begin = 0, end = 0;
        Dwarf_Op* ops = nullptr;
        std::size_t count = 0;
        for (std::ptrdiff_t at = 0;
             (at = dwarf_getlocations(&attribute, at, &base, &begin, &end, &ops, &count)) > 0;) {
            if (begin == end || locate(die, begin).kind == Location::Kind::kNone) continue;
            if (begin < address_)
                before = std::max(before.value_or(begin), begin);
            else
                behind = std::min(behind.value_or(begin), begin);
        }
        for (const auto& place : {before, behind})
            if (const auto found = place ? debug_.unique_place_of(*place) : std::nullopt)
                variable.elsewhere.push_back(*found);
    }

    const DwarfFile& debug_;
    std::uint64_t address_;
    std::vector<Dwarf_Die> scopes_;
    std::vector<SourceVariable> found_;
};

}  // namespace

FunctionFrame frame_at(const DwarfFile& debug, std::uint64_t address) {
    const Dwarf_Op frame_op[] = {{DW_OP_call_frame_cfa, 0, 0, 0}};
    const std::vector<Dwarf_Op> frame = debug.frame_at(address);
    FunctionFrame found{to_location(frame_op, {{}, frame}), std::nullopt};
    for (Dwarf_Die& scope : debug.scopes_at(address)) {
        Dwarf_Addr entry = 0;
        if (dwarf_tag(&scope) != DW_TAG_subprogram) continue;
        if (dwarf_entrypc(&scope, &entry) == 0) found.entry = entry;
        break;
    }
    return found;
}

std::vector<SourceVariable> variables_at(const DwarfFile& debug, std::uint64_t address,
                                         std::uint64_t scope) {
    return Reader(debug, address).read(scope);
}

}  // namespace djprobe::loader
