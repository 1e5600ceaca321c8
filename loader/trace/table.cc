// SPDX-License-Identifier: GPL-2.0
#include "trace/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/colour.h"
#include "decode/histogram.h"
#include "events/folded.h"
#include "trace/words.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;
using AggregationKind = Aggregation::Kind;

const char* name_of(AggregationKind kind) {
    switch (kind) {
        case AggregationKind::kCount:
        case AggregationKind::kHistogram:
            return "count";
        case AggregationKind::kSum:
            return "sum";
        case AggregationKind::kAverage:
            return "avg";
        case AggregationKind::kLeast:
            return "min";
        case AggregationKind::kMost:
            return "max";
    }
    return "";
}

std::string signed_text(std::uint64_t number, bool is_signed) {
    return is_signed ? fmt::to_string(static_cast<std::int64_t>(number)) : fmt::to_string(number);
}

std::string number_of(const Result& result, const TableStyle& style) {
    if (style.kind == AggregationKind::kCount || style.kind == AggregationKind::kHistogram)
        return fmt::to_string(result.count);
    if (style.kind != AggregationKind::kAverage) return signed_text(result.number, style.is_signed);
    const auto sum = style.is_signed ? static_cast<double>(static_cast<std::int64_t>(result.number))
                                     : static_cast<double>(result.number);
    return fmt::format("{:.1f}", sum / static_cast<double>(result.count));
}

// Where there is more than a count, that stands beside it.
bool has_count(AggregationKind kind) {
    return kind != AggregationKind::kCount && kind != AggregationKind::kHistogram;
}

// A slot's least and largest value, in words.
std::string slot_from(const TableStyle& style, std::size_t slot) {
    if (style.linear) return fmt::to_string(style.linear->least(slot));
    return fmt::to_string(slot == 0 ? 0 : std::uint64_t{1} << slot);
}

std::string slot_to(const TableStyle& style, std::size_t slot) {
    if (style.linear) return fmt::to_string(style.linear->most(slot));
    return fmt::to_string((std::uint64_t{2} << slot) - 1);
}

std::int64_t lowest(const TableStyle& style) {
    return style.linear ? style.linear->from : 0;
}

std::string drawn(const Result& result, const TableStyle& style) {
    std::vector<NamedBar> bars;
    for (std::size_t i = 0; i < result.slots.size(); ++i)
        bars.push_back({slot_from(style, i), slot_to(style, i), result.slots[i]});
    std::string text;
    if (result.negative != 0)
        text += fmt::format("    below {}: {}\n", lowest(style), result.negative);
    text += draw_bars(bars);
    if (result.above != 0)
        text += fmt::format("    {} and above: {}\n", style.linear->to, result.above);
    return text;
}

// What is drawn below a line: frames, and the histogram.
std::string below(const Result& result, const TableStyle& style) {
    std::string text;
    for (const KeyPart& part : result.key)
        for (const std::string& frame : part.frames)
            text += "    " + frame + "\n";
    return text + drawn(result, style);
}

// The last column has no blanks behind it.
std::string line(const std::string& number, const std::string& count,
                 const std::vector<std::string>& words) {
    std::string line = fmt::format("{:>14}", number);
    if (!count.empty()) line += fmt::format(" {:>14}", count);
    for (std::size_t i = 0; i < words.size(); ++i)
        line += i + 1 < words.size() ? fmt::format("  {:<15}", words[i]) : "  " + words[i];
    return line + "\n";
}

bool is_stack(const Field& key) {
    return key.shape == Shape::kStackId;
}

// A key may have the name of a column before it: one is counted by `count`.
std::vector<std::string> key_names(const TableStyle& style) {
    std::vector<std::string> taken = {name_of(style.kind), "count"}, names;
    if (style.kind == AggregationKind::kHistogram) taken.insert(taken.end(), {"from", "to"});
    for (const Field& key : style.keys) {
        std::string name = key.name;
        for (int i = 2; std::ranges::find(taken, name) != taken.end(); ++i)
            name = fmt::format("{}_{}", key.name, i);
        taken.push_back(name);
        names.push_back(std::move(name));
    }
    return names;
}

std::vector<std::string> head_words(const TableStyle& style) {
    const std::vector<std::string> names = key_names(style);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!is_stack(style.keys[i])) words.push_back(upper(names[i]));
    if (!style.unit.empty()) words.push_back("(" + style.unit + ")");
    return words;
}

