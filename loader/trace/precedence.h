// SPDX-License-Identifier: GPL-2.0
// Which operator of C binds more.
#pragma once

#include <string_view>

namespace djprobe::loader {

inline constexpr int kConditionBinds = 1;
inline constexpr int kUnaryBinds = 12;
inline constexpr int kPostfixBinds = 13;

/// Of a binary operator, from 2 for || to 11 for *; 0: it is none.
constexpr int binds(std::string_view sign) {
    constexpr struct {
        std::string_view sign;
        int binds;
    } kOperators[] = {{"||", 2}, {"&&", 3}, {"|", 4},  {"^", 5},  {"&", 6},  {"==", 7},
                      {"!=", 7}, {"<", 8},  {">", 8},  {"<=", 8}, {">=", 8}, {"<<", 9},
                      {">>", 9}, {"+", 10}, {"-", 10}, {"*", 11}, {"/", 11}, {"%", 11}};
    for (const auto& one : kOperators)
        if (one.sign == sign) return one.binds;
    return 0;
}

}  // namespace djprobe::loader
