// SPDX-License-Identifier: GPL-2.0
// The corpus of functions with the verdict of every instruction: corpus.txt, whose head
// tells how to write and to rebase it.
//
//   verdicts_test [--rebase] FILE
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/scene.h"

namespace {

using namespace djprobe;
using namespace djprobe::x86;
using test::Bytes;
using test::Scene;

constexpr u64 kNeighbours = 256;  ///< where the function lies among its neighbours' bytes

/// One entry: the lines that describe it, as they are, and what they mean.
struct Entry {
    std::string name;
    std::vector<std::string> lines;  ///< all but the verdicts
    std::vector<std::string> verdicts;
    Scene scene{{}};
    Bytes before, after;  ///< functions right before and behind
};

[[noreturn]] void fail(const std::string& line, const char* what) {
    throw std::runtime_error("'" + line + "': " + what);
}

Bytes parse_bytes(std::istringstream& words, const std::string& line) {
    Bytes bytes;
    for (std::string word; words >> word && word[0] != '#';) {
        size_t used = 0;
        const unsigned long value = std::stoul(word, &used, 16);
        if (used != word.size() || value > 0xff) fail(line, "not bytes in hexadecimal");
        bytes.push_back(static_cast<u8>(value));
    }
    return bytes;
}

u64 parse_offset(std::istringstream& words, const std::string& line) {
    std::string word;
    if (!(words >> word) || word[0] != '+') fail(line, "an offset is missing, as in +0x1c");
    return std::stoul(word.substr(1), nullptr, 0);
}

Reason parse_reason(std::istringstream& words, const std::string& line) {
    std::string word;
    words >> word;
    for (u32 i = 1; i < 256; ++i)
        if (word == reason_name(static_cast<Reason>(i))) return static_cast<Reason>(i);
    fail(line, "not the name of a reason");
}

void parse_line(Entry& entry, const std::string& line) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    Scene& scene = entry.scene;
    if (key == "bytes") {
        const Bytes more = parse_bytes(words, line);
        scene.function.insert(scene.function.end(), more.begin(), more.end());
    } else if (key == "before") {
        entry.before = parse_bytes(words, line);
    } else if (key == "after") {
        entry.after = parse_bytes(words, line);
    } else if (key == "landing") {
        const Reason reason = parse_reason(words, line);
        scene.landings.push_back({reason, 0, scene.at(parse_offset(words, line))});
    } else if (key == "reserved") {
        const Reason reason = parse_reason(words, line);
        const u64 begin = scene.at(parse_offset(words, line));
        scene.reserved.push_back({{begin, scene.at(parse_offset(words, line))}, reason});
    } else if (key == "jump-tables") {
        scene.no_jump_tables = false;
    } else if (key == "tactics") {
        scene.tactics = 0;
        for (std::string word; words >> word;)
            scene.tactics |= word == "window"        ? tactic_bit(Tactic::Window)
                             : word == "slide"       ? tactic_bit(Tactic::Slide)
                             : word == "springboard" ? tactic_bit(Tactic::Springboard)
                                                     : (fail(line, "not a tactic"), u8{0});
    } else if (!key.empty() && key[0] != '#') {
        fail(line, "neither bytes, before, after, landing, reserved, tactics nor jump-tables");
    }
}

/// "+0x8  slide +0x6 1 5": the anchor, the instructions before the handler, the region's length.
std::string verdict_of(const Scene& scene, u64 offset) {
    Plan plan;
    char text[128];
    const auto relative = [&](u64 address) { return address - scene.address; };
    if (const Refusal refusal = make_plan(scene.snapshot(offset), plan)) {
        if (refusal.reason == Reason::NOT_BOUNDARY || refusal.reason == Reason::PAST_END) return "";
        std::snprintf(text, sizeof(text), "  +%#-4lx no %s", offset, reason_name(refusal.reason));
    } else if (plan.jump) {
        const bool has_cause = plan.jump.detail[0] >= scene.address - kNeighbours;
        std::snprintf(text, sizeof(text), "  +%#-4lx int3 %s", offset,
                      reason_name(plan.jump.reason));
        if (has_cause)
            std::snprintf(text + std::strlen(text), 32, " %+ld",
                          static_cast<long>(relative(plan.jump.detail[0])));
    } else if (plan.tactic == Tactic::Window) {
        std::snprintf(text, sizeof(text), "  +%#-4lx window %d", offset, plan.region.length);
    } else if (plan.tactic == Tactic::Slide) {
        std::snprintf(text, sizeof(text), "  +%#-4lx slide +%#lx %d %d", offset,
                      relative(plan.anchor), plan.before, plan.region.length);
    } else {
        std::snprintf(text, sizeof(text), "  +%#-4lx springboard %d %+ld", offset,
                      plan.region.length, static_cast<long>(relative(plan.board)));
    }
    return text;
}

