// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any text as /proc/kallsyms. Symbols are sorted, and are found by their own names.
#include <algorithm>

#include "kernel/kallsyms.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace djprobe::loader;
    using djprobe::test::require;
    const Kallsyms table = Kallsyms::parse(std::string(reinterpret_cast<const char*>(data), size));
    const Symbol* previous = nullptr;
    for (const Symbol& symbol : table.symbols()) {
        require(!previous || previous->address <= symbol.address, "sorted by address");
        previous = &symbol;
        static_cast<void>(table.describe(symbol.address));
        static_cast<void>(table.describe(symbol.address - 1));
        // A colon separates a module from a name: one more cannot be asked for.
        const std::string_view ask = symbol.module.empty() ? symbol.name : symbol.module;
        if (!symbol.is_text() || ask.find(':') != ask.npos) continue;
        const auto found = table.find(symbol.qualified_name());
        require(std::any_of(found.begin(), found.end(),
                            [&](const Symbol& other) { return other.address == symbol.address; }),
                "a symbol is found by its name");
    }
    static_cast<void>(table.describe(0));
    static_cast<void>(table.describe(~0ul));
    static_cast<void>(table.has_data_symbol("m:n"));
    return 0;
}
