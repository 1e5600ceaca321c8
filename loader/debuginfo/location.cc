// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/location.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/pt_regs.h"

namespace djprobe::loader {
namespace {

// What the machine of DWARF has no word for here; the location has no value then.
struct NotUnderstood {
    std::string why;
};

[[noreturn]] void give_up(std::string why) {
    throw NotUnderstood{std::move(why)};
}

// A number of 64 bits: what a text says, and a number behind it. Without a text the number alone.
struct Operand {
    std::string text;
    std::uint64_t plus = 0;
    bool binds = true;               // the text needs no parentheses
    std::optional<BaseType> type{};  // none: an address, or what is as wide
};

std::string literal(std::uint64_t number) {
    const auto value = static_cast<std::int64_t>(number);
    const bool fits = value >= -std::numeric_limits<std::int32_t>::max() &&
                      value <= std::numeric_limits<std::int32_t>::max();
    return fits ? fmt::format("{}", value) : fmt::format("{:#x}UL", number);
}

std::string in_parentheses(const Operand& operand) {
    return operand.binds ? operand.text : "(" + operand.text + ")";
}

std::string text_of(const Operand& operand) {
    if (operand.text.empty()) return literal(operand.plus);
    if (operand.plus == 0) return operand.text;
    const auto plus = static_cast<std::int64_t>(operand.plus);
    if (plus > 0) return fmt::format("{} + {}", in_parentheses(operand), literal(operand.plus));
    return fmt::format("{} - {}", in_parentheses(operand), literal(0 - operand.plus));
}

bool is_sum(const Operand& operand) {
    return !operand.text.empty() && operand.plus != 0;
}

// As a part of a larger one.
std::string part(const Operand& operand) {
    if (operand.text.empty()) {
        const std::string number = literal(operand.plus);
        return number.starts_with('-') ? "(" + number + ")" : number;
    }
    return operand.binds && !is_sum(operand) ? operand.text : "(" + text_of(operand) + ")";
}

const PtReg& pt_reg(std::uint64_t number) {
    if (number >= kPtRegs.size()) give_up("it is in a register that programs do not see");
    return kPtRegs.at(number);
}

Operand reg(std::uint64_t number, std::uint64_t plus = 0) {
    return {fmt::format("ctx->{}", pt_reg(number).member), plus};
}

const char* number_type(std::uint64_t size, bool is_signed) {
    switch (size) {
        case 1:
            return is_signed ? "signed char" : "unsigned char";
        case 2:
            return is_signed ? "short" : "unsigned short";
        case 4:
            return is_signed ? "int" : "unsigned int";
        case 8:
            return is_signed ? "long" : "unsigned long";
        default:
            give_up("its location is not understood");
    }
}

class Machine {
  public:
    Machine(const Surroundings& around, Location& found) : around_(around), found_(found) {}

    // What the expression leaves behind: in one piece, or in several.
    void run(std::span<const Dwarf_Op> expression) {
        if (expression.empty()) give_up("optimized out here");
        std::size_t i = 0;
        while (i < expression.size()) {
            const std::size_t end = end_of_piece(expression, i);
            const auto part = expression.subspan(i, end - i);
            if (end == expression.size()) {
                if (!pieces_.empty()) give_up("it is in pieces");
                return whole(part);
            }
            if (part.empty()) give_up("a part of it is optimized out here");
            add_piece(part, expression[end].number);
            i = end + 1;
        }
        join();
    }

  private:
    // A piece's value, or its address.
    struct Piece {
        Operand operand;
        bool in_memory;
        std::uint64_t size;
    };

    static std::size_t end_of_piece(std::span<const Dwarf_Op> expression, std::size_t from) {
        const auto is_end = [](const Dwarf_Op& op) { return op.atom == DW_OP_piece; };
        const auto rest = expression.subspan(from);
        return from + static_cast<std::size_t>(std::ranges::find_if(rest, is_end) - rest.begin());
    }
    static bool is_register(const Dwarf_Op& op) {
        return (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31) || op.atom == DW_OP_regx;
    }
    static Operand register_of(const Dwarf_Op& op) {
        return reg(op.atom == DW_OP_regx ? op.number : op.atom - DW_OP_reg0);
    }

    void whole(std::span<const Dwarf_Op> expression) {
        const Dwarf_Op& first = expression.front();
        if (first.atom == DW_OP_implicit_value) return implicit(first);
        if (expression.size() == 1 && first.atom == DW_OP_addr) return data(first.number);
        const Piece piece = piece_of(expression, 0);
        found_.kind = piece.in_memory ? Location::Kind::kMemory : Location::Kind::kValue;
        found_.text = text_of(piece.operand);
    }

