// SPDX-License-Identifier: GPL-2.0
#include "kernel/reason.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/descriptors.h"
#include "kernel/glob.h"
#include "kernel/pt_regs.h"
#include "kernel/rights.h"
#include "kernel/similar_names.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kCandidates = 8;

struct Word {
    const char* name;
    const char* text;
    djprobe_detail detail;
};

const Word* find_word(std::uint32_t number) {
    static constexpr Word kUnknown{nullptr, nullptr, DJPROBE_DETAIL_NONE};
    switch (number) {
#define DJPROBE_REASON_WORD(number, NAME, name, text, detail)             \
    case number: {                                                        \
        static constexpr Word kWord{name, text, DJPROBE_DETAIL_##detail}; \
        return &kWord;                                                    \
    }
        DJPROBE_REASONS(DJPROBE_REASON_WORD)
#undef DJPROBE_REASON_WORD
    }
    return &kUnknown;
}

std::string at(std::uint64_t address, Symbolizer& symbolizer) {
    return fmt::format(" (at {})", symbolizer.describe(address));
}

std::string from_to(std::uint64_t from, std::uint64_t to, Symbolizer& symbolizer) {
    if (!from) return at(to, symbolizer);
    if (!to) return at(from, symbolizer);
    return fmt::format(" ({} -> {})", symbolizer.describe(from), symbolizer.describe(to));
}

std::string at_why(std::uint64_t address, std::uint64_t why, Symbolizer& symbolizer) {
    const Word* word = find_word(static_cast<std::uint32_t>(why));
    return fmt::format(" (at {}: {})", symbolizer.describe(address),
                       word->text ? word->text : "for a reason newer than this loader");
}

/// As uapi/djprobe_action.h spells it behind DJPROBE_ACTION_.
std::string operation_name(std::uint64_t operation) {
    constexpr const char* kNames[] = {"",      "COUNT", "ADD",   "LOG2",   "IF_EQ",
                                      "IF_NE", "IF_LT", "IF_LE", "IF_GT",  "IF_GE",
                                      "MAX",   "MIN",   "TIME",  "ELAPSED"};
    const bool is_known = operation > 0 && operation < std::size(kNames);
    return is_known ? kNames[operation] : fmt::format("operation {}", operation);
}

/// "0x44(%rdi):4", as a user names it.
std::string memory_operand(const djprobe_action& action) {
    const bool compares =
        action.operation >= DJPROBE_ACTION_IF_EQ && action.operation <= DJPROBE_ACTION_IF_GE;
    const auto displacement = static_cast<std::int32_t>(
        compares ? action.offset : static_cast<std::uint32_t>(action.value));
    const auto distance = std::int64_t{displacement};
    std::string text =
        distance < 0 ? fmt::format("-{:#x}", -distance) : fmt::format("{:#x}", distance);
    if (distance == 0) text.clear();
    text += fmt::format("(%{})", pt_reg_of_instructions(action.reg).whole);
    if (action.width != 8) text += fmt::format(":{}", action.width);
    return text;
}

/// Which action, or where it is known what the user has named, that; and what to do.
std::string describe_action(const AbiReason& reason) {
    const auto& [index, operation] = reason.detail;
    const bool is_memory = reason.action && reason.action->flags & DJPROBE_ACTION_MEMORY;
    std::string text = is_memory ? fmt::format(" ({})", memory_operand(*reason.action))
                                 : fmt::format(" (action {} of the list, {})", index + 1,
                                               operation_name(operation));
    if (reason.number == DJPROBE_REASON_OPERAND_MAY_FAULT)
        text +=
            ": 'probeload count --blocks' shows what instructions read, 'probeload trace' reads "
            "such memory by a program";
    return text;
}

/// What detail[] adds to the sentence.
std::string describe_detail(const AbiReason& reason, Symbolizer& symbolizer) {
    const auto& [first, second] = reason.detail;
    // The reason has none, or kptr_restrict hides the addresses.
    if (first == 0 && second == 0) return "";
    switch (find_word(reason.number)->detail) {
        case DJPROBE_DETAIL_NONE:
            return "";
        case DJPROBE_DETAIL_AT:
            return at(first, symbolizer);
        case DJPROBE_DETAIL_FROM_TO:
            return from_to(first, second, symbolizer);
        case DJPROBE_DETAIL_NAMESAKES:
            return fmt::format(": {:#x}, {:#x}", first, second);
        case DJPROBE_DETAIL_EXTENT:
            return fmt::format(", which is {:#x} bytes long", second - first);
        case DJPROBE_DETAIL_NEAREST:
            return fmt::format("; the nearest are {} and {}", symbolizer.describe(first),
                               symbolizer.describe(second));
        case DJPROBE_DETAIL_AT_WHY:
            return at_why(first, second, symbolizer);
        case DJPROBE_DETAIL_ATTACH_TYPE:
            return fmt::format(" (expected attach type {})", first);
        case DJPROBE_DETAIL_ACTION:
            return describe_action(reason);
    }
    return "";
}

ExitCode exit_code(std::uint32_t number, int error) {
    switch (number) {
        case DJPROBE_REASON_NO_SUCH_SYMBOL:
        case DJPROBE_REASON_AMBIGUOUS_SYMBOL:
        case DJPROBE_REASON_PAST_END:
        case DJPROBE_REASON_NOT_BOUNDARY:
            return ExitCode::kNoSuchSite;
        case DJPROBE_REASON_FOREIGN_PATCH:
        case DJPROBE_REASON_OVERLAP:
        case DJPROBE_REASON_MODULE_LEAVING:
        case DJPROBE_REASON_MODULE_GONE:
            return ExitCode::kBusySite;
        case DJPROBE_REASON_NO_MEMORY:
        case DJPROBE_REASON_INTERRUPTED:
            return ExitCode::kFailure;
        // The program is not at fault, though the module answers so before it looks for a site.
        case DJPROBE_REASON_NO_SHADOW:
            return ExitCode::kRefusedSite;
        case DJPROBE_REASON_LOCKDOWN:
        case DJPROBE_REASON_ADDRESSES_HIDDEN:
            return ExitCode::kNoPermission;
        case DJPROBE_REASON_NONE:
            return error == EPERM || error == EACCES ? ExitCode::kNoPermission : ExitCode::kFailure;
        default:
            return number >= DJPROBE_REASON_FIRST_REQUEST ? ExitCode::kWrongProgram
                                                          : ExitCode::kRefusedSite;
    }
}

std::string no_such_symbol(const SiteSpec& site, Symbolizer& symbolizer) {
    const Kallsyms& kallsyms = symbolizer.kallsyms();
    if (const std::string module = missing_module(kallsyms, site.symbol); !module.empty())
        return fmt::format("{}: {}", site.symbol, module);
    std::string message = fmt::format("{}: no such function", site.symbol);
    const std::string hint = hint_at(kallsyms, site.symbol);
    if (!hint.empty()) return message + hint;
    return fmt::format("{} among the symbols of {} (inlined everywhere, or of a module?)", message,
                       symbolizer.kernel());
}

// "m_start (0xffffffff81234560, _text+0x234560)": the second outlives a boot.
std::string place_words(const Symbol& symbol, const Kallsyms& kallsyms) {
    const std::vector<Symbol> text = kallsyms.find(kTextSymbol);
    const bool is_counted = symbol.module.empty() && text.size() == 1 && symbol.address != 0;
    return fmt::format(
        "{} ({:#x}{})", symbol.qualified_name(), symbol.address,
        is_counted ? fmt::format(", {}+{:#x}", kTextSymbol, symbol.address - text.front().address)
                   : "");
}

std::string ambiguous_symbol(const SiteSpec& site, const AbiReason& reason,
                             Symbolizer& symbolizer) {
    std::vector<std::string> candidates;
    const auto symbols = symbolizer.kallsyms().find(site.symbol);
    for (const Symbol& symbol : symbols) {
        if (candidates.size() == kCandidates) break;
        candidates.push_back(place_words(symbol, symbolizer.kallsyms()));
    }
    if (candidates.empty()) {
        for (const std::uint64_t address : reason.detail) {
            candidates.push_back(fmt::format("{:#x}", address));
        }
    } else if (candidates.size() < symbols.size()) {
        candidates.push_back(fmt::format("{} more", symbols.size() - candidates.size()));
    }
    return fmt::format(
        "{}: several functions have this name: {}; name one by its place: _text+OFFSET, or "
        "0xADDRESS (of attach and explain --address); trace also takes FILE:LINE",
        site.symbol, fmt::join(candidates, ", "));
}

}  // namespace

