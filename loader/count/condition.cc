// SPDX-License-Identifier: GPL-2.0
#include "count/condition.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace djprobe::loader {
namespace {

// The longer ones first: "<=" begins as "<" does.
constexpr std::pair<std::string_view, djprobe_action_operation> kComparisons[] = {
    {"==", DJPROBE_ACTION_IF_EQ}, {"!=", DJPROBE_ACTION_IF_NE}, {"<=", DJPROBE_ACTION_IF_LE},
    {">=", DJPROBE_ACTION_IF_GE}, {"<", DJPROBE_ACTION_IF_LT},  {">", DJPROBE_ACTION_IF_GT},
};

std::string_view trim(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";  // a script may break it into lines
    const auto first = text.find_first_not_of(kSpace);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// Whether an operand can have this value at all; `negative`: it was written with a minus.
bool fits(std::uint64_t value, bool negative, const Operand& operand) {
    if (operand.width == 8) return negative || !operand.is_signed || value >> 63U == 0;
    const unsigned int bits = 8U * operand.width;
    if (!operand.is_signed) return value >> bits == 0;
    const auto number = static_cast<std::int64_t>(value);
    const std::int64_t limit = std::int64_t{1} << (bits - 1);
    return number >= -limit && number < limit;
}

/// Where the comparison begins: not within the arrow of C.
std::size_t find_comparison(std::string_view text) {
    std::size_t at = text.find_first_of("=!<>");
    while (at != text.npos && at > 0 && text.substr(at - 1).starts_with("->"))
        at = text.find_first_of("=!<>", at + 1);
    return at;
}

/// "'4096 < count'" is "count > 4096".
void refuse_number_first(std::string_view text, std::string_view name, std::string_view comparison,
                         std::string_view other) {
    if (name.empty() || !parse_unsigned(name.substr(name.starts_with('-') ? 1 : 0))) return;
    std::string mirrored(comparison);
    if (mirrored.front() == '<' || mirrored.front() == '>')
        mirrored.front() = mirrored.front() == '<' ? '>' : '<';
    fail(ExitCode::kUsage, "--if: '{}': the operand comes first: write '{} {} {}'", text, other,
         mirrored, name);
}

djprobe_action parse_condition(std::string_view text, const SiteSpec& site,
                               Prototypes& prototypes) {
    if (text.find("||") != text.npos)
        fail(ExitCode::kUsage,
             "--if: '{}': comparisons are joined by && only; --if of trace has ||", text);
    const std::size_t at = find_comparison(text);
    for (const auto& [word, operation] : kComparisons) {
        if (at == text.npos || !text.substr(at).starts_with(word)) continue;
        const std::string_view name = trim(text.substr(0, at));
        std::string_view number = trim(text.substr(at + word.size()));
        if (number.empty())
            fail(ExitCode::kUsage, "--if: '{}': a number is missing behind '{}'", text, word);
        refuse_number_first(text, name, word, number);
        Operand operand = find_operand(name, site, prototypes);
        const bool negative = number.starts_with('-');
        const auto value = parse_unsigned(number.substr(negative ? 1 : 0));
        if (!value || (negative && *value > std::uint64_t{1} << 63U))
            fail(ExitCode::kUsage, "--if: '{}': '{}' is no number of 64 bits", text, number);
        if (negative) operand.is_signed = true;
        djprobe_action action = action_of(operation, operand);
        action.value = negative ? 0 - *value : *value;
        if (!fits(action.value, negative, operand))
            fail(ExitCode::kUsage, "--if: '{}': '{}' has {} bytes, which never hold {}", text, name,
                 operand.width, number);
        return action;
    }
    fail(ExitCode::kUsage,
         "--if: '{}' is no comparison: write one like 'count > 4096', with == != < <= > or >=",
         text);
}

}  // namespace

djprobe_action action_of(djprobe_action_operation operation, const Operand& operand) {
    djprobe_action action = {};
    action.operation = static_cast<std::uint8_t>(operation);
    action.reg = operand.reg;
    action.width = operand.width;
    action.flags = operand.is_signed ? DJPROBE_ACTION_SIGNED : 0;
    if (!operand.displacement) return action;
    action.flags |= DJPROBE_ACTION_MEMORY;
    const bool compares = operation >= DJPROBE_ACTION_IF_EQ && operation <= DJPROBE_ACTION_IF_GE;
    if (compares)
        action.offset = static_cast<std::uint32_t>(*operand.displacement);
    else
        action.value = static_cast<std::uint64_t>(std::int64_t{*operand.displacement});
    return action;
}

std::vector<djprobe_action> parse_conditions(std::string_view text, const SiteSpec& site,
                                             Prototypes& prototypes) {
    std::vector<djprobe_action> actions;
    const std::string_view whole = text;
    for (std::size_t end = 0; end != text.npos;
         text.remove_prefix(end == text.npos ? 0 : end + 2)) {
        end = text.find("&&");
        const std::string_view one = trim(text.substr(0, end));
        if (one.empty() && whole.find("&&") != whole.npos)
            fail(ExitCode::kUsage, "--if: '{}': a comparison is missing beside '&&'", whole);
        actions.push_back(parse_condition(one, site, prototypes));
    }
    if (actions.size() > kMostConditions)
        fail(ExitCode::kUsage, "--if: {} comparisons, more than {}", actions.size(),
             kMostConditions);
    return actions;
}

}  // namespace djprobe::loader