    Piece piece_of(std::span<const Dwarf_Op> expression, std::uint64_t size) {
        stack_.clear();
        for (std::size_t i = 0; i < expression.size(); ++i) {
            const Dwarf_Op& op = expression[i];
            if (is_register(op)) {
                if (expression.size() != 1) give_up("its location is not understood");
                return {register_of(op), false, size};
            }
            if (op.atom == DW_OP_stack_value) {
                if (i + 1 != expression.size()) give_up("its location is not understood");
                return {pop(), false, size};
            }
            step(op);
        }
        Operand address = pop();
        // Interrupts write there: the function has not made its frame yet, or no more.
        const bool is_below = static_cast<std::int64_t>(address.plus) < 0;
        if (address.text == "ctx->sp" && is_below) give_up("the function has no frame here");
        return {std::move(address), true, size};
    }

    // Behind their number, which has a bit for whether it goes on in each of its bytes.
    static std::span<const std::uint8_t> bytes_of(const Dwarf_Op& op) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(op.number2);
        while (*bytes++ & 0x80) {
        }
        return {bytes, op.number};
    }
    void implicit(const Dwarf_Op& op) { found_ = constant_location(bytes_of(op)); }

    // A variable of the kernel's data: the kernel may have been moved.
    void data(std::uint64_t address) {
        if (!around_.data) give_up("it is in the kernel's data, and not known where");
        found_ = around_.data(address);
    }

    void add_piece(std::span<const Dwarf_Op> part, std::uint64_t size) {
        if (size == 0 || size > kLargestPiece) give_up("it is in pieces");
        const Dwarf_Op& first = part.front();
        if (first.atom != DW_OP_implicit_value) {
            pieces_.push_back(piece_of(part, size));
            return;
        }
        const Location bytes = constant_location(bytes_of(first));
        if (bytes.kind != Location::Kind::kValue || first.number != size)
            give_up("it is in pieces");
        pieces_.push_back({{bytes.text}, false, size});
    }

    // The bytes of all pieces, eight in a word.
    void join() {
        std::uint64_t at = 0;
        for (const Piece& piece : pieces_) {
            piece.in_memory ? add_memory(piece, at) : add_value(piece, at);
            at += piece.size;
        }
        found_.kind = words_.size() == 1 ? Location::Kind::kValue : Location::Kind::kWords;
        if (words_.size() == 1)
            found_.text = words_.front();
        else
            found_.words = std::move(words_);
    }
    void add_value(const Piece& piece, std::uint64_t at) {
        if (piece.size > 8 || at % 8 + piece.size > 8) give_up("it is in pieces");
        std::string text = part(piece.operand);
        if (piece.size < 8)
            text = fmt::format("({} & {:#x})", text, (std::uint64_t{1} << 8 * piece.size) - 1);
        add_word(at, text);
    }
    void add_memory(const Piece& piece, std::uint64_t at) {
        found_.reads = true;
        for (std::uint64_t done = 0; done < piece.size;) {
            std::uint64_t size = 8;
            while (size > piece.size - done || (at + done) % 8 + size > 8)
                size /= 2;
            Operand from = piece.operand;
            from.plus += done;
            add_word(at + done, fmt::format("(unsigned long)READ({0}, ({0} *){1})",
                                            number_type(size, false), part(from)));
            done += size;
        }
    }
    void add_word(std::uint64_t at, const std::string& text) {
        words_.resize(std::max<std::size_t>(words_.size(), at / 8 + 1));
        std::string& word = words_[at / 8];
        if (!word.empty()) word += " | ";
        word += at % 8 == 0 ? text : fmt::format("{} << {}", text, at % 8 * 8);
    }

    Operand pop() {
        if (stack_.empty()) give_up("its location is not understood");
        Operand top = std::move(stack_.back());
        stack_.pop_back();
        return top;
    }
    void push(Operand operand) { stack_.push_back(std::move(operand)); }
    void push_number(std::uint64_t number) { push({"", number}); }
    void pick(std::size_t depth) {
        if (depth >= stack_.size()) give_up("its location is not understood");
        push(stack_[stack_.size() - 1 - depth]);
    }

    void step(const Dwarf_Op& op) {
        if (!push_operand(op) && !move(op) && !combine_typed(op)) refuse(op);
    }

    bool push_operand(const Dwarf_Op& op) {
        if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31)
            return push_number(op.atom - DW_OP_lit0), true;
        if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
            return push(reg(op.atom - DW_OP_breg0, op.number)), true;
        switch (op.atom) {
            case DW_OP_const1u:
            case DW_OP_const1s:
            case DW_OP_const2u:
            case DW_OP_const2s:
            case DW_OP_const4u:
            case DW_OP_const4s:
            case DW_OP_const8u:
            case DW_OP_const8s:
            case DW_OP_constu:
            case DW_OP_consts:
                return push_number(op.number), true;
            case DW_OP_bregx:
                return push(reg(op.number, op.number2)), true;
            case DW_OP_fbreg:
                return push(frame_base(op.number)), true;
            case DW_OP_call_frame_cfa:
                return push(frame()), true;
            case DW_OP_addr:
                return push(data_address(op.number)), true;
            case DW_OP_entry_value:
            case DW_OP_GNU_entry_value:
                return push(given(op)), true;
            case DW_OP_regval_type:
                return push(reg(op.number)), convert(op.number2), true;
            case DW_OP_convert:
                return convert(op.number), true;
            default:
                return false;
        }
    }

