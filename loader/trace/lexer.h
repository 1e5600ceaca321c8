// SPDX-License-Identifier: GPL-2.0
// The words of a C expression.
#pragma once

#include <string_view>

#include "trace/caret.h"

namespace djprobe::loader {

enum class TokenKind { kName, kNumber, kCharacter, kOperator, kEnd };

struct Token {
    TokenKind kind = TokenKind::kEnd;
    std::string_view text;
    Span span;

    [[nodiscard]] bool is(std::string_view sign) const {
        return kind == TokenKind::kOperator && text == sign;
    }
};

/// The first word at or behind `at`. Throws Error(kUsage) for what no expression has.
Token next_token(std::string_view text, std::size_t at);

}  // namespace djprobe::loader
