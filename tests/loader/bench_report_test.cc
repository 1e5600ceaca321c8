// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "bench/report.h"

namespace djprobe::loader {
namespace {

using testing::HasSubstr;
using testing::Not;

BenchCase a_case(const char* mechanism, Body body, const char* site, std::vector<double> values) {
    const bool entry = std::string_view(site) == "entry";
    return {find_mechanism(mechanism),
            body,
            {site, "f<>&", entry ? 5U : 22U, entry},
            "jmp +0x5",
            "",
            std::move(values),
            {700, 702, 704}};
}

BenchReport a_report() {
    BenchReport report;
    report.kernel = "6.1.0-test";
    report.unit = {true, 1};
    report.workload = "call()";
    report.function = "f<>&";
    report.rounds = 3;
    report.blocks = {4, 100};
    report.cases = {
        a_case("djprobe-jump", Body::kEmpty, "entry", {44, 45, 46}),
        a_case("djprobe-jump", Body::kCounter, "entry", {70, 70, 70}),
        a_case("kprobe-multi", Body::kEmpty, "entry", {}),
        a_case("kprobe-multi", Body::kCounter, "entry", {}),
        a_case("fentry", Body::kEmpty, "entry", {120, 127, 160}),
        a_case("fentry", Body::kCounter, "entry", {147, 147, 147}),
        a_case("djprobe-jump", Body::kEmpty, "middle", {48, 48, 48}),
        a_case("djprobe-jump", Body::kCounter, "middle", {68, 68, 68}),
    };
    for (BenchCase& one : report.cases) {
        if (!one.per_hit.empty()) continue;
        one.unavailable = "Operation not supported";
        one.seen.clear();
    }
    return report;
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        found.push_back(line);
    return found;
}

TEST(BenchTable, tells_unit_and_baseline) {
    const std::string table = report_table(a_report());
    EXPECT_THAT(table, HasSubstr("unit: instructions: the clock counts 1 ns for each"));
    EXPECT_THAT(table, HasSubstr("without a probe (702)"));
    BenchReport report = a_report();
    report.unit = {};
    EXPECT_THAT(report_table(report), HasSubstr("unit: ns\n"));
    EXPECT_THAT(report_table(report), HasSubstr("45.0 (44.5..45.5)"));
}

TEST(BenchTable, has_a_row_for_each_mechanism_and_site) {
    const std::vector<std::string> all = lines(report_table(a_report()));
    ASSERT_GE(all.size(), 9U);
    EXPECT_EQ(all[4], "SITE    MECHANISM     PLACE      SEEN      empty           counter");
    EXPECT_EQ(all[5], "entry   djprobe-jump  f<>&+0x5   jmp +0x5  45 (44..46)     70 (70..70)");
    EXPECT_EQ(all[6], "entry   kprobe-multi  f<>&       -         -               -");
    EXPECT_EQ(all[7], "entry   fentry        f<>&       jmp +0x5  127 (124..144)  147 (147..147)");
    EXPECT_EQ(all[8], "middle  djprobe-jump  f<>&+0x16  jmp +0x5  48 (48..48)     68 (68..68)");
}

TEST(BenchTable, says_once_why_something_is_missing) {
    const std::string table = report_table(a_report());
    const std::string reason = "no kprobe-multi at f<>&: Operation not supported\n";
    EXPECT_THAT(table, testing::EndsWith("\n\n" + reason));
    EXPECT_EQ(table.find(reason), table.rfind(reason));
}

TEST(BenchTable, leaves_out_programs_that_were_not_asked_for) {
    BenchReport report = a_report();
    std::erase_if(report.cases, [](const BenchCase& one) { return one.body == Body::kEmpty; });
    EXPECT_THAT(report_table(report), Not(HasSubstr("empty")));
}

TEST(BenchJson, has_an_object_for_each_and_a_summary) {
    const BenchReport report = a_report();
    const std::vector<std::string> all = lines(report_json(report));
    ASSERT_EQ(all.size(), report.cases.size() + 1);
    const auto first = nlohmann::json::parse(all[0]);
    EXPECT_EQ(first["type"], "result");
    EXPECT_EQ(first["site"], "entry");
    EXPECT_EQ(first["mechanism"], "djprobe-jump");
    EXPECT_EQ(first["program"], "empty");
    EXPECT_EQ(first["place"], "f<>&+0x5");
    EXPECT_EQ(first["unit"], "instructions");
    EXPECT_EQ(first["median"], 45);
    EXPECT_EQ(first["q1"], 44.5);
    EXPECT_EQ(first["baseline"], 702);
    EXPECT_EQ(first["seen"], "jmp +0x5");
    EXPECT_FALSE(first.contains("unavailable"));
    const auto missing = nlohmann::json::parse(all[2]);
    EXPECT_EQ(missing["unavailable"], "Operation not supported");
    EXPECT_FALSE(missing.contains("median"));
    const auto summary = nlohmann::json::parse(all.back());
    EXPECT_EQ(summary["type"], "summary");
    EXPECT_EQ(summary["kernel"], "6.1.0-test");
    EXPECT_EQ(summary["rounds"], 3);
}

/// What is wrong with it as XML of the simple kind that we write; empty: nothing.
std::string check_xml(const std::string& text) {
    static const std::regex tag(R"(<(/?)([a-zA-Z]+)((?: [-a-zA-Z0-9]+="[^"<]*")*)(/?)>)");
    static const std::regex stray(R"([<>]|&(?!(?:amp|lt|gt|quot);))");
    std::vector<std::string> open;
    std::size_t roots = 0;
    auto at = text.cbegin();
    for (std::sregex_iterator match(text.begin(), text.end(), tag), end; match != end; ++match) {
        const std::string between(at, (*match)[0].first);
        if (std::regex_search(between, stray)) return "stray character in: " + between;
        at = (*match)[0].second;
        const std::string name = (*match)[2];
        if ((*match)[1].length() != 0) {
            if (open.empty() || open.back() != name) return "unexpected </" + name + ">";
            open.pop_back();
        } else {
            if (open.empty()) ++roots;
            if ((*match)[4].length() == 0) open.push_back(name);
        }
    }
    if (!open.empty()) return "<" + open.back() + "> is not closed";
    return roots == 1 ? "" : "not one root";
}

TEST(BenchSvg, the_check_finds_what_is_wrong) {
    EXPECT_EQ(check_xml("<a><b c=\"d\"/>&lt;</a>"), "");
    EXPECT_NE(check_xml("<a><b></a>"), "");
    EXPECT_NE(check_xml("<a>1 < 2</a>"), "");
    EXPECT_NE(check_xml("<a>&</a>"), "");
    EXPECT_NE(check_xml("<a/><a/>"), "");
}

TEST(BenchSvg, is_well_formed) {
    EXPECT_EQ(check_xml(report_svg(a_report())), "");
    EXPECT_EQ(check_xml(report_svg(BenchReport{})), "");
}

TEST(BenchSvg, has_a_bar_with_its_value_for_each_measured_case) {
    const std::string svg = report_svg(a_report());
    const auto count = [&](const std::string& text) {
        std::size_t found = 0;
        for (auto at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1))
            ++found;
        return found;
    };
    EXPECT_EQ(count("<rect"), 6U);
    EXPECT_EQ(count("class=\"ours\""), 4U);
    EXPECT_EQ(count(">147</text>"), 1U);
    EXPECT_EQ(count("<line"), 2U);  // where the quartiles differ
    EXPECT_EQ(count("class=\"panel\""), 4U);
}

TEST(BenchSvg, cheapest_first_and_lengths_in_proportion) {
    BenchReport report = a_report();
    std::ranges::reverse(report.cases);
    const std::string svg = report_svg(report);
    EXPECT_LT(svg.find("djprobe-jump"), svg.find("fentry"));
    std::vector<double> widths;
    const std::regex bar("<rect [^>]*width=\"([0-9.]+)\"");
    for (std::sregex_iterator at(svg.begin(), svg.end(), bar), end; at != end; ++at)
        widths.push_back(std::stod((*at)[1]));
    ASSERT_EQ(widths.size(), 6U);
    EXPECT_NEAR(widths[1] / widths[0], 127.0 / 45, 0.02);  // the empty program at the entry
}

}  // namespace
}  // namespace djprobe::loader
