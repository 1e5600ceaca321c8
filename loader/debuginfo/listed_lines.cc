// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/listed_lines.h"

#include <algorithm>

#include "base/error.h"
#include "base/plural.h"
#include "base/say.h"
#include "debuginfo/debug_file.h"
#include "debuginfo/inlined_index.h"
#include "kernel/device.h"
#include "kernel/glob.h"
#include "kernel/kallsyms.h"
#include "kernel/similar_names.h"

namespace djprobe::loader {
namespace {

const char* how_probed(const djprobe_explain& answer) {
    // Its module is not loaded, or another one is.
    if (answer.reason == DJPROBE_REASON_NO_SUCH_SYMBOL) return "";
    switch (answer.verdict) {
        case DJPROBE_VERDICT_JUMP:
            return "jump";
        case DJPROBE_VERDICT_REFUSED:
            return "refused";
        default:
            return "int3";
    }
}

// The lines can be read without the module, too.
std::optional<Device> open_device() {
    try {
        return Device::open();
    } catch (const Error& error) {
        say("probeload: how the sites can be probed is not shown: {}\n", error.what());
        return std::nullopt;
    }
}

// The module that is named or, where only a module has such a function, that one; "" is the kernel.
std::string module_of(const std::string& symbol) {
    if (names_module(symbol)) return symbol.substr(0, symbol.find(':'));
    const Kallsyms kallsyms = Kallsyms::read();
    const std::vector<Symbol> found = kallsyms.find(symbol);
    const auto differs = [&](const Symbol& one) { return one.module != found.front().module; };
    const bool is_one = !found.empty() && std::ranges::none_of(found, differs);
    return is_one ? std::string(found.front().module) : "";
}

// The file, or why there is none. What is misspelt needs none.
std::string find_lines(const std::string& symbol, const std::optional<std::string>& debuginfo,
                       const std::string& module) {
    try {
        return find_debug_file(module, debuginfo);
    } catch (const Error&) {
        const Kallsyms kallsyms = Kallsyms::read();
        const std::string unloaded = missing_module(kallsyms, symbol);
        if (!unloaded.empty()) fail(ExitCode::kNoSuchSite, "{}: {}", symbol, unloaded);
        const std::string hint = hint_at(kallsyms, symbol);
        if (hint.empty() || !functions_like(kallsyms, symbol).empty()) throw;
        fail(ExitCode::kNoSuchSite, "{}: no such function{}", symbol, hint);
    }
}

[[noreturn]] void fail_without_lines(const DwarfFile& debug, const std::string& symbol,
                                     const std::string& function) {
    const std::size_t copies = InlinedIndex::of(debug).find(function).size();
    if (copies == 0)
        fail(ExitCode::kNoSuchSite, "{}: {} has no lines of such a function", symbol, debug.path());
    fail(ExitCode::kNoSuchSite,
         "{}: it was inlined in {}, and has no code of its own: see them with 'probeload trace "
         "--inline {}'",
         symbol, plural(copies, "place"), symbol);
}

}  // namespace

std::vector<LineSites> listed_lines(const std::string& symbol,
                                    const std::optional<std::string>& debuginfo) {
    const std::string module = module_of(symbol);
    const std::string function = names_module(symbol) ? symbol.substr(module.size() + 1) : symbol;
    const DwarfFile debug = DwarfFile::open(find_lines(symbol, debuginfo, module));
    std::vector<StatementSite> statements = sites_of(debug, function);
    if (statements.empty()) fail_without_lines(debug, symbol, function);
    if (!module.empty())
        for (StatementSite& site : statements)
            site.place.symbol = module + ":" + site.place.symbol;
    const std::optional<Device> device = open_device();
    return lines_of(statements, [&](const SymbolPlace& place) -> std::string {
        return device ? how_probed(device->judge({place.symbol, place.offset, 0}, 0)) : "";
    });
}

}  // namespace djprobe::loader
