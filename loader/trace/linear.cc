// SPDX-License-Identifier: GPL-2.0
#include "trace/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "trace/caret.h"

namespace djprobe::loader {
namespace {

// The value of a hash for each CPU: a histogram has as much room as one by powers of two.
constexpr std::uint32_t kMostSlots = 64;
// Ranges and their differences fit 64 bits with a sign.
constexpr std::int64_t kLargest = std::int64_t{1} << 62;

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (number > kLargest || number < -kLargest) return std::nullopt;
    return number;
}

// "a,b,n"
std::optional<std::array<std::int64_t, 3>> three_numbers(std::string_view text) {
    std::array<std::int64_t, 3> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t comma = text.find(',');
        if ((comma == text.npos) != (i == 2)) return std::nullopt;
        const auto number = whole_number(trim(text.substr(0, comma)));
        if (!number) return std::nullopt;
        numbers.at(i) = *number;
        text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    }
    return numbers;
}

}  // namespace

std::uint64_t Linear::step() const {
    const auto range = static_cast<std::uint64_t>(to - from);
    return (range + slots - 1) / slots;
}

std::int64_t Linear::least(std::size_t slot) const {
    return from + static_cast<std::int64_t>(slot * step());
}

std::int64_t Linear::most(std::size_t slot) const {
    return std::min(least(slot + 1), to) - 1;
}

std::string Linear::str() const {
    return fmt::format("linear({},{},{})", from, to, slots);
}

std::optional<Linear> take_linear(std::string& expression) {
    const std::string_view all = expression;
    const std::size_t colon = all.rfind(':');
    if (colon == all.npos) return std::nullopt;
    const std::string_view form = trim(all.substr(colon + 1));
    if (!form.starts_with("linear")) return std::nullopt;
    const Span span{static_cast<std::size_t>(form.data() - all.data()), form.size()};
    std::string_view inner = trim(form.substr(std::string_view("linear").size()));
    const bool is_call = inner.size() > 1 && inner.front() == '(' && inner.back() == ')';
    const auto numbers = is_call ? three_numbers(inner.substr(1, inner.size() - 2)) : std::nullopt;
    if (!numbers)
        fail_at(expression, span,
                "write it as :linear(FROM,TO,STEPS), with whole numbers: :linear(0,4096,16)");
    const auto [from, to, slots] = *numbers;
    if (from >= to) fail_at(expression, span, "its first number must be below the second");
    if (slots < 1 || slots > kMostSlots)
        fail_at(expression, span, fmt::format("it has 1 to {} steps", kMostSlots));
    const Linear linear{from, to, static_cast<std::uint32_t>(std::min(slots, to - from))};
    expression.resize(colon);
    return linear;
}

}  // namespace djprobe::loader
