// SPDX-License-Identifier: GPL-2.0
// Places in lines_sample.c, found by the debug information of its object.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "debuginfo/variables.h"
#include "trace/find_sites.h"

namespace djprobe::loader {

class Lines : public testing::Test {
  protected:
    // The number of the line that is marked so.
    static unsigned line(const std::string& word) {
        std::ifstream file(DJPROBE_LINES_SAMPLE ".c");
        unsigned number = 0;
        for (std::string text; std::getline(file, text);) {
            ++number;
            if (text.find("LINE: " + word) != text.npos) return number;
        }
        return 0;
    }
    static std::string place(const std::string& word) {
        return "lines_sample.c:" + std::to_string(line(word));
    }
    Question find(const std::string& text, const Judge& judge = accept) {
        Question question;
        parse_place(text, question);
        find_sites(debug_, {judge}, question, notes_);
        return question;
    }
    Question find_inlined(const std::string& function, const SiteFlow& flow = {}) {
        Question question;
        parse_place(function, question);
        question.inlined = true;
        find_sites(debug_, {.judge = accept, .flow = flow}, question, notes_);
        return question;
    }
    /// A line with two copies.
    Question find_both() {
        Question question;
        parse_place(place("add"), question);
        question.items = "always";
        find_sites(debug_, {accept}, question, notes_);
        return question;
    }
    static Judged accept(const SiteSpec&) { return {}; }
    static const SourceVariable& variable(const TraceSite& site, const std::string& name) {
        return *std::ranges::find(site.variables, name, &SourceVariable::name);
    }

    DwarfFile debug_ = DwarfFile::open(DJPROBE_LINES_OBJECT);
    SiteNotes notes_;
};

}  // namespace djprobe::loader