std::string columns(const std::vector<Result>& results, const TableStyle& style) {
    const bool counts = has_count(style.kind);
    std::string head = line(upper(name_of(style.kind)), counts ? "COUNT" : "", head_words(style));
    std::string text =
        style.colours ? coloured(kBold, head.substr(0, head.size() - 1)) + "\n" : std::move(head);
    for (const Result& result : results) {
        std::vector<std::string> words;
        for (std::size_t i = 0; i < style.keys.size(); ++i)
            if (!is_stack(style.keys[i])) words.push_back(result.key[i].text);
        text += line(number_of(result, style), counts ? fmt::to_string(result.count) : "", words);
        text += below(result, style);
    }
    return text;
}

Json slots_json(const Result& result, const TableStyle& style) {
    Json slots = Json::array();
    for (std::size_t i = 0; i < result.slots.size(); ++i)
        if (result.slots[i] != 0)
            slots.push_back({{"from", Json::parse(slot_from(style, i))},
                             {"to", Json::parse(slot_to(style, i))},
                             {"count", result.slots[i]}});
    return slots;
}

Json result_json(const Result& result, const TableStyle& style) {
    Json json;
    json["key"] = Json::object();
    for (const KeyPart& part : result.key)
        json["key"][part.name] = part.frames.empty() ? Json::parse(part.json) : Json(part.frames);
    json["count"] = result.count;
    if (has_count(style.kind)) json[name_of(style.kind)] = Json::parse(number_of(result, style));
    if (style.kind != AggregationKind::kHistogram) return json;
    json["negative"] = result.negative;
    if (style.linear) json["above"] = result.above;
    json["slots"] = slots_json(result, style);
    return json;
}

std::string as_json(const std::vector<Result>& results, const TableStyle& style) {
    const Json json{{"type", "results"}, {"results", results_json(results, style)}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_head(const TableStyle& style) {
    std::string text =
        style.kind == AggregationKind::kHistogram ? "from,to,count" : name_of(style.kind);
    if (has_count(style.kind)) text += ",count";
    for (const std::string& name : key_names(style))
        text += "," + csv_word(name);
    return text + '\n';
}

std::string csv_keys(const Result& result) {
    std::string text;
    for (const KeyPart& part : result.key)
        text +=
            "," + csv_word(part.frames.empty() ? part.text
                                               : fmt::format("{}", fmt::join(part.frames, ";")));
    return text + '\n';
}

// A line for each slot; those below are from nowhere, and those above go nowhere.
std::string csv_slots(const Result& result, const TableStyle& style) {
    const std::string keys = csv_keys(result);
    std::string text;
    if (result.negative != 0)
        text += fmt::format(",{},{}{}", lowest(style) - 1, result.negative, keys);
    for (std::size_t i = 0; i < result.slots.size(); ++i)
        if (result.slots[i] != 0)
            text += fmt::format("{},{},{}{}", slot_from(style, i), slot_to(style, i),
                                result.slots[i], keys);
    if (result.above != 0) text += fmt::format("{},,{}{}", style.linear->to, result.above, keys);
    return text;
}

std::string as_csv(const std::vector<Result>& results, const TableStyle& style) {
    std::string text = csv_head(style);
    for (const Result& result : results) {
        if (style.kind == AggregationKind::kHistogram) {
            text += csv_slots(result, style);
            continue;
        }
        text += number_of(result, style);
        if (has_count(style.kind)) text += fmt::format(",{}", result.count);
        text += csv_keys(result);
    }
    return text;
}

// Other parts of the key stand in front, as frames: "dd;entry_SYSCALL_64;vfs_read 3".
std::string as_folded(const std::vector<Result>& results, const TableStyle& style) {
    std::string text;
    for (const Result& result : results) {
        std::vector<std::string> frames;
        for (const KeyPart& part : result.key) {
            if (part.frames.empty()) frames.push_back(folded_name(part.text));
            for (std::size_t i = part.frames.size(); i-- > 0;)
                frames.push_back(
                    folded_name(part.frames[i].substr(0, part.frames[i].rfind("+0x"))));
        }
        text += fmt::format("{} {}\n", fmt::join(frames, ";"), number_of(result, style));
    }
    return text;
}

}  // namespace

Json results_json(const std::vector<Result>& results, const TableStyle& style) {
    Json json = Json::array();
    for (const Result& result : results)
        json.push_back(result_json(result, style));
    return json;
}

std::string results_name(const TableStyle& style) {
    return style.kind == AggregationKind::kHistogram ? "hist" : name_of(style.kind);
}

std::string table_text(const std::vector<Result>& results, const TableStyle& style) {
    if (style.folded) return as_folded(results, style);
    if (style.style == Style::kJson) return as_json(results, style);
    if (style.style == Style::kCsv) return as_csv(results, style);
    return columns(results, style);
}

}  // namespace djprobe::loader
