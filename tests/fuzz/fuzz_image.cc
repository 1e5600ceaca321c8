// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any bytes as a vmlinux. Its tables, its text and the plans for its first sites; errors
// are loader::Error, nothing else may come.
#include "base/error.h"
#include "memory_file.h"
#include "survey/text_map.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace djprobe;
    static const test::MemoryFile file;
    file.fill(data, size);
    try {
        const auto image = loader::KernelImage::from_file(file.path(), "");
        const loader::TextFacts facts = loader::read_facts(image);
        const loader::TextMap map(image, facts);
        constexpr std::size_t kFunctions = 16, kSites = 32;
        for (std::size_t i = 0; i < map.functions().size() && i < kFunctions; ++i) {
            const Range range = map.functions()[i].code.range();
            static_cast<void>(map.entry(i));
            for (u64 at = range.begin; at < range.end && at < range.begin + kSites; ++at) {
                x86::Plan plan;
                static_cast<void>(map.plan(i, at, plan));
            }
        }
    } catch (const loader::Error&) {
        return 0;
    }
    return 0;
}
