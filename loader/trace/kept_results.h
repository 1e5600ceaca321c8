// SPDX-License-Identifier: GPL-2.0
// The results of a prepared trace: how they are read, and how they look.
#pragma once

#include <bpf/libbpf.h>

#include <cstddef>
#include <vector>

#include "trace/program.h"
#include "trace/results.h"
#include "trace/table.h"
#include "trace/trace_options.h"

namespace djprobe::loader {

/// Of a question with an aggregation, once its program runs.
std::vector<Result> kept_results(const TraceOptions& options, const TraceProgram& program,
                                 const bpf_object* object, std::size_t most,
                                 Symbolizer& symbolizer);

/// Whether results or events name functions: the symbols are to be those of when it was attached.
bool names_symbols(const TraceProgram& program);

TableStyle table_style(const TraceOptions& options, const TraceProgram& program, bool colours);

}  // namespace djprobe::loader