    Operand data_address(std::uint64_t address) {
        if (!around_.data) give_up("it is in the kernel's data, and not known where");
        const Location place = around_.data(address);
        if (place.kind != Location::Kind::kMemory) give_up(place.why);
        found_.has_text_symbol = true;
        return {place.text, 0, false};
    }

    // What a register held when the function began.
    Operand given(const Dwarf_Op& op) {
        const auto expression = bytes_of(op);
        if (expression.size() != 1 || expression[0] < DW_OP_reg0 || expression[0] > DW_OP_reg31)
            give_up("optimized out here: it follows only from what the function was given");
        const std::string member(pt_reg(expression[0] - DW_OP_reg0).member);
        if (std::ranges::find(found_.given, member) == found_.given.end())
            found_.given.push_back(member);
        return {"given->" + member};
    }

    void convert(std::uint64_t type) {
        // The type without a name: as wide as an address, whatever its sign.
        if (type == 0) {
            if (stack_.empty()) give_up("its location is not understood");
            stack_.back().type.reset();
            return;
        }
        const auto found = around_.base_type ? around_.base_type(type) : std::nullopt;
        if (!found) give_up("its location is not understood");
        push(converted(pop(), *found));
    }
    // In 64 bits, as the type extends them.
    static Operand converted(const Operand& operand, BaseType type) {
        if (type.size == 8) {
            Operand same = operand;
            same.type = type;
            return same;
        }
        return {fmt::format("(unsigned long)({}){}", number_type(type.size, type.is_signed),
                            part(operand)),
                0, false, type};
    }

    // The function's frame: what its own expression says, which mostly is the caller's frame.
    Operand frame_base(std::uint64_t plus) {
        const Surroundings around{{}, around_.frame};
        Operand base = Machine(around, found_).evaluate(around_.base);
        base.plus += plus;
        return base;
    }
    Operand frame() {
        const Surroundings none{};
        return Machine(none, found_).evaluate(around_.frame);
    }
    Operand evaluate(std::span<const Dwarf_Op> expression) {
        if (expression.size() == 1 && is_register(expression[0])) return register_of(expression[0]);
        for (const Dwarf_Op& op : expression)
            if (op.atom != DW_OP_stack_value) step(op);
        return pop();
    }

    bool move(const Dwarf_Op& op) {
        switch (op.atom) {
            case DW_OP_nop:
                return true;
            case DW_OP_dup:
                return pick(0), true;
            case DW_OP_over:
                return pick(1), true;
            case DW_OP_pick:
                return pick(op.number), true;
            case DW_OP_drop:
                return pop(), true;
            case DW_OP_swap: {
                Operand top = pop(), below = pop();
                push(std::move(top));
                push(std::move(below));
                return true;
            }
            case DW_OP_deref:
                return push(read("unsigned long")), true;
            case DW_OP_deref_size:
                return push(read(number_type(op.number, false))), true;
            case DW_OP_deref_type:
                return push(read(number_type(op.number, false))), convert(op.number2), true;
            default:
                return false;
        }
    }
    Operand read(const std::string& type) {
        found_.reads = true;
        const Operand from = pop();
        return {fmt::format("(unsigned long)READ({0}, ({0} *){1})", type, part(from)), 0, false};
    }

    // Of narrow numbers what does not fit is cut off.
    bool combine_typed(const Dwarf_Op& op) {
        const auto type = stack_.empty() ? std::nullopt : stack_.back().type;
        if (!type || type->size == 8) return combine(op);
        // Their signs decide, or their width: rare, and easily wrong.
        if (op.atom == DW_OP_shr || op.atom == DW_OP_shra || !combine(op)) return false;
        if (!is_comparison(op)) push(converted(pop(), *type));
        return true;
    }
    static bool is_comparison(const Dwarf_Op& op) {
        return op.atom == DW_OP_eq || op.atom == DW_OP_ne || op.atom == DW_OP_lt ||
               op.atom == DW_OP_le || op.atom == DW_OP_gt || op.atom == DW_OP_ge;
    }

