// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/location.h"

#include <dwarf.h>
#include <fmt/format.h>

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
    bool binds = true;  // the text needs no parentheses
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

Operand reg(std::uint64_t number, std::uint64_t plus = 0) {
    if (number >= kPtRegs.size()) give_up("it is in a register that programs do not see");
    return {fmt::format("ctx->{}", kPtRegs.at(number).member), plus};
}

class Machine {
  public:
    Machine(std::span<const Dwarf_Op> base, std::span<const Dwarf_Op> frame)
        : base_(base), frame_(frame) {}

    Location run(std::span<const Dwarf_Op> expression) {
        if (expression.empty()) give_up("optimized out here");
        for (std::size_t i = 0; i < expression.size(); ++i) {
            const Dwarf_Op& op = expression[i];
            if (is_register(op)) {
                if (expression.size() != 1) give_up("it is in pieces");
                return value(register_of(op));
            }
            if (op.atom == DW_OP_stack_value) {
                if (i + 1 != expression.size()) give_up("it is in pieces");
                return value(pop());
            }
            step(op);
        }
        const Operand address = pop();
        // Interrupts write there: the function has not made its frame yet, or no more.
        const bool is_below = static_cast<std::int64_t>(address.plus) < 0;
        if (address.text == "ctx->sp" && is_below) give_up("the function has no frame here");
        return {Location::Kind::kMemory, text_of(address), reads_};
    }

  private:
    static bool is_register(const Dwarf_Op& op) {
        return (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31) || op.atom == DW_OP_regx;
    }
    static Operand register_of(const Dwarf_Op& op) {
        return reg(op.atom == DW_OP_regx ? op.number : op.atom - DW_OP_reg0);
    }
    [[nodiscard]] Location value(const Operand& operand) const {
        return {Location::Kind::kValue, text_of(operand), reads_};
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
        if (!push_operand(op) && !move(op) && !combine(op)) refuse(op);
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
            default:
                return false;
        }
    }

    // The function's frame: what its own expression says, which mostly is the caller's frame.
    Operand frame_base(std::uint64_t plus) {
        Machine machine({}, frame_);
        Operand base = machine.evaluate(base_);
        reads_ |= machine.reads_;
        base.plus += plus;
        return base;
    }
    Operand frame() {
        Machine machine({}, {});
        Operand frame = machine.evaluate(frame_);
        reads_ |= machine.reads_;
        return frame;
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
                return push(read(unsigned_type(op.number))), true;
            default:
                return false;
        }
    }
    static const char* unsigned_type(std::uint64_t size) {
        switch (size) {
            case 1:
                return "unsigned char";
            case 2:
                return "unsigned short";
            case 4:
                return "unsigned int";
            case 8:
                return "unsigned long";
            default:
                give_up("its location is not understood");
        }
    }
    Operand read(const std::string& type) {
        reads_ = true;
        const Operand from = pop();
        return {fmt::format("(unsigned long)READ({0}, ({0} *){1})", type, part(from)), 0, false};
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
        push({fmt::format("(unsigned long)((long){} {} (long){})", part(left), sign, part(right)),
              0, false});
    }

    [[noreturn]] static void refuse(const Dwarf_Op& op) {
        switch (op.atom) {
            case DW_OP_entry_value:
            case DW_OP_GNU_entry_value:
                give_up("optimized out here: it follows only from what the function was given");
            case DW_OP_implicit_pointer:
            case DW_OP_GNU_implicit_pointer:
                give_up("optimized out here: it points to what is not in memory");
            case DW_OP_piece:
            case DW_OP_bit_piece:
                give_up("it is in pieces");
            case DW_OP_addr:
                give_up("it is no variable of the call: it is in the kernel's data");
            default:
                give_up("its location is not understood");
        }
    }

    std::span<const Dwarf_Op> base_, frame_;
    std::vector<Operand> stack_;
    bool reads_ = false;
};

}  // namespace

Location to_location(std::span<const Dwarf_Op> expression, std::span<const Dwarf_Op> base,
                     std::span<const Dwarf_Op> frame) {
    try {
        return Machine(base, frame).run(expression);
    } catch (const NotUnderstood& reason) {
        return {Location::Kind::kNone, "", false, reason.why};
    }
}

Location constant_location(std::uint64_t value) {
    return {Location::Kind::kValue, literal(value)};
}

}  // namespace djprobe::loader
