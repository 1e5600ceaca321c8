// SPDX-License-Identifier: GPL-2.0
// The report of a trace: a page that has its data, and asks no network for anything.
#include <gmock/gmock.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <regex>

#include "expect_error.h"
#include "report/report.h"
#include "small_files.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t now() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

// As a browser finds it.
Json data_of(const std::string& page) {
    const std::string begin = R"(<script type="application/json" id="data">)";
    const std::size_t at = page.find(begin) + begin.size();
    return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST(HtmlReport, has_the_events_that_came) {
    Report report("vfs_read:return");
    report.set_columns({{"comm", "text"}, {"latency", "number"}});
    const std::uint64_t begin = now();
    report.event(begin + 1'000'000'000, R"("</script><b>",250)");
    report.event(begin + 1'000'000'000, R"("dd",7)");
    report.event(begin + 2'000'000'000, R"("dd",8)");
    report.ended({{"probes", Json::array()}, {"events", {{"received", 3}, {"lost", 5}}}});
    const std::string page = report.html();
    const Json data = data_of(page);
    EXPECT_EQ(data["place"], "vfs_read:return");
    EXPECT_EQ(data["events"]["total"], 3);
    EXPECT_EQ(data["events"]["columns"][1], (Json{{"name", "latency"}, {"kind", "number"}}));
    ASSERT_EQ(data["events"]["rows"].size(), 3U);
    EXPECT_EQ(data["events"]["rows"][0][1], "</script><b>");
    EXPECT_NEAR(data["events"]["rows"][1][0].get<double>(), 1.0, 0.5);
    EXPECT_EQ(data["events"]["rows"][1][2], 7);
    std::uint64_t by_time = 0;
    for (const Json& step : data["events"]["by_time"])
        by_time += step[1].get<std::uint64_t>();
    EXPECT_EQ(by_time, 3U);
    EXPECT_EQ(data["summary"]["events"]["lost"], 5);
    EXPECT_FALSE(data["machine"]["kernel"].get<std::string>().empty());
    EXPECT_THAT(data["command"].get<std::string>(), testing::HasSubstr("loader_tests"));
}

TEST(HtmlReport, has_results_over_time) {
    Report report("vfs_*");
    report.set_results("hist", "nanoseconds");
    const auto moment = [&](int count, bool is_last) {
        report.results(Json::array({{{"key", {{"func", "vfs_read"}}}, {"count", count}}}), is_last);
    };
    for (int count = 1; count <= 700; ++count)
        moment(count, false);
    moment(701, true);
    report.ended(Json::object());
    const Json data = report.data();
    EXPECT_EQ(data["results"], "hist");
    EXPECT_EQ(data["unit"], "nanoseconds");
    EXPECT_LE(data["moments"].size(), 601U) << "a long run keeps each second one";
    EXPECT_EQ(data["moments"].back()["results"][0]["count"], 701);
    EXPECT_FALSE(data.contains("events"));
}

TEST(HtmlReport, keeps_some_rows_and_counts_all) {
    Report report("vfs_read");
    report.set_columns({{"count", "number"}});
    for (int i = 0; i < 50'010; ++i)
        report.event(now(), "1");
    EXPECT_EQ(report.data()["events"]["rows"].size(), 50'000U);
    EXPECT_EQ(report.data()["events"]["total"], 50'010);
}

// What would load is an attribute, an import or a call; names of namespaces load nothing.
TEST(HtmlReport, needs_no_network) {
    const std::string page = Report("vfs_read").html();
    EXPECT_THAT(page, testing::HasSubstr("default-src 'none'"));
    EXPECT_THAT(page, testing::HasSubstr("Mike Bostock"));
    for (const char* const loads :
         {R"(\s(src|href|action|data|poster)\s*=\s*["']?(https?:)?//)", R"(@import)",
          R"(url\(\s*["']?(https?:)?//)", R"(<link)", R"(<iframe)"})
        EXPECT_FALSE(std::regex_search(page.substr(0, page.find("</style>")), std::regex(loads)))
            << loads;
    std::size_t scripts = 0;
    for (std::size_t at = 0; (at = page.find("<script", at)) != std::string::npos; ++at) {
        const std::string tag = page.substr(at, page.find('>', at) - at);
        EXPECT_THAT(tag, testing::Not(testing::HasSubstr("src")));
        ++scripts;
    }
    EXPECT_GE(scripts, 3U);
    std::size_t urls = 0;
    for (std::size_t at = 0; (at = page.find("://", at)) != std::string::npos; ++at) {
        const std::string_view url = std::string_view(page).substr(at + 3, 13);
        EXPECT_TRUE(url.starts_with("www.w3.org") || url.starts_with("d3js.org")) << url;
        ++urls;
    }
    EXPECT_GE(urls, 2U) << "the names of SVG and of XHTML";
}

TEST(HtmlReport, fails_before_the_run_where_it_cannot_be_written) {
    EXPECT_EQ(expect_error(ExitCode::kFailure, [] { Report::check_file("/none/a.html"); }),
              "--report: /none/a.html: No such file or directory");
    const Files files;
    const auto file = files.path() / "a.html";
    Report::check_file(file);
    EXPECT_FALSE(std::filesystem::exists(file)) << "what fails later leaves no empty page";
    Report("vfs_read").write(file);
    const auto size = std::filesystem::file_size(file);
    Report::check_file(file);
    EXPECT_EQ(std::filesystem::file_size(file), size);
    EXPECT_GT(std::filesystem::file_size(file), 100'000U);
    const SmallFiles full(10'000);
    EXPECT_EQ(expect_error(ExitCode::kFailure, [&] { Report("vfs_write").write(file); }),
              "--report: " + file.string() + ": File too large");
    EXPECT_EQ(std::filesystem::file_size(file), size) << "the page of before stays";
}

}  // namespace
}  // namespace djprobe::loader
