// SPDX-License-Identifier: GPL-2.0
// What a trace has seen, as one HTML file that needs no network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace djprobe::loader {

struct ReportColumn {
    std::string name;
    std::string kind;  ///< "number", "text" or "stack"
};

class Report {
  public:
    /// `place`: what was traced. Time begins now.
    explicit Report(std::string place);

    /// Of events: what each row has.
    void set_columns(const std::vector<ReportColumn>& columns);
    /// Of results: "count", "hist", ...; the unit of their values, or "".
    void set_results(const std::string& kind, const std::string& unit);
    /// At a time of CLOCK_MONOTONIC; the row is a JSON array. The first rows are kept, all are
    /// counted.
    void event(std::uint64_t nanoseconds, const std::string& row);
    /// All results so far. Those of the end replace those of a moment ago.
    void results(nlohmann::ordered_json results, bool is_last);
    /// As `probeload trace -j` prints it at the end.
    void ended(nlohmann::ordered_json summary);

    /// What the page shows.
    [[nodiscard]] nlohmann::ordered_json data() const;
    [[nodiscard]] std::string html() const;
    /// Both throw Error(kFailure): before the run, so that it is not in vain, and behind it.
    static void check_file(const std::filesystem::path& file);
    void write(const std::filesystem::path& file) const;

  private:
    [[nodiscard]] nlohmann::ordered_json events() const;

    nlohmann::ordered_json about_;
    std::uint64_t begin_;  // nanoseconds of CLOCK_MONOTONIC
    double seconds_ = 0;
    nlohmann::ordered_json columns_ = nlohmann::ordered_json::array();
    std::string rows_;  // with commas between
    std::size_t kept_ = 0;
    std::uint64_t events_ = 0;
    std::map<std::int64_t, std::uint64_t> by_time_;  // events, by steps since begin_
    nlohmann::ordered_json moments_ = nlohmann::ordered_json::array();
    nlohmann::ordered_json summary_ = nlohmann::ordered_json::object();
};

}  // namespace djprobe::loader
