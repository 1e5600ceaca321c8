// SPDX-License-Identifier: GPL-2.0
// textsnap: the image of the kernel's text, before and after.
//
// The kernel itself changes its text, too: jump labels, static calls, ftrace.
// Take the image after a warm-up that has used what the test will use.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "guarded.h"
#include "kernel/kcore.h"
#include "symbols.h"

namespace djprobe::vm {
namespace {

using loader::Kcore;

constexpr std::string_view kOurModule = "djprobe";  // its slots are text that may change
constexpr int kShown = 10;
constexpr size_t kBytesShown = 16;

constexpr const char* kUsage =
    "usage: textsnap save FILE [OLD]   write the text of the kernel and its modules (not "
    "djprobe's);\n"
    "                                  with OLD, a file of before, of the same modules\n"
    "       textsnap diff FILE         compare it with what is in memory now\n"
    "exit status: 0 done, equal; 1 different; 2 error\n";

struct Snapshot {
    TextRange range;
    std::vector<uint8_t> bytes;
};

// Per range: start, end, length of the name, name, bytes.
void save(const std::string& path, const std::vector<TextRange>& ranges, const Kcore& kcore) {
    std::ofstream file(path, std::ios::binary);
    for (const TextRange& range : ranges) {
        std::vector<uint8_t> bytes = kcore.read(range.start, range.end - range.start);
        uint64_t head[] = {range.start, range.end, range.module.size()};
        file.write(reinterpret_cast<const char*>(head), sizeof head);
        file.write(range.module.data(), static_cast<std::streamsize>(range.module.size()));
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path);
}

std::vector<Snapshot> load(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<Snapshot> snapshots;
    for (uint64_t head[3]; file.read(reinterpret_cast<char*>(head), sizeof head);) {
        Snapshot snapshot{{head[0], head[1], std::string(head[2], '\0')},
                          std::vector<uint8_t>(head[1] - head[0])};
        file.read(snapshot.range.module.data(), static_cast<std::streamsize>(head[2]));
        file.read(reinterpret_cast<char*>(snapshot.bytes.data()),
                  static_cast<std::streamsize>(snapshot.bytes.size()));
        if (!file) throw std::runtime_error(path + " is cut off");
        snapshots.push_back(std::move(snapshot));
    }
    if (snapshots.empty()) throw std::runtime_error(path + " is no image of textsnap's");
    return snapshots;
}

// Of an image: to find them by the kernel's symbols takes ten times as long as to read the text.
std::vector<TextRange> ranges_of(const std::string& path) {
    std::vector<TextRange> ranges;
    for (Snapshot& snapshot : load(path))
        ranges.push_back(std::move(snapshot.range));
    return ranges;
}

void print_bytes(const char* label, const std::vector<uint8_t>& bytes, size_t at, size_t count) {
    std::printf("  %s", label);
    for (size_t i = at; i < at + count; ++i)
        std::printf(" %02x", bytes[i]);
    std::printf("\n");
}

// Prints the first differences and returns the number of all.
int compare(const Snapshot& old, const std::vector<uint8_t>& now, int already) {
    if (old.bytes == now) return 0;
    const Kallsyms symbols = Kallsyms::read();
    int found = 0;
    for (size_t at = 0; at < now.size(); ++at) {
        if (old.bytes[at] == now[at]) continue;
        if (already + found++ < kShown) {
            size_t count = std::min(kBytesShown, now.size() - at);
            uint64_t address = old.range.start + at;
            std::printf("%#lx %s\n", address, symbols.describe(address).c_str());
            print_bytes("was", old.bytes, at, count);
            print_bytes("is ", now, at, count);
        }
        at += kBytesShown - 1;  // one report for bytes that were changed together
    }
    return found;
}

int diff(const std::string& path, const Kcore& kcore) {
    const std::vector<LiveModule> live = live_modules();
    int differences = 0;
    for (const Snapshot& old : load(path)) {
        const bool there =
            old.range.module.empty() || std::ranges::any_of(live, [&](const LiveModule& module) {
                return module.name == old.range.module && module.base == old.range.start;
            });
        if (!there) {
            std::printf("the module %s is gone or elsewhere\n", old.range.module.c_str());
            ++differences;
            continue;
        }
        differences += compare(old, kcore.read(old.range.start, old.bytes.size()), differences);
    }
    if (differences > 0) std::printf("%d differences in the kernel's text\n", differences);
    return differences > 0 ? 1 : 0;
}

int run(int argc, char** argv) {
    const std::string_view action = argc > 1 ? argv[1] : "";
    const bool again = action == "save" && argc == 4;
    if (!again && (argc != 3 || (action != "save" && action != "diff"))) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    const Kcore kcore;
    if (action == "diff") return diff(argv[2], kcore);
    save(argv[2], again ? ranges_of(argv[3]) : text_ranges(Kallsyms::read(), kOurModule), kcore);
    return 0;
}

}  // namespace
}  // namespace djprobe::vm

int main(int argc, char** argv) {
    return djprobe::vm::guarded("textsnap", djprobe::vm::run, argc, argv);
}
