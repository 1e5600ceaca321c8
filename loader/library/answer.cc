// SPDX-License-Identifier: GPL-2.0
#include "library/answer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/progress.h"
#include "trace/columns.h"
#include "trace/prepare.h"
#include "trace/trace_checks.h"
#include "trace/types.h"

namespace djprobe::loader {
namespace {

// A later version's struct is longer; what it has more must not be asked for.
probeload_question known_part(const probeload_question& question, std::size_t size) {
    if (size < sizeof(void*) || size > 4096)
        fail(ExitCode::kUsage, "size {} is not that of a struct probeload_question", size);
    probeload_question known{};
    std::memcpy(&known, &question, std::min(size, sizeof known));
    if (size <= sizeof known) return known;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&question);
    const std::span more(bytes + sizeof known, size - sizeof known);
    if (std::ranges::any_of(more, [](std::byte one) { return one != std::byte{0}; }))
        fail(ExitCode::kUsage, "the question has parts that this version of libprobeload lacks");
    return known;
}

TraceOptions options_of(const probeload_question& asked) {
    constexpr unsigned int kKnown =
        PROBELOAD_INLINED | PROBELOAD_KERNEL_STACK | PROBELOAD_USER_STACK;
    if (!asked.place) fail(ExitCode::kUsage, "the question's place is null");
    if ((asked.flags & ~kKnown) != 0)
        fail(ExitCode::kUsage, "flags {:#x} are not all known", asked.flags);
    TraceOptions options;
    options.attach.backend = Backend::kDjprobe;
    options.style = Style::kJson;
    Question& question = options.question;
    parse_place(asked.place, question);
    question.inlined = (asked.flags & PROBELOAD_INLINED) != 0;
    question.kernel_stack = (asked.flags & PROBELOAD_KERNEL_STACK) != 0;
    question.user_stack = (asked.flags & PROBELOAD_USER_STACK) != 0;
    const auto is_given = [](const char* text) { return text && *text != '\0'; };
    if (is_given(asked.expressions)) question.items = asked.expressions;
    if (is_given(asked.condition)) question.condition = asked.condition;
    if (is_given(asked.columns)) question.columns = parse_columns(asked.columns);
    if (is_given(asked.debuginfo)) options.debuginfo = asked.debuginfo;
    return options;
}

}  // namespace

Answer::Answer(const probeload_question& question, std::size_t size)
    : options_(options_of(known_part(question, size))) {
    Progress::silence();
    check_trace(options_);
    Types types = Types::read(options_.types, options_.question.module());
    program_ = prepare(options_, types, [&](const std::string& line) { left_out_ += line + '\n'; });
    attach_ = attach_options(options_, program_,
                             compile_program(program_, types, directory_, Process::kCallers));
}

PrintRecord Answer::json(const btf& types, Symbolizer& symbolizer) const {
    const auto columns = std::make_shared<Columns>(
        types, program_.fields, ColumnsStyle{Style::kJson}, options_.question.place(), symbolizer);
    return [=](Buffer& out, std::span<const std::byte> record) { columns->print(out, record); };
}

}  // namespace djprobe::loader
