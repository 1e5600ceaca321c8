// SPDX-License-Identifier: GPL-2.0
#include "library/answer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "library/asked.h"
#include "trace/columns.h"
#include "trace/linear.h"

namespace djprobe::loader {
namespace {

// "sum retval": what is kept, and of which value.
Aggregation aggregation_of(const std::string& text) {
    using Kind = Aggregation::Kind;
    static const std::map<std::string, Kind, std::less<>> kinds = {
        {"count", Kind::kCount},      {"sum", Kind::kSum},  {"avg", Kind::kAverage},
        {"min", Kind::kLeast},        {"max", Kind::kMost}, {"hist", Kind::kHistogram},
        {"latency", Kind::kHistogram}};
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string word = text.substr(0, space);
    const auto kind = kinds.find(word);
    if (kind == kinds.end())
        fail(ExitCode::kUsage,
             "result '{}': it begins with count, sum, avg, min, max, hist or latency", text);
    Aggregation found{kind->second};
    found.value = word == "latency" ? word : text.substr(std::min(space + 1, text.size()));
    const bool takes_none = kind->second == Kind::kCount || word == "latency";
    if (takes_none && space != text.size())
        fail(ExitCode::kUsage, "result '{}': {} takes no expression", text, word);
    if (kind->second == Kind::kHistogram) found.linear = take_linear(found.value);
    if (!takes_none && found.value.empty())
        fail(ExitCode::kUsage, "result '{}': write {} EXPRESSION", text, word);
    return found;
}

void add_result(const probeload_question& asked, Question& question) {
    if (!is_given(asked.result)) {
        if (is_given(asked.by)) fail(ExitCode::kUsage, "by '{}': is for a result", asked.by);
        if (question.is_glob())
            fail(ExitCode::kUsage, "{}: events are those of one function: ask for a result",
                 question.function());
        return;
    }
    if (is_given(asked.expressions) || is_given(asked.columns))
        fail(ExitCode::kUsage, "expressions and columns are for events, and a result has none");
    question.aggregation = aggregation_of(asked.result);
    if (is_given(asked.by)) question.aggregation->keys = asked.by;
    if (asked.result == std::string_view("latency")) {
        if (question.is_within())
            fail(ExitCode::kUsage, "{}: a latency is of calls of a whole function", asked.place);
        question.at_returns = true;
    }
}

TraceOptions options_of(const probeload_question& asked) {
    if (!asked.place) fail(ExitCode::kUsage, "the question's place is null");
    if (is_given(asked.to)) fail(ExitCode::kUsage, "to '{}': is for probeload_measure()", asked.to);
    check_flags(asked,
                PROBELOAD_INLINED | PROBELOAD_KERNEL_STACK | PROBELOAD_USER_STACK | kTaskFlags);
    TraceOptions options;
    options.attach.backend = Backend::kDjprobe;
    options.style = Style::kJson;
    Question& question = options.question;
    parse_place(asked.place, question);
    question.inlined = (asked.flags & PROBELOAD_INLINED) != 0;
    question.kernel_stack = (asked.flags & PROBELOAD_KERNEL_STACK) != 0;
    question.user_stack = (asked.flags & PROBELOAD_USER_STACK) != 0;
    if (is_given(asked.expressions)) question.items = asked.expressions;
    if (is_given(asked.condition)) question.condition = asked.condition;
    if (is_given(asked.columns)) question.columns = parse_columns(asked.columns);
    if (is_given(asked.debuginfo)) options.debuginfo = asked.debuginfo;
    question.filters = task_filters(asked);
    const bool is_part = question.line || question.at_returns || question.site.offset;
    if (question.inlined && (is_part || question.is_glob()))
        fail(ExitCode::kUsage, "{}: PROBELOAD_INLINED is for the name of one function",
             asked.place);
    add_result(asked, question);
    return options;
}

}  // namespace

Answer::Answer(const probeload_question& question, std::size_t size)
    : trace_(prepare(options_of(known_part(question, size)),
                     [&](const std::string& line) { left_out_ += line + '\n'; })),
      object_(compile_program(trace_, directory_, Process::kCallers)) {}

PrintRecord Answer::json(const btf& types, Symbolizer& symbolizer) const {
    const auto columns =
        std::make_shared<Columns>(types, trace_.program.fields, ColumnsStyle{Style::kJson},
                                  trace_.options.question.place(), symbolizer);
    return [=](Buffer& out, std::span<const std::byte> record) { columns->print(out, record); };
}

std::string Answer::results(const bpf_object* object, std::size_t most,
                            Symbolizer& symbolizer) const {
    if (has_events())
        fail(ExitCode::kUsage, "{}: the question asks for events, and for no result",
             trace_.options.question.place());
    std::string text =
        table_text(kept_results(trace_.options, trace_.program, object, most, symbolizer),
                   table_style(trace_.options, trace_.program, false));
    text.pop_back();  // its end
    return text;
}

}  // namespace djprobe::loader
