// SPDX-License-Identifier: GPL-2.0
#include "object/filter_handlers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "object/program.h"

namespace djprobe::loader {
namespace {

// libbpf hands our word back as a number.
const Filters& filters_of(long cookie) {
    return *reinterpret_cast<const Filters*>(cookie);  // NOLINT(performance-no-int-to-ptr)
}

// What the kernel is told of a program's functions or lines: records whose first field is the
// instruction's number, of a size that the object's file names. libbpf keeps the originals.
class Shifted {
  public:
    const void* shift(const void* records, __u32 count, __u32 size, std::size_t by) {
        const auto* const from = static_cast<const std::byte*>(records);
        copy_.assign(from, from + std::size_t{count} * size);
        // The first one stays where the program begins.
        for (std::size_t i = 1; i < count; ++i) {
            __u32 at = 0;
            std::memcpy(&at, &copy_[i * size], sizeof at);
            at += static_cast<__u32>(by);
            std::memcpy(&copy_[i * size], &at, sizeof at);
        }
        return copy_.data();
    }

  private:
    std::vector<std::byte> copy_;
};

// Jumps and calls are relative: what moves as a whole stays right.
int put_in_front(bpf_program* program, bpf_prog_load_opts* options, long cookie) {
    std::vector<bpf_insn> code = filter_code(filters_of(cookie).of(bpf_program__name(program)));
    if (code.empty()) return 0;
    const std::size_t by = code.size();
    // One by one: of insert() at the end GCC 14 warns that it overflows.
    const std::span own(bpf_program__insns(program), bpf_program__insn_cnt(program));
    std::ranges::copy(own, std::back_inserter(code));
    // Until the next program is loaded, by this thread.
    static thread_local Shifted functions, lines;
    if (options->func_info_cnt != 0)
        options->func_info = functions.shift(options->func_info, options->func_info_cnt,
                                             options->func_info_rec_size, by);
    if (options->line_info_cnt != 0)
        options->line_info = lines.shift(options->line_info, options->line_info_cnt,
                                         options->line_info_rec_size, by);
    return bpf_program__set_insns(program, code.data(), code.size());
}

std::string place_of(const bpf_program* program) {
    return std::string(place_of_section(bpf_program__section_name(program)));
}

int finish(bpf_link* made, bpf_link** link) {
    *link = made;
    return made ? 0 : -errno;
}

int attach_tracepoint(const bpf_program* program, long, bpf_link** link) {
    const std::string place = place_of(program);
    const std::size_t slash = place.find('/');
    if (slash == place.npos) return 0;  // libbpf's word for what it cannot attach by itself
    return finish(bpf_program__attach_tracepoint(program, place.substr(0, slash).c_str(),
                                                 place.substr(slash + 1).c_str()),
                  link);
}

int attach_raw_tracepoint(const bpf_program* program, long, bpf_link** link) {
    const std::string place = place_of(program);
    if (place.empty()) return 0;
    return finish(bpf_program__attach_raw_tracepoint(program, place.c_str()), link);
}

int attach_typed(const bpf_program* program, long, bpf_link** link) {
    return finish(bpf_program__attach_trace(program), link);
}

struct Kind {
    std::string_view section;
    bpf_prog_type type;
    bpf_attach_type attach_type;
    libbpf_prog_attach_fn_t attach;
};

// None: an attachment of djprobe's.
constexpr Kind kKinds[] = {
    {"kprobe", BPF_PROG_TYPE_KPROBE, {}, nullptr},
    {"kretprobe", BPF_PROG_TYPE_KPROBE, {}, nullptr},
    {"kprobe.multi", BPF_PROG_TYPE_KPROBE, {}, nullptr},
    {"kretprobe.multi", BPF_PROG_TYPE_KPROBE, {}, nullptr},
    {"ksyscall", BPF_PROG_TYPE_KPROBE, {}, nullptr},
    {"kretsyscall", BPF_PROG_TYPE_KPROBE, {}, nullptr},
    {"tp", BPF_PROG_TYPE_TRACEPOINT, {}, attach_tracepoint},
    {"tracepoint", BPF_PROG_TYPE_TRACEPOINT, {}, attach_tracepoint},
    {"raw_tp", BPF_PROG_TYPE_RAW_TRACEPOINT, {}, attach_raw_tracepoint},
    {"raw_tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT, {}, attach_raw_tracepoint},
    {"tp_btf", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, attach_typed},
    {"fentry", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, attach_typed},
    {"fexit", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, attach_typed},
};

}  // namespace

FilterHandlers::FilterHandlers(const Filters& filters) {
    for (const Kind& kind : kKinds) {
        LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = reinterpret_cast<long>(&filters),
                    .prog_prepare_load_fn = put_in_front, .prog_attach_fn = kind.attach);
        // With or without a place behind a slash.
        const std::string section = std::string(kind.section) + '+';
        const int handler =
            libbpf_register_prog_handler(section.c_str(), kind.type, kind.attach_type, &options);
        if (handler < 0)
            fail(ExitCode::kFailure, "filter: libbpf takes no programs of {}: {}", kind.section,
                 std::strerror(-handler));
        handlers_.push_back(handler);
    }
}

FilterHandlers::~FilterHandlers() {
    for (const int handler : handlers_)
        libbpf_unregister_prog_handler(handler);
}

bool is_filtered_section(std::string_view type) {
    return std::ranges::find(kKinds, type, &Kind::section) != std::end(kKinds);
}

}  // namespace djprobe::loader
