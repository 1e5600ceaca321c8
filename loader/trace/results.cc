// SPDX-License-Identifier: GPL-2.0
#include "trace/results.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "decode/btf_util.h"
#include "kernel/possible_cpus.h"
#include "trace/cell.h"
#include "trace/results_text.h"

namespace djprobe::loader {
namespace {

using AggregationKind = Aggregation::Kind;
using Words = std::vector<std::uint64_t>;

struct Entry {
    std::vector<std::byte> key;
    Result result;
};

const bpf_map& map_of(const bpf_object* object, const char* name) {
    const bpf_map* const map = bpf_object__find_map_by_name(object, name);
    if (!map) fail(ExitCode::kBadFile, "the program has no map '{}'", name);
    return *map;
}

bool is_less(std::uint64_t a, std::uint64_t b, bool is_signed) {
    return is_signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
}

// One CPU's part, as results_text.cc has it in the program.
void add(const ResultsOf& of, const std::uint64_t* part, Result& to) {
    if (of.kind == AggregationKind::kHistogram) {
        to.slots.resize(of.linear ? of.linear->slots : kSlots);
        to.negative += *part++;
        if (of.linear) to.above += *part++;
        for (std::uint64_t& slot : to.slots)
            slot += *part++;
        to.count = std::accumulate(to.slots.begin(), to.slots.end(), to.negative + to.above);
        return;
    }
    const bool is_first = to.count == 0;
    to.count += part[0];
    if (part[0] == 0 || of.kind == AggregationKind::kCount) return;
    const bool sums = of.kind == AggregationKind::kSum || of.kind == AggregationKind::kAverage;
    if (sums) to.number += part[1];
    const bool replaces = is_first || (of.kind == AggregationKind::kLeast
                                           ? is_less(part[1], to.number, of.is_signed)
                                           : is_less(to.number, part[1], of.is_signed));
    if (!sums && replaces) to.number = part[1];
}

// Both have seen a call.
void add(const ResultsOf& of, const Result& more, Result& to) {
    to.count += more.count;
    to.negative += more.negative;
    to.above += more.above;
    std::ranges::transform(to.slots, more.slots, to.slots.begin(), std::plus());
    const bool sums = of.kind == AggregationKind::kSum || of.kind == AggregationKind::kAverage;
    if (sums)
        to.number += more.number;
    else if (of.kind == AggregationKind::kLeast ? is_less(more.number, to.number, of.is_signed)
                                                : is_less(to.number, more.number, of.is_signed))
        to.number = more.number;
}

// Whatever comes and goes meanwhile, the walk ends.
std::vector<Entry> read_all(const ResultsOf& of) {
    const bpf_map& map = map_of(of.object, "results");
    const std::size_t words = bpf_map__value_size(&map) / sizeof(std::uint64_t);
    Words values(words * possible_cpus());
    std::vector<Entry> entries;
    std::vector<std::byte> key(bpf_map__key_size(&map)), next(key.size());
    const void* previous = nullptr;
    const int fd = bpf_map__fd(&map);
    for (std::uint32_t seen = 0; seen < bpf_map__max_entries(&map); ++seen) {
        if (bpf_map_get_next_key(fd, previous, next.data()) != 0) break;
        key = next;
        previous = key.data();
        if (bpf_map_lookup_elem(fd, previous, values.data()) != 0) continue;
        Entry entry{key, {}};
        for (std::size_t i = 0; i < values.size(); i += words)
            add(of, values.data() + i, entry.result);
        // Its first call is not through yet.
        if (entry.result.count != 0) entries.push_back(std::move(entry));
    }
    return entries;
}

bool is_before(const ResultsOf& of, const Result& a, const Result& b) {
    if (of.kind == AggregationKind::kAverage) {
        const auto average = [](const Result& result) {
            return static_cast<double>(static_cast<std::int64_t>(result.number)) /
                   static_cast<double>(result.count);
        };
        return average(a) > average(b);
    }
    if (of.kind == AggregationKind::kCount || of.kind == AggregationKind::kHistogram)
        return a.count > b.count;
    if (of.kind == AggregationKind::kLeast) return is_less(a.number, b.number, of.is_signed);
    return is_less(b.number, a.number, of.is_signed);
}

std::vector<std::string> frames_of(const ResultsOf& of, std::uint64_t id, Symbolizer& symbolizer) {
    const bpf_map& map = map_of(of.object, "stacks");
    const auto key = static_cast<std::int32_t>(id);
    if (key < 0) return {"[no stack]"};
    Words frames(bpf_map__value_size(&map) / sizeof(std::uint64_t));
    std::vector<std::string> names;
    if (bpf_map_lookup_elem(bpf_map__fd(&map), &key, frames.data()) != 0) return {"[no stack]"};
    for (const std::uint64_t frame : frames) {
        if (frame == 0) break;
        const bool is_kernel = frame >> 63 != 0;
        names.push_back(is_kernel ? symbolizer.describe(frame) : fmt::format("{:#x}", frame));
    }
    return names;
}

std::vector<Cell> cells_of(const ResultsOf& of, Symbolizer& symbolizer) {
    const btf& types = *bpf_object__btf(of.object);
    const std::uint32_t key_type =
        skip_modifiers(types, bpf_map__btf_key_type_id(&map_of(of.object, "results")));
    std::vector<Cell> cells;
    for (const Field& field : of.keys)
        cells.emplace_back(types, key_type, field, symbolizer);
    return cells;
}

// Of an instruction its function, by the first byte: several functions may have one name.
std::string function_at(std::uint64_t address, Symbolizer& symbolizer) {
    const Symbol* const function = symbolizer.kallsyms().at_or_below(address);
    return fmt::format("{:#x}", function ? function->address : address);
}

// The kernel knows a function by the instruction that was hit, and a line may have several there.
void join_functions(const ResultsOf& of, std::vector<Cell>& cells, Symbolizer& symbolizer,
                    std::vector<Entry>& entries) {
    const auto is_function = [](const Field& key) { return key.shape == Shape::kFunction; };
    if (std::ranges::none_of(of.keys, is_function)) return;
    std::map<std::vector<std::string>, std::size_t> known;
    std::vector<Entry> joined;
    for (Entry& entry : entries) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < cells.size(); ++i)
            names.push_back(is_function(of.keys[i])
                                ? function_at(cells[i].number(entry.key), symbolizer)
                                : cells[i].json(entry.key));
        const auto [found, is_new] = known.emplace(std::move(names), joined.size());
        if (is_new)
            joined.push_back(std::move(entry));
        else
            add(of, entry.result, joined[found->second].result);
    }
    entries = std::move(joined);
}

}  // namespace

std::vector<Result> read_results(const ResultsOf& of, std::size_t most, Symbolizer& symbolizer) {
    std::vector<Cell> cells = cells_of(of, symbolizer);
    std::vector<Entry> entries = read_all(of);
    join_functions(of, cells, symbolizer, entries);
    std::ranges::stable_sort(
        entries, [&](const Entry& a, const Entry& b) { return is_before(of, a.result, b.result); });
    if (entries.size() > most) entries.resize(most);
    std::vector<Result> results;
    for (Entry& entry : entries) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            KeyPart part{of.keys[i].name, cells[i].text(entry.key), cells[i].json(entry.key), {}};
            if (cells[i].is_stack_id())
                part.frames = frames_of(of, cells[i].number(entry.key), symbolizer);
            entry.result.key.push_back(std::move(part));
        }
        results.push_back(std::move(entry.result));
    }
    return results;
}

}  // namespace djprobe::loader
