// SPDX-License-Identifier: GPL-2.0
// Questions, and the programs that answer them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "trace/program.h"

namespace djprobe::loader {

// With the types of a whole kernel.
class TraceQuestions : public testing::Test {
  protected:
    static Types types() { return Types::read(std::string(DJPROBE_KERNEL) + "/vmlinux", ""); }

    static Question question(const std::string& place, const std::string& items = "",
                             const std::string& condition = "") {
        Question question;
        parse_place(place, question);
        if (!items.empty()) question.items = items;
        if (!condition.empty()) question.condition = condition;
        return question;
    }
    static std::string source(const Question& question) {
        Types all = types();
        return write_program(question, all).source;
    }
};

}  // namespace djprobe::loader
