// SPDX-License-Identifier: GPL-2.0
// Of the inlined instances and the lines of a kernel, how many get a site with a jump?
//
//     build/tests/dwarf/line_survey VMLINUX [FOLDER/]...
//
// VMLINUX has its debug information in it. Boot changes code, so that the running kernel is the
// better answer; the places are then written where the file is, and judged where the kernel runs:
//
//     build/tests/dwarf/line_survey --write PLACES VMLINUX fs/ net/ mm/
//     vm/run --kernel 6.12 --add build/tests/dwarf/line_survey --add PLACES --
//         ./line_survey --running PLACES
//
// A line is one of one instance: where a function is
// inlined twice, each of its lines counts twice. It is where `probeload trace` would probe it: the
// first of its statements of which at least one copy is accepted.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "base/error.h"
#include "blocks/stand_in.h"
#include "kernel/kallsyms.h"
#include "survey/analysis.h"
#include "survey/words.h"
#include "unit_code.h"

namespace djprobe::test {
namespace {

using loader::DwarfFile;
using loader::Kallsyms;
using loader::KernelImage;
using loader::TextMap;

enum Verdict { kJump, kInt3, kRefused, kGone };
constexpr const char* kNames[] = {"jump", "int3 only", "refused", "gone after boot"};

struct Answer {
    Verdict verdict;
    std::string why;
    std::vector<std::uint64_t> beside{};  // where the probes are, if not there
    Verdict there = kRefused;             // if these are taken
};

class Judge {
  public:
    explicit Judge(const TextMap& map) : map_(map), stand_ins_(map) {}

    Answer operator()(std::uint64_t address) {
        const Range text = map_.facts().text;
        if (address < text.begin || address >= text.end) return {kGone, ""};
        const std::size_t function = map_.find(address);
        if (function == map_.functions().size()) return {kRefused, "no function"};
        x86::Plan plan;
        const Refusal refusal = map_.plan(function, address, plan);
        // The compiler knows that nothing comes there, and has left the statement's code out.
        if (refusal.reason == Reason::PAST_END) return {kGone, ""};
        if (refusal) return beside(function, address, reason_name(refusal.reason));
        if (plan.may_jump()) return {kJump, ""};
        const auto others = stand_ins_.find(function, address);
        if (!others.empty() && std::ranges::all_of(others, &loader::StandIn::by_jump) &&
            std::ranges::none_of(others, &loader::StandIn::writes_memory))
            return {kJump, "", addresses_of(others), kInt3};
        return {kInt3, reason_name(plan.jump.reason)};
    }

  private:
    // What takes no probe itself is probed by others that run as often.
    [[nodiscard]] Answer beside(std::size_t function, std::uint64_t address, const char* why) {
        const auto others = stand_ins_.find(function, address);
        if (others.empty()) return {kRefused, why};
        const bool all = std::ranges::all_of(others, &loader::StandIn::by_jump);
        return {all ? kJump : kInt3, fmt::format("beside {}", why), addresses_of(others)};
    }
    static std::vector<std::uint64_t> addresses_of(const std::vector<loader::StandIn>& others) {
        std::vector<std::uint64_t> addresses;
        for (const loader::StandIn& other : others)
            addresses.push_back(other.address);
        return addresses;
    }

    const TextMap& map_;
    loader::StandIns stand_ins_;
};

struct Table {
    std::uint64_t counts[4] = {};
    std::map<std::string, std::uint64_t> reasons;

