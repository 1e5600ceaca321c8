// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any text as what `probeload trace` is asked to show. It is refused, with a caret below
// the text, or reads the same when it is written out.
#include <cstring>

#include "base/error.h"
#include "require.h"
#include "trace/expression.h"
#include "trace/number.h"

namespace {

using namespace djprobe::loader;
using djprobe::test::require;

bool is_typedef(std::string_view word) {
    return word == "u32";
}

void look_at(const Expression& expression, std::string_view text) {
    require(expression.span.end() <= text.size(), "an expression is a part of its text");
    require(expression.mark.end() <= text.size(), "a word is a part of its text");
    if (expression.kind == Expression::Kind::kNumber)
        static_cast<void>(parse_number(expression.word));
    for (const Expression& child : expression.children)
        look_at(child, text);
}

// Parentheses make it nest deeper: what was near the limit may be beyond it.
void read_again(const std::string& text) {
    try {
        require(to_text(parse_expression(text, is_typedef)) == text, "it reads the same");
    } catch (const Error& error) {
        require(std::strstr(error.what(), "nests too deep"), "it reads at all");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        for (const Item& item : parse_items(text, is_typedef)) {
            look_at(item.expression, text);
            read_again(to_text(item.expression));
        }
    } catch (const Error& error) {
        require(error.code() == ExitCode::kUsage, "the user's own error");
        const std::string_view message = error.what();
        const std::size_t caret = message.size() - message.rfind('\n') - 1;
        require(message.ends_with('^') && caret <= text.size() + 3, "a caret below the text");
    }
    return 0;
}
