// SPDX-License-Identifier: GPL-2.0
// The dashboard for Grafana asks for what probeload exports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "made_reports.h"
#include "metrics/families.h"

namespace djprobe::loader {
namespace {

using NameSet = std::set<std::string>;

/// A session that has all there is to export.
Summary of_everything() {
    Summary summary;
    summary.attachments = {at_site(probe())};
    summary.received = 1;
    summary.loss = Loss{0, 0};
    summary.variables = {{"calls", "", "", {{"reads", 1}}}};
    summary.maps.entries = {{"counts", "", "", "dd", {{"bytes", 1}}}};
    const std::vector<std::uint64_t> slots = {1, 2};
    Distribution times = by_powers_of_two(slots, 1, kMostTimeBits);
    times.unit = Distribution::Unit::kNanoseconds;
    times.labels = {{"from", "vfs_read"}, {"to", "vfs_read:return"}};
    Distribution values = by_powers_of_two(slots, 0, kMostValueBits);
    values.labels = {{"site", "vfs_read"}, {"of", "count"}};
    summary.distributions = {times, values};
    return summary;
}

/// All matches of the first group.
NameSet all_matches(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    NameSet names;
    for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
        names.insert((*at)[1]);
    return names;
}

/// Each metric with its labels, as Prometheus reads them.
std::map<std::string, NameSet> exported() {
    std::stringstream text;
    prometheus::TextSerializer().Serialize(text, metric_families(of_everything()));
    std::map<std::string, NameSet> metrics;
    for (std::string line; std::getline(text, line);)
        if (line.front() != '#')
            metrics[line.substr(0, line.find_first_of("{ "))].merge(
                all_matches(line, "[{,]([a-z_]+)=\""));
    return metrics;
}

const nlohmann::json& dashboard() {
    static const auto parsed = nlohmann::json::parse(std::ifstream(DJPROBE_DASHBOARD));
    return parsed;
}

struct Query {
    std::string expression, legend;
};

std::vector<Query> queries() {
    std::vector<Query> all;
    for (const auto& panel : dashboard().at("panels"))
        for (const auto& target : panel.at("targets"))
            all.push_back({target.at("expr"), target.at("legendFormat")});
    for (const auto& variable : dashboard().at("templating").at("list"))
        if (variable.at("type") == "query") all.push_back({variable.at("query").at("query"), ""});
    return all;
}

constexpr const char* kMetric = "\\b(djprobe_[a-z_]+)";

NameSet labels_in(const Query& query) {
    NameSet labels = all_matches(query.expression, "[{,]\\s*([a-z_]+)\\s*(?:=~|!~|!=|=)");
    labels.merge(all_matches(query.legend, "\\{\\{([a-z_]+)\\}\\}"));
    labels.merge(all_matches(query.expression, "label_values\\([a-z_]+, *([a-z_]+)\\)"));
    for (const std::string& list : all_matches(query.expression, "\\bby \\(([^)]*)\\)"))
        labels.merge(all_matches(list, "([a-z_]+)"));
    return labels;
}

TEST(Dashboard, asks_for_metrics_and_labels_that_probeload_exports) {
    const std::map<std::string, NameSet> metrics = exported();
    ASSERT_GT(queries().size(), 10U);
    for (const Query& query : queries()) {
        // Prometheus adds where it has scraped them.
        NameSet known = {"instance", "job"};
        const NameSet asked = all_matches(query.expression, kMetric);
        EXPECT_FALSE(asked.empty()) << query.expression;
        for (const std::string& metric : asked) {
            ASSERT_TRUE(metrics.contains(metric)) << metric << " in " << query.expression;
            known.insert(metrics.at(metric).begin(), metrics.at(metric).end());
        }
        for (const std::string& label : labels_in(query))
            EXPECT_TRUE(known.contains(label)) << label << " in " << query.expression;
    }
}

TEST(Dashboard, leaves_out_no_metric) {
    NameSet asked;
    for (const Query& query : queries())
        asked.merge(all_matches(query.expression, kMetric));
    // A value's sum is not known, and its count is that of its largest bucket.
    const NameSet not_shown = {"djprobe_value_sum", "djprobe_value_count"};
    for (const auto& [metric, labels] : exported())
        EXPECT_NE(asked.contains(metric), not_shown.contains(metric)) << metric;
}

TEST(Dashboard, has_a_name_and_each_panel_a_place_of_its_own) {
    EXPECT_EQ(dashboard().at("uid"), "djprobe");
    std::set<std::pair<int, int>> places;
    NameSet ids;
    for (const auto& panel : dashboard().at("panels")) {
        places.emplace(panel.at("gridPos").at("x").get<int>(),
                       panel.at("gridPos").at("y").get<int>());
        ids.insert(panel.at("id").dump());
    }
    EXPECT_EQ(places.size(), dashboard().at("panels").size());
    EXPECT_EQ(ids.size(), places.size());
}

}  // namespace
}  // namespace djprobe::loader
