// SPDX-License-Identifier: GPL-2.0
#include "trace/results_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace djprobe::loader {
namespace {

using AggregationKind = Aggregation::Kind;

constexpr const char* kResults = R"(/* For each CPU its own: none waits for another. */
struct {{
__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
__uint(max_entries, {});
__type(key, struct result_key);
__type(value, struct result);
}} results SEC(".maps");

)";

constexpr const char* kStacks = R"(struct {
__uint(type, BPF_MAP_TYPE_STACK_TRACE);
__uint(max_entries, 16384);
__uint(key_size, sizeof(__u32));
__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

)";

// Indented where the program's text is put together.
constexpr const char* kHighestBit = R"(
/* The number of the highest bit. */
static __always_inline __u32 highest_bit(__u64 value) {
__u32 bit = 0;

if (value >> 32) {
bit += 32;
value >>= 32;
}
if (value >> 16) {
bit += 16;
value >>= 16;
}
if (value >> 8) {
bit += 8;
value >>= 8;
}
if (value >> 4) {
bit += 4;
value >>= 4;
}
if (value >> 2) {
bit += 2;
value >>= 2;
}
return bit + (value >> 1);
}
)";

const char* option_of(AggregationKind kind) {
    switch (kind) {
        case AggregationKind::kCount:
            return "count-by";
        case AggregationKind::kSum:
            return "sum";
        case AggregationKind::kAverage:
            return "avg";
        case AggregationKind::kLeast:
            return "min";
        case AggregationKind::kMost:
            return "max";
        case AggregationKind::kHistogram:
            return "hist";
    }
    return "";
}

std::string number_type(const TracePlan& plan) {
    return plan.value_is_signed ? "__s64" : "__u64";
}

std::string members(const Aggregation& aggregation, const TracePlan& plan) {
    const std::string type = number_type(plan);
    switch (aggregation.kind) {
        case AggregationKind::kCount:
            return "__u64 count;";
        case AggregationKind::kSum:
        case AggregationKind::kAverage:
            return fmt::format("__u64 count;\n{} sum;", type);
        case AggregationKind::kLeast:
        case AggregationKind::kMost:
            return fmt::format("__u64 count;\n{} extreme;", type);
        case AggregationKind::kHistogram:
            if (!aggregation.linear)
                return fmt::format("__u64 negative;\n__u64 slots[{}]; /* by powers of two */",
                                   kSlots);
            return fmt::format("__u64 below;\n__u64 above;\n__u64 slots[{}]; /* of {} each */",
                               aggregation.linear->slots, aggregation.linear->step());
    }
    return "";
}

bool has_stacks(const TracePlan& plan) {
    return std::ranges::any_of(plan.fields,
                               [](const Field& field) { return field.shape == Shape::kStackId; });
}

// The kernel takes the memory for all of them at once, for each CPU.
int most_results(AggregationKind kind, const TracePlan& plan) {
    if (plan.fields.empty()) return 1;
    return kind == AggregationKind::kHistogram ? 1024 : 10240;
}

// Of a number that has no upper half nothing may test it: the verifier of 6.1 follows both ways,
// and then calls the slot out of bounds.
std::string histogram_text(const TracePlan& plan) {
    std::string slot = fmt::format("++result->slots[highest_bit({}value) & {}];",
                                   plan.value_is_wide ? "" : "(__u32)", kSlots - 1);
    if (!plan.value_is_signed) return slot;
    return "if (value < 0)\n    ++result->negative;\nelse\n    " + slot;
}

// Of a number without a sign none is below 0, and clang says so.
std::string linear_text(const Linear& linear, const TracePlan& plan) {
    const std::string number = number_type(plan);
    std::string text = fmt::format(
        "if (value >= ({0}){2}LL) {{\n++result->above;\n}} else {{\n"
        "__u64 slot = ((__u64)value - {1}ULL) / {3};\n\n"
        "/* The verifier does not divide, so clang must not drop the check. */\n"
        "barrier_var(slot);\n"
        "if (slot < {4}) ++result->slots[slot];\n}}",
        number, static_cast<std::uint64_t>(linear.from), linear.to, linear.step(), linear.slots);
    const bool is_any_below = plan.value_is_signed || linear.from > 0;
    if (!is_any_below) return text;
    return fmt::format("if (value < ({}){}LL)\n    ++result->below;\nelse ", number, linear.from) +
           text;
}

std::string add_text(const Aggregation& aggregation, const TracePlan& plan) {
    const AggregationKind kind = aggregation.kind;
    switch (kind) {
        case AggregationKind::kCount:
            return "++result->count;";
        case AggregationKind::kSum:
        case AggregationKind::kAverage:
            return "++result->count;\nresult->sum += value;";
        case AggregationKind::kLeast:
        case AggregationKind::kMost:
            return fmt::format(
                "if (!result->count || value {} result->extreme) result->extreme = value;\n"
                "++result->count;",
                kind == AggregationKind::kLeast ? '<' : '>');
        case AggregationKind::kHistogram:
            return aggregation.linear ? linear_text(*aggregation.linear, plan)
                                      : histogram_text(plan);
    }
    return "";
}

}  // namespace

std::string option_text(const Aggregation& aggregation) {
    const bool counts = aggregation.kind == AggregationKind::kCount;
    std::string text = fmt::format(" --{} '{}'", option_of(aggregation.kind),
                                   counts ? aggregation.keys : aggregation.value);
    if (aggregation.linear) text.insert(text.size() - 1, ":" + aggregation.linear->str());
    if (!counts && !aggregation.keys.empty()) text += " --by '" + aggregation.keys + "'";
    return text;
}

std::string results_text(const Aggregation& aggregation, const TracePlan& plan) {
    std::string text = "/* Results are told apart by this. */\nstruct result_key {\n";
    for (const Field& key : plan.fields)
        text += key.declaration + "\n";
    if (plan.fields.empty()) text += "__u32 all;\n";
    text += "};\n\nstruct result {\n" + members(aggregation, plan) + "\n};\n\n";
    text += fmt::format(fmt::runtime(kResults), most_results(aggregation.kind, plan));
    if (has_stacks(plan)) text += kStacks;
    text += "const struct result nothing = {};\n\n";
    text += "/* Calls whose result had no room. */\n__u64 lost;\n";
    const bool by_powers = aggregation.kind == AggregationKind::kHistogram && !aggregation.linear;
    return by_powers ? text + kHighestBit : text;
}

std::string record_text(const TracePlan& plan) {
    std::string text = "struct result *result;\nstruct result_key key;";
    if (plan.value) text += "\n" + number_type(plan) + " value;";
    return text;
}

std::string update_text(const Aggregation& aggregation, const TracePlan& plan) {
    std::string text = "__builtin_memset(&key, 0, sizeof(key));\n";
    for (const Field& key : plan.fields)
        text += key.fill + "\n";
    if (plan.value) text += "value = " + plan.value->text + ";\n";
    text +=
        "result = bpf_map_lookup_elem(&results, &key);\n"
        "if (!result) {\n"
        "bpf_map_update_elem(&results, &key, &nothing, BPF_NOEXIST);\n"
        "result = bpf_map_lookup_elem(&results, &key);\n"
        "}\n"
        "if (!result) {\n"
        "__sync_fetch_and_add(&lost, 1);\n"
        "return 0;\n"
        "}\n";
    return text + add_text(aggregation, plan);
}

}  // namespace djprobe::loader
