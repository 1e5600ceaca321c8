// SPDX-License-Identifier: GPL-2.0
#include "failure.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace djprobe::model {
namespace {

constexpr size_t kKept = 60;
std::string recipe = "";
std::array<std::array<char, 120>, kKept> notes;
size_t noted = 0;

}  // namespace

void set_recipe(std::string text) {
    recipe = std::move(text);
    noted = 0;
}

void note(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    auto& line = notes[noted++ % kKept];
    vsnprintf(line.data(), line.size(), format, arguments);
    va_end(arguments);
}

void fail(const char* format, ...) {
    for (size_t i = noted > kKept ? noted - kKept : 0; i < noted; ++i)
        fprintf(stderr, "%5zu %s\n", i, notes[i % kKept].data());
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "policy model: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; again: %s\n", recipe.c_str());
    va_end(arguments);
    _Exit(1);
}

}  // namespace djprobe::model
