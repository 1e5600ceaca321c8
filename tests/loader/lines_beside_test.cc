// SPDX-License-Identifier: GPL-2.0
// Lines whose first instruction takes no probe, or no jump: others stand in for it.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "expect_error.h"
#include "lines_fixture.h"

namespace djprobe::loader {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Location::Kind;

// What takes no probe is probed by others, which see what they do not change.
TEST_F(Lines, MayBeProbedBeside) {
    Question question;
    parse_place(place("end"), question);
    const Judgement kernel{[](const SiteSpec&) { return Judged{.refused = "a reason"}; },
                           [](const SiteSpec& site) -> std::vector<Beside> {
                               return {{{site.symbol, site.offset - 1, 0}, {"sp"}, false}};
                           }};
    find_sites(debug_, kernel, question, notes_);
    ASSERT_EQ(question.sites.size(), 1U);
    const TraceSite& site = question.sites.front();
    EXPECT_THAT(notes_.beside,
                ElementsAre(HasSubstr(": a reason: the probe is at " + site.site.str())));
    EXPECT_EQ(variable(site, "pair").location.kind, Kind::kNone);
    EXPECT_EQ(variable(site, "always").location.text, "-5");
}

// What gets no jump gives way to a jump that shows the same.
TEST_F(Lines, MayBeProbedBesideForAJump) {
    Beside other{{}, {"sp"}, false, true};
    const auto kernel = [&]() -> Judgement {
        return {[](const SiteSpec&) { return Judged{.int3 = "a reason"}; },
                [&](const SiteSpec& site) -> std::vector<Beside> {
                    other.site = {site.symbol, site.offset + 1, 0};
                    return {other};
                }};
    };
    const auto moves = [&](const std::optional<std::string>& items) {
        Question question;
        parse_place(place("end"), question);
        question.items = items;
        notes_ = {};
        find_sites(debug_, kernel(), question, notes_);
        EXPECT_EQ(question.sites.size(), 1U);
        const bool moved = question.sites.front().site == other.site;
        EXPECT_EQ(notes_.beside.size(), moved ? 1U : 0U);
        if (moved) {
            EXPECT_THAT(notes_.beside.front(), HasSubstr(": no jump: a reason: the probe is at "));
        }
        return moved;
    };
    EXPECT_TRUE(moves("always"));
    EXPECT_FALSE(moves("always, pair.first")) << "pair is found by what is changed";
    EXPECT_FALSE(moves("always, rsp"));
    EXPECT_FALSE(moves(std::nullopt)) << "all variables are shown";
    other.changes_memory = true;
    EXPECT_FALSE(moves("always"));
    other.changes_memory = other.by_jump = false;
    EXPECT_FALSE(moves("always")) << "another int3 is no better";
}

// Two that have the same place beside them would be one event for both.
TEST_F(Lines, DoNotShareAPlaceBesideThem) {
    const SiteSpec both{"outer", 1, 0};
    const auto find_add = [&](const Judged& judged) {
        Question question;
        parse_place(place("add"), question);
        question.items = "always";
        notes_ = {};
        find_sites(debug_,
                   {[&](const SiteSpec&) { return judged; },
                    [&](const SiteSpec&) -> std::vector<Beside> {
                        return {{both, {}, false, true}};
                    }},
                   question, notes_);
        return question;
    };
    const Question refused = find_add({.refused = "a reason"});
    ASSERT_EQ(refused.sites.size(), 1U);
    EXPECT_EQ(refused.sites.front().site, both);
    EXPECT_EQ(notes_.beside.size(), 1U);
    EXPECT_THAT(notes_.left_out,
                ElementsAre(HasSubstr("what runs as often is probed already: outer+0x1")));
    const Question int3 = find_add({.int3 = "a reason"});
    EXPECT_EQ(int3.sites.size(), 2U) << "the second one stays where it is";
    EXPECT_THAT(notes_.left_out, testing::IsEmpty());
}

// What runs as often is several places together: one of them that is probed is not enough.
TEST_F(Lines, ShareAPlaceBesideThemIfTheyHaveOthers) {
    Question question = find_both();
    ASSERT_EQ(question.sites.size(), 2U);
    const SiteSpec first = question.sites[0].site, second = question.sites[1].site;
    const SiteSpec other{"outer", 1, 0};
    question.sites.clear();
    find_sites(debug_,
               {[&](const SiteSpec& site) {
                    return site == first ? Judged{.refused = "a reason"} : Judged{};
                },
                [&](const SiteSpec&) -> std::vector<Beside> {
                    return {{second, {}, false, true}, {other, {}, false, true}};
                }},
               question, notes_);
    std::vector<std::string> sites;
    for (const TraceSite& one : question.sites)
        sites.push_back(one.site.str());
    EXPECT_THAT(sites, testing::UnorderedElementsAre(second.str(), other.str()));
    EXPECT_THAT(notes_.beside,
                ElementsAre(HasSubstr("; " + second.str() + " shows another place of the line")));
    EXPECT_THAT(notes_.left_out, testing::IsEmpty());
}

// One that stays at its int3 may give way: it takes a place last.
TEST_F(Lines, TakePlacesBesideThemFirstWhereTheyHaveNone) {
    Question question = find_both();
    ASSERT_EQ(question.sites.size(), 2U);
    for (const TraceSite& refused : std::vector(question.sites)) {
        question.sites.clear();
        find_sites(debug_,
                   {[&](const SiteSpec& site) {
                        return site == refused.site ? Judged{.refused = "a reason"}
                                                    : Judged{.int3 = "a reason"};
                    },
                    [&](const SiteSpec&) -> std::vector<Beside> {
                        return {{{"outer", 1, 0}, {}, false, true}};
                    }},
                   question, notes_);
        EXPECT_EQ(question.sites.size(), 2U);
    }
    EXPECT_THAT(notes_.left_out, testing::IsEmpty());
}

// Its value there would pass for the one at the line.
TEST_F(Lines, AreLeftOutWhereARegisterThatIsAskedForIsAnother) {
    Question question;
    parse_place(place("end"), question);
    question.items = "always, eax";
    const Judgement kernel{[](const SiteSpec&) { return Judged{.refused = "a reason"}; },
                           [](const SiteSpec& site) -> std::vector<Beside> {
                               return {{{site.symbol, site.offset + 1, 0}, {"ax"}, true, true}};
                           }};
    EXPECT_THAT(
        expect_error(ExitCode::kNoSuchSite, [&] { find_sites(debug_, kernel, question, notes_); }),
        HasSubstr("which runs as often, eax may be another"));
    question.items = "always";
    find_sites(debug_, kernel, question, notes_);
    EXPECT_THAT(notes_.beside, ElementsAre(HasSubstr("; memory may be changed between the two")));
}

}  // namespace
}  // namespace djprobe::loader
