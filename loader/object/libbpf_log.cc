// SPDX-License-Identifier: GPL-2.0
#include "object/libbpf_log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <utility>

namespace djprobe::loader {
namespace {

// libbpf has one print function for all threads.
std::mutex installing;
int alive = 0;
std::atomic<libbpf_print_fn_t> before{nullptr};
thread_local LibbpfLog* innermost = nullptr;

__attribute__((format(printf, 2, 0))) int capture(libbpf_print_level level, const char* format,
                                                  std::va_list arguments) {
    if (innermost) {
        innermost->take(level, format, arguments);
        return 0;
    }
    const libbpf_print_fn_t others = before;
    return others ? others(level, format, arguments) : 0;
}

constexpr std::string_view kBegin = "-- BEGIN PROG LOAD LOG --";

// Calls the function with each line.
template <typename Function>
void for_each_line(std::string_view text, Function&& function) {
    while (!text.empty()) {
        const std::size_t newline = text.find('\n');
        function(text.substr(0, newline));
        text.remove_prefix(newline == text.npos ? text.size() : newline + 1);
    }
}

bool is_statistics(std::string_view line) {
    constexpr std::string_view kWords[] = {"processed ", "verification time ", "stack depth ",
                                           "max_states_per_insn "};
    for (const std::string_view word : kWords) {
        if (line.starts_with(word)) return true;
    }
    return false;
}

}  // namespace

LibbpfLog::LibbpfLog(bool verbose) : verbose_(verbose), outer_(std::exchange(innermost, this)) {
    const std::lock_guard lock(installing);
    if (alive++ == 0) before = libbpf_set_print(capture);
}

LibbpfLog::~LibbpfLog() {
    innermost = outer_;
    const std::lock_guard lock(installing);
    if (--alive == 0) libbpf_set_print(before);
}

void LibbpfLog::take(libbpf_print_level level, const char* format, std::va_list arguments) {
    if (level == LIBBPF_DEBUG && !verbose_) return;
    char* line = nullptr;
    if (vasprintf(&line, format, arguments) < 0) return;
    if (verbose_) std::fputs(line, stderr);
    if (level == LIBBPF_WARN) text_ += line;
    std::free(line);
}

std::string rejected_program(std::string_view log) {
    constexpr std::string_view kProgram = "prog '";
    const std::size_t before = log.rfind(kProgram, log.rfind(kBegin));
    if (before == log.npos) return "?";
    log.remove_prefix(before + kProgram.size());
    return std::string(log.substr(0, log.find('\'')));
}

std::string verifier_tail(std::string_view log, std::size_t count) {
    constexpr std::string_view kEnd = "-- END PROG LOAD LOG --";
    constexpr std::string_view kReport = "\nVerification failed: ";
    const std::size_t begin = log.rfind(kBegin);
    if (begin == log.npos) return "";
    std::string_view body = log.substr(begin + kBegin.size());
    body = body.substr(0, body.find(kEnd));
    // It is about the message before it, and ends in a suggestion.
    if (const std::string_view before = body.substr(0, body.rfind(kReport));
        before.find_first_not_of('\n') != before.npos)
        body = before;

    std::deque<std::string_view> lines;
    for_each_line(body, [&](std::string_view line) {
        if (line.empty() || is_statistics(line)) return;
        lines.push_back(line);
        if (lines.size() > count) lines.pop_front();
    });
    std::string tail;
    for (const std::string_view line : lines) {
        if (!tail.empty()) tail += '\n';
        tail += line;
    }
    return tail;
}

std::string first_warning(std::string_view log) {
    std::string found;
    for_each_line(log, [&](std::string_view line) {
        constexpr std::string_view kPrefix = "libbpf: ";
        if (found.empty() && line.starts_with(kPrefix)) found = line.substr(kPrefix.size());
    });
    return found;
}

}  // namespace djprobe::loader