    void add(const Answer& answer) {
        ++counts[answer.verdict];
        if (!answer.why.empty()) ++reasons[std::string(kNames[answer.verdict]) + ": " + answer.why];
    }
    void print(const std::string& what) const {
        const std::uint64_t there = counts[kJump] + counts[kInt3] + counts[kRefused];
        fmt::print("{}: {}, and {} in code that is gone after boot\n", what, there, counts[kGone]);
        for (const Verdict verdict : {kJump, kInt3, kRefused})
            fmt::print(
                "  {:<12} {:>9} {:>8.3f}%\n", kNames[verdict], counts[verdict],
                there ? 100.0 * static_cast<double>(counts[verdict]) / static_cast<double>(there)
                      : 0.0);
        std::vector<std::pair<std::uint64_t, std::string>> sorted;
        for (const auto& [why, count] : reasons)
            sorted.emplace_back(count, why);
        std::ranges::sort(sorted, std::greater());
        for (const auto& [count, why] : sorted)
            fmt::print("    {:>9} {}\n", count, why);
    }
};

// Where one thing of the source may be probed: of the first statement that has an accepted place
// all copies, else of the next one.
using Choice = std::vector<std::vector<std::uint64_t>>;

// All in the code of the folders' files, or only what is written in these files.
struct Places {
    std::vector<Choice> inlined, lines, own_inlined, own_lines;
};

Choice choice_of(const std::vector<const Row*>& rows) {
    std::vector<unsigned> columns;
    Choice choice;
    for (const Row* const row : rows) {
        const auto known = std::ranges::find(columns, row->column);
        const auto at = static_cast<std::size_t>(known - columns.begin());
        if (known == columns.end()) {
            columns.push_back(row->column);
            choice.emplace_back();
        }
        choice[at].push_back(row->address);
    }
    return choice;
}

using Folders = std::vector<std::string>;

bool is_in(const Folders& folders, const std::string& file) {
    const auto holds = [&](const std::string& folder) { return file.starts_with(folder); };
    return folders.empty() || std::ranges::any_of(folders, holds);
}

void add_places(const UnitCode& code, const Folders& folders, Places& places) {
    for (const Instance& instance : code.instances) {
        if (!instance.is_inlined || !instance.entry) continue;
        places.inlined.push_back({{instance.entry}});
        if (is_in(folders, instance.file)) places.own_inlined.push_back(places.inlined.back());
    }
    std::map<std::tuple<std::size_t, std::string, unsigned>, std::vector<const Row*>> lines;
    for (const Row& row : code.rows)
        lines[{row.instance, row.file, row.line}].push_back(&row);
    for (const auto& [line, rows] : lines) {
        places.lines.push_back(choice_of(rows));
        if (is_in(folders, std::get<1>(line))) places.own_lines.push_back(places.lines.back());
    }
}

// One that stands in for two copies shows only one of them.
void take_places(std::vector<Answer>& answers, const std::vector<std::uint64_t>& copies) {
    std::set<std::uint64_t> taken;
    for (std::size_t i = 0; i < answers.size(); ++i)
        if (answers[i].beside.empty()) taken.insert(copies[i]);
    for (Answer& answer : answers) {
        const auto is_taken = [&](std::uint64_t address) { return taken.contains(address); };
        if (std::ranges::any_of(answer.beside, is_taken))
            answer = {answer.there, "what is beside is another copy's"};
        else
            taken.insert(answer.beside.begin(), answer.beside.end());
    }
}

// The worst of the copies is the line's.
Answer answer_for(Judge& judge, const Choice& choice) {
    Answer refused{kGone, ""};
    for (const std::vector<std::uint64_t>& copies : choice) {
        std::vector<Answer> answers;
        for (const std::uint64_t address : copies)
            answers.push_back(judge(address));
        take_places(answers, copies);
        Answer worst{kJump, ""};
        bool has_any = false;
        for (Answer& answer : answers) {
            if (answer.verdict == kGone || answer.verdict == kRefused) {
                if (refused.verdict != kRefused) refused = std::move(answer);
                continue;
            }
            has_any = true;
            if (answer.verdict > worst.verdict) worst = std::move(answer);
        }
        if (has_any) return worst;
    }
    return refused;
}

void print(Judge& judge, const std::vector<Choice>& choices, const std::string& what) {
    Table table;
    for (const Choice& choice : choices)
        table.add(answer_for(judge, choice));
    table.print(what);
}

void print(Judge& judge, const Places& places) {
    print(judge, places.own_lines, "Lines of these files");
    print(judge, places.lines, "Lines in their code, those of headers too");
    print(judge, places.own_inlined, "Inlined instances of functions of these files");
    print(judge, places.inlined, "Inlined instances in their code, of those of headers too");
}

Places places_of(const std::string& vmlinux, const std::vector<std::string>& folders) {
    const DwarfFile debug = DwarfFile::open(vmlinux);
    Places places;
    for (const Dwarf_Die& unit : units_in(debug, folders))
        add_places(code_of(unit), folders, places);
    return places;
}

// "I 12 34;56": as offsets from the kernel's first byte, since KASLR moves it.
void write(std::ostream& file, char kind, const Choice& choice, std::uint64_t text) {
    file << kind;
    for (const std::vector<std::uint64_t>& copies : choice) {
        for (const std::uint64_t address : copies)
            file << ' ' << address - text;
        file << " ;";
    }
    file << '\n';
}

void write_places(const std::string& path, const std::string& vmlinux,
                  const std::vector<std::string>& folders) {
    const Places places = places_of(vmlinux, folders);
    const std::uint64_t text = DwarfFile::open(vmlinux).address_of("_text").value();
    std::ofstream file(path);
    const auto write_all = [&](char kind, const std::vector<Choice>& choices) {
        for (const Choice& choice : choices)
            write(file, kind, choice, text);
    };
    write_all('I', places.inlined);
    write_all('i', places.own_inlined);
    write_all('L', places.lines);
    write_all('l', places.own_lines);
}

Places read_places(const std::string& path, std::uint64_t text) {
    Places places;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        char kind = 0;
        Choice choice{{}};
        words >> kind;
        for (std::string word; words >> word;) {
            if (word == ";")
                choice.emplace_back();
            else
                choice.back().push_back(std::stoull(word) + text);
        }
        choice.pop_back();
        std::vector<Choice>& lines = kind == 'L' ? places.lines : places.own_lines;
        std::vector<Choice>& inlined = kind == 'I' ? places.inlined : places.own_inlined;
        (kind == 'L' || kind == 'l' ? lines : inlined).push_back(std::move(choice));
    }
    return places;
}

void survey(KernelImage image, const std::function<Places(const KernelImage&)>& find) {
    const auto texts = loader::analyse(image, std::nullopt);
    Judge judge(texts.front().map);
    print(judge, find(image));
}

int run(std::vector<std::string> words) {
    if (words.size() == 2 && words[0] == "--running")
        survey(KernelImage::from_running_kernel(Kallsyms::read()), [&](const KernelImage& image) {
            return read_places(words[1], image.require("_text"));
        });
    else if (words.size() > 2 && words[0] == "--write")
        write_places(words[1], words[2], {words.begin() + 3, words.end()});
    else
        survey(KernelImage::from_file(words[0], ""), [&](const KernelImage&) {
            return places_of(words[0], {words.begin() + 1, words.end()});
        });
    return 0;
}

}  // namespace
}  // namespace djprobe::test

int main(int argc, char** argv) {
    if (argc < 2) {
        fmt::print(stderr, "usage: {} [--write FILE] VMLINUX [FOLDER/]... | --running FILE\n",
                   argv[0]);
        return 2;
    }
    try {
        return djprobe::test::run({argv + 1, argv + argc});
    } catch (const djprobe::loader::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