std::vector<std::string> verdicts_of(Entry& entry) {
    Scene& scene = entry.scene;
    const u64 end = scene.address + scene.function.size();
    if (!entry.before.empty())
        scene.neighbours.push_back({scene.address - entry.before.size(), test::view(entry.before)});
    if (!entry.after.empty()) scene.neighbours.push_back({end, test::view(entry.after)});
    std::vector<std::string> verdicts;
    for (u64 offset = 0; offset < scene.function.size(); ++offset)
        if (const std::string verdict = verdict_of(scene, offset); !verdict.empty())
            verdicts.push_back(verdict);
    return verdicts;
}

struct Corpus {
    std::vector<std::string> head;
    std::vector<Entry> entries;
};

Corpus read(const char* path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot be read");
    Corpus corpus;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("function ")) {
            corpus.entries.emplace_back();
            Entry& entry = corpus.entries.back();
            entry.name = line.substr(9);
            entry.scene.tactics = kAllTactics;
        }
        if (corpus.entries.empty()) {
            corpus.head.push_back(line);
            continue;
        }
        Entry& entry = corpus.entries.back();
        if (line.starts_with("  +")) {
            entry.verdicts.push_back(line);
        } else if (!line.empty()) {
            entry.lines.push_back(line);
            if (!line.starts_with("function ")) parse_line(entry, line);
        }
    }
    return corpus;
}

/// Prints what differs; true when nothing does.
bool check(Corpus& corpus) {
    size_t sites = 0, wrong = 0;
    for (Entry& entry : corpus.entries) {
        const auto found = verdicts_of(entry);
        sites += found.size();
        if (found == entry.verdicts && !found.empty()) continue;
        ++wrong;
        std::printf("%s:\n", entry.name.c_str());
        for (size_t i = 0; i < std::max(found.size(), entry.verdicts.size()); ++i) {
            const std::string is = i < found.size() ? found[i] : "  nothing";
            const std::string should = i < entry.verdicts.size() ? entry.verdicts[i] : "  nothing";
            if (is != should) std::printf("%s, expected%s\n", is.c_str(), should.c_str());
        }
    }
    std::printf("%zu functions, %zu sites, %zu functions wrong\n", corpus.entries.size(), sites,
                wrong);
    return wrong == 0 && sites > 0;
}

void rebase(Corpus& corpus, const char* path) {
    std::ofstream file(path);
    for (const std::string& line : corpus.head)
        file << line << "\n";
    for (Entry& entry : corpus.entries) {
        if (&entry != corpus.entries.data()) file << "\n";
        for (const std::string& line : entry.lines)
            file << line << "\n";
        for (const std::string& verdict : verdicts_of(entry))
            file << verdict << "\n";
    }
    if (!file.flush()) throw std::runtime_error("cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
    const bool rebasing = argc == 3 && !std::strcmp(argv[1], "--rebase");
    if (argc != 2 && !rebasing) {
        std::fprintf(stderr, "usage: verdicts_test [--rebase] FILE\n");
        return 2;
    }
    const char* const path = argv[argc - 1];
    try {
        Corpus corpus = read(path);
        if (rebasing) rebase(corpus, path);
        return rebasing || check(corpus) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "verdicts_test: %s: %s\n", path, error.what());
        return 2;
    }
}