std::string reason_name(std::uint32_t number) {
    const Word* word = find_word(number);
    return word->name ? word->name : fmt::format("reason-{}", number);
}

std::string describe_reason(const AbiReason& reason, Symbolizer& symbolizer) {
    const Word* word = find_word(reason.number);
    if (!word->text) return fmt::format("reason {}, newer than this probeload", reason.number);
    return word->text + describe_detail(reason, symbolizer);
}

Error refusal(const SiteSpec& site, std::string_view program, const AbiReason& reason, int error,
              Symbolizer& symbolizer) {
    // The module takes any symbol's address, and then finds no text there.
    if (reason.number == DJPROBE_REASON_NOT_TEXT && !site.symbol.empty() &&
        is_data(symbolizer.kallsyms(), site.symbol))
        return refusal(site, program, {DJPROBE_REASON_NO_SUCH_SYMBOL}, error, symbolizer);
    const ExitCode code = exit_code(reason.number, error);
    if (reason.number == DJPROBE_REASON_NONE) {
        if (code == ExitCode::kNoPermission) {
            return {code, fmt::format("{}: not permitted: {}", site.str(), why_denied(kToProbe))};
        }
        const bool may_be_pattern = !site.is_glob() && !site.symbol.empty() && site.offset == 0;
        if (error == EMFILE)
            return {code, fmt::format("{}: {}{}", site.str(), out_of_descriptors(),
                                      may_be_pattern ? ", or name functions by a pattern" : "")};
        const char* const what = program.empty() ? "the module gives no verdict" : "cannot attach";
        return {code, fmt::format("{}: {}: {}", site.str(), what, std::strerror(error))};
    }
    if (reason.number == DJPROBE_REASON_NO_SUCH_SYMBOL) {
        return {code, no_such_symbol(site, symbolizer)};
    }
    if (reason.number == DJPROBE_REASON_AMBIGUOUS_SYMBOL) {
        return {code, ambiguous_symbol(site, reason, symbolizer)};
    }
    std::string text = describe_reason(reason, symbolizer);
    if (reason.number == DJPROBE_REASON_TAIL_CALL)
        text += "; --ret-mode shadow sees those returns, too";
    if (code == ExitCode::kWrongProgram) {
        return {code, fmt::format("program '{}': {}", program, text)};
    }
    if (code == ExitCode::kRefusedSite) {
        return {code, fmt::format("{}: refused: {}", site.str(), text)};
    }
    return {code, fmt::format("{}: {}", site.str(), text)};
}

void check_symbol(const SiteSpec& site, Symbolizer& symbolizer) {
    if (site.is_glob() || site.symbol.empty()) return;
    const Kallsyms& kallsyms = symbolizer.kallsyms();
    if (!kallsyms.symbols().empty() && kallsyms.find(site.symbol).empty())
        throw refusal(site, "", {DJPROBE_REASON_NO_SUCH_SYMBOL}, ENOENT, symbolizer);
}

}  // namespace djprobe::loader
