// SPDX-License-Identifier: GPL-2.0
#include "trace/kept_results.h"

#include <algorithm>

namespace djprobe::loader {

std::vector<Result> kept_results(const TraceOptions& options, const TraceProgram& program,
                                 const bpf_object* object, std::size_t most,
                                 Symbolizer& symbolizer) {
    const Aggregation& results = *options.question.aggregation;
    return read_results(
        {object, program.fields, results.kind, program.value_is_signed, results.linear}, most,
        symbolizer);
}

bool names_symbols(const TraceProgram& program) {
    return std::ranges::any_of(program.fields, [](const Field& field) {
        return field.shape == Shape::kSymbol || field.shape == Shape::kFunction ||
               field.shape == Shape::kStack;
    });
}

TableStyle table_style(const TraceOptions& options, const TraceProgram& program, bool colours) {
    const Aggregation& results = *options.question.aggregation;
    return {options.style,  options.folded,
            results.kind,   program.value_is_signed,
            program.fields, results.value == "latency" ? "nanoseconds" : "",
            colours,        results.linear};
}

}  // namespace djprobe::loader