    bool combine(const Dwarf_Op& op) {
        switch (op.atom) {
            case DW_OP_plus_uconst:
                stack_.empty() ? give_up("its location is not understood")
                               : void(stack_.back().plus += op.number);
                return true;
            case DW_OP_plus:
                return add(false), true;
            case DW_OP_minus:
                return add(true), true;
            case DW_OP_neg:
                return sign("-"), true;
            case DW_OP_not:
                return sign("~"), true;
            case DW_OP_mul:
                return binary("*"), true;
            case DW_OP_and:
                return binary("&"), true;
            case DW_OP_or:
                return binary("|"), true;
            case DW_OP_xor:
                return binary("^"), true;
            case DW_OP_shl:
                return shift("<<", ""), true;
            case DW_OP_shr:
                return shift(">>", ""), true;
            case DW_OP_shra:
                return shift(">>", "(long)"), true;
            case DW_OP_eq:
                return compare("=="), true;
            case DW_OP_ne:
                return compare("!="), true;
            case DW_OP_lt:
                return compare("<"), true;
            case DW_OP_le:
                return compare("<="), true;
            case DW_OP_gt:
                return compare(">"), true;
            case DW_OP_ge:
                return compare(">="), true;
            default:
                return false;
        }
    }

    void add(bool subtract) {
        Operand right = pop(), left = pop();
        if (right.text.empty()) {
            left.plus += subtract ? 0 - right.plus : right.plus;
            return push(std::move(left));
        }
        if (left.text.empty() && !subtract) {
            right.plus += left.plus;
            return push(std::move(right));
        }
        push({fmt::format("{} {} {}", wide(left), subtract ? "-" : "+", part(right)), 0, false});
    }
    // One side of 64 bits makes the other one so.
    static std::string wide(const Operand& operand) {
        return operand.text.empty() ? "(unsigned long)" + part(operand) : part(operand);
    }
    void sign(const char* sign) {
        const Operand of = pop();
        push({sign + wide(of), 0, false});
    }
    void binary(const char* sign) {
        const Operand right = pop(), left = pop();
        push({fmt::format("{} {} {}", wide(left), sign, part(right)), 0, false});
    }
    // By as many bits as a register has C has no meaning.
    void shift(const char* sign, const char* as) {
        const Operand by = pop(), of = pop();
        if (!by.text.empty() || by.plus >= 64) give_up("its location is not understood");
        const std::string text = fmt::format("{}{} {} {}", as, wide(of), sign, by.plus);
        const bool is_signed = *as != 0;
        push({is_signed ? "(unsigned long)(" + text + ")" : text, 0, false});
    }
    void compare(const char* sign) {
        const Operand right = pop(), left = pop();
        const bool is_unsigned = left.type && !left.type->is_signed;
        push({fmt::format("(unsigned long)(({0}){1} {2} ({0}){3})",
                          is_unsigned ? "unsigned long" : "long", part(left), sign, part(right)),
              0, false});
    }

    [[noreturn]] static void refuse(const Dwarf_Op& op) {
        switch (op.atom) {
            case DW_OP_implicit_pointer:
            case DW_OP_GNU_implicit_pointer:
                give_up("optimized out here: it points to what is not in memory");
            case DW_OP_bit_piece:
                give_up("it is in pieces");
            default:
                give_up("its location is not understood");
        }
    }

    static constexpr std::uint64_t kLargestPiece = 256;

    const Surroundings& around_;
    Location& found_;
    std::vector<Operand> stack_;
    std::vector<Piece> pieces_;
    std::vector<std::string> words_;
};

}  // namespace

bool Location::depends_on(const std::set<std::string>& registers, bool memory) const {
    if (memory && (reads || kind == Kind::kMemory)) return true;
    std::vector<std::string> texts = words;
    texts.push_back(text);
    return std::ranges::any_of(texts, [&](const std::string& one) {
        return std::ranges::any_of(registers, [&](const std::string& name) {
            const std::string wanted = "ctx->" + name;
            for (std::size_t at = 0; (at = one.find(wanted, at)) != one.npos; ++at) {
                const std::size_t end = at + wanted.size();
                if (end == one.size() || !std::isalnum(static_cast<unsigned char>(one[end])))
                    return true;
            }
            return false;
        });
    });
}

Location to_location(std::span<const Dwarf_Op> expression, const Surroundings& around) {
    try {
        Location found;
        Machine(around, found).run(expression);
        return found;
    } catch (const NotUnderstood& reason) {
        return no_location(reason.why);
    }
}

Location constant_location(std::uint64_t value) {
    return {Location::Kind::kValue, literal(value)};
}

Location constant_location(std::span<const std::uint8_t> bytes) {
    Location location{Location::Kind::kWords};
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
        location.words.push_back(literal(word));
    }
    if (location.words.empty()) return no_location("it is a constant without bytes");
    if (location.words.size() == 1) return {Location::Kind::kValue, location.words.front()};
    return location;
}

Location no_location(std::string why) {
    return {Location::Kind::kNone, "", false, std::move(why)};
}

}  // namespace djprobe::loader
