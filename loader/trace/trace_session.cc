// SPDX-License-Identifier: GPL-2.0
#include "trace/trace_session.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/error.h"
#include "base/output.h"
#include "base/temp_dir.h"
#include "session/attach_session.h"
#include "trace/compiled.h"
#include "trace/header.h"
#include "trace/program.h"
#include "trace/types.h"

namespace djprobe::loader {
namespace {

bool is_object(const std::filesystem::path& file) {
    return file.extension() == ".o";
}

void write_source(const std::filesystem::path& file, const std::string& source) {
    if (file == "-") return Output(STDOUT_FILENO).print(source);
    std::ofstream stream(file);
    stream << source;
    if (!stream.flush())
        fail(ExitCode::kFailure, "--emit: {}: {}", file.string(), std::strerror(errno));
}

void write_object(const std::filesystem::path& file, const std::filesystem::path& object) {
    std::error_code error;
    std::filesystem::copy_file(object, file, std::filesystem::copy_options::overwrite_existing,
                               error);
    if (error) fail(ExitCode::kFailure, "--emit: {}: {}", file.string(), error.message());
}

}  // namespace

int run_trace(const TraceOptions& options) {
    Types types = Types::read(options.types, options.question.module());
    const TraceProgram program = write_program(options.question, types);
    if (options.emit && !is_object(*options.emit)) {
        write_source(*options.emit, program.source);
        return 0;
    }
    std::optional<TempDir> directory(std::in_place);
    AttachOptions attach = options.attach;
    attach.file = compiled(program.source, trace_header(types, program.types), *directory);
    if (options.emit) {
        write_object(*options.emit, attach.file);
        return 0;
    }
    attach.session = program.is_session;
    Symbolizer symbolizer;
    const auto printer = [&](const btf& of) -> PrintRecord {
        const auto columns = std::make_shared<Columns>(of, program.fields, options.style,
                                                       options.question.function(), symbolizer);
        return [columns](Buffer& out, std::span<const std::byte> record) {
            columns->print(out, record);
        };
    };
    return run_attach(attach, {printer});
}

}  // namespace djprobe::loader
