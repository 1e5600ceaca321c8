// SPDX-License-Identifier: GPL-2.0
// The results that a trace keeps in the kernel, read.
#pragma once

#include <bpf/libbpf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/symbolizer.h"
#include "trace/field.h"
#include "trace/question.h"

namespace djprobe::loader {

/// One part of a result's key, in words.
struct KeyPart {
    std::string name;
    std::string text;
    std::string json;
    std::vector<std::string> frames;  ///< of a stack, innermost first
};

struct Result {
    std::vector<KeyPart> key;
    std::uint64_t count = 0;
    std::uint64_t number = 0;            ///< the sum, or the least or largest value
    std::uint64_t negative = 0;          ///< of a histogram: below its first slot
    std::vector<std::uint64_t> slots{};  ///< of a histogram, by powers of two or equal steps
    std::uint64_t above = 0;             ///< of one by equal steps: beyond its last slot
};

/// What to read and how to take it.
struct ResultsOf {
    const bpf_object* object;
    const std::vector<Field>& keys;
    Aggregation::Kind kind;
    bool is_signed;
    std::optional<Linear> linear{};
};

/// Over all CPUs, the largest first. Only the first `most` have their keys in words.
std::vector<Result> read_results(const ResultsOf& of, std::size_t most, Symbolizer& symbolizer);

}  // namespace djprobe::loader
