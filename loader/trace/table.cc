// SPDX-License-Identifier: GPL-2.0
#include "trace/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decode/histogram.h"
#include "trace/words.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Aggregation::Kind;

const char* name_of(Kind kind) {
    switch (kind) {
        case Kind::kCount:
        case Kind::kHistogram:
            return "count";
        case Kind::kSum:
            return "sum";
        case Kind::kAverage:
            return "avg";
        case Kind::kLeast:
            return "min";
        case Kind::kMost:
            return "max";
    }
    return "";
}

std::string signed_text(std::uint64_t number, bool is_signed) {
    return is_signed ? fmt::to_string(static_cast<std::int64_t>(number)) : fmt::to_string(number);
}

std::string number_of(const Result& result, const TableStyle& style) {
    if (style.kind == Kind::kCount || style.kind == Kind::kHistogram)
        return fmt::to_string(result.count);
    if (style.kind != Kind::kAverage) return signed_text(result.number, style.is_signed);
    const auto sum = style.is_signed ? static_cast<double>(static_cast<std::int64_t>(result.number))
                                     : static_cast<double>(result.number);
    return fmt::format("{:.1f}", sum / static_cast<double>(result.count));
}

// Where there is more than a count, that stands beside it.
bool has_count(Kind kind) {
    return kind != Kind::kCount && kind != Kind::kHistogram;
}

// What is drawn below a line: frames, and the histogram.
std::string below(const Result& result) {
    std::string text;
    for (const KeyPart& part : result.key)
        for (const std::string& frame : part.frames)
            text += "    " + frame + "\n";
    if (result.slots.empty()) return text;
    if (result.negative != 0) text += fmt::format("    below 0: {}\n", result.negative);
    const Histogram all{"", 0, sizeof(std::uint64_t),
                        static_cast<std::uint32_t>(result.slots.size())};
    return text + draw(all, std::as_bytes(std::span(result.slots)));
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
    if (style.kind == Kind::kHistogram) taken.insert(taken.end(), {"from", "to"});
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
    std::string text = line(upper(name_of(style.kind)), counts ? "COUNT" : "", head_words(style));
    for (const Result& result : results) {
        std::vector<std::string> words;
        for (std::size_t i = 0; i < style.keys.size(); ++i)
            if (!is_stack(style.keys[i])) words.push_back(result.key[i].text);
        text += line(number_of(result, style), counts ? fmt::to_string(result.count) : "", words);
        text += below(result);
    }
    return text;
}

std::uint64_t slot_from(std::size_t slot) {
    return slot == 0 ? 0 : std::uint64_t{1} << slot;
}

std::uint64_t slot_to(std::size_t slot) {
    return (std::uint64_t{2} << slot) - 1;
}

Json slots_json(const Result& result) {
    Json slots = Json::array();
    for (std::size_t i = 0; i < result.slots.size(); ++i)
        if (result.slots[i] != 0)
            slots.push_back(
                {{"from", slot_from(i)}, {"to", slot_to(i)}, {"count", result.slots[i]}});
    return slots;
}

Json result_json(const Result& result, const TableStyle& style) {
    Json json;
    json["key"] = Json::object();
    for (const KeyPart& part : result.key)
        json["key"][part.name] = part.frames.empty() ? Json::parse(part.json) : Json(part.frames);
    json["count"] = result.count;
    if (has_count(style.kind)) json[name_of(style.kind)] = Json::parse(number_of(result, style));
    if (style.kind != Kind::kHistogram) return json;
    json["negative"] = result.negative;
    json["slots"] = slots_json(result);
    return json;
}

std::string as_json(const std::vector<Result>& results, const TableStyle& style) {
    Json json{{"type", "results"}, {"results", Json::array()}};
    for (const Result& result : results)
        json["results"].push_back(result_json(result, style));
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_head(const TableStyle& style) {
    std::string text = style.kind == Kind::kHistogram ? "from,to,count" : name_of(style.kind);
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

// A line for each power of two; those below 0 are from nowhere.
std::string csv_slots(const Result& result) {
    const std::string keys = csv_keys(result);
    std::string text;
    if (result.negative != 0) text += fmt::format(",-1,{}{}", result.negative, keys);
    for (std::size_t i = 0; i < result.slots.size(); ++i)
        if (result.slots[i] != 0)
            text += fmt::format("{},{},{}{}", slot_from(i), slot_to(i), result.slots[i], keys);
    return text;
}

std::string as_csv(const std::vector<Result>& results, const TableStyle& style) {
    std::string text = csv_head(style);
    for (const Result& result : results) {
        if (style.kind == Kind::kHistogram) {
            text += csv_slots(result);
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
            if (part.frames.empty()) frames.push_back(part.text);
            for (std::size_t i = part.frames.size(); i-- > 0;)
                frames.push_back(part.frames[i].substr(0, part.frames[i].rfind("+0x")));
        }
        text += fmt::format("{} {}\n", fmt::join(frames, ";"), number_of(result, style));
    }
    return text;
}

}  // namespace

std::string table_text(const std::vector<Result>& results, const TableStyle& style) {
    if (style.folded) return as_folded(results, style);
    if (style.style == Style::kJson) return as_json(results, style);
    if (style.style == Style::kCsv) return as_csv(results, style);
    return columns(results, style);
}

}  // namespace djprobe::loader
