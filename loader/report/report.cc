// SPDX-License-Identifier: GPL-2.0
#include "report/report.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/whole_file.h"
#include "report/page.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;

// What a browser draws and searches at once.
constexpr std::size_t kMostRows = 50'000;
constexpr std::size_t kMostBytes = std::size_t{32} << 20;
// Steps in which events are counted over time.
constexpr std::uint64_t kStep = 10'000'000;
// Moments of results: of a longer run each second one goes.
constexpr std::size_t kMostMoments = 600;

std::uint64_t now(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

bool needs_quotes(const std::string& word) {
    return word.empty() || word.find_first_not_of(
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               "_-+=:,./@%") != std::string::npos;
}

std::string quoted(const std::string& word) {
    if (!needs_quotes(word)) return word;
    std::string text = "'";
    for (const char letter : word)
        text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return text + "'";
}

// As the shell was given it.
std::string command_line() {
    std::ifstream stream("/proc/self/cmdline", std::ios::binary);
    const std::string all(std::istreambuf_iterator<char>(stream), {});
    std::string text;
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\0', at), all.size());
        text += (text.empty() ? "" : " ") + quoted(all.substr(at, end - at));
        at = end + 1;
    }
    return text;
}

Json describe_machine() {
    Json json;
    utsname name = {};
    if (uname(&name) == 0) {
        json["kernel"] = name.release;
        json["version"] = name.version;
        json["host"] = name.nodename;
    }
    json["cpus"] = sysconf(_SC_NPROCESSORS_ONLN);
    return json;
}

// A script must not end, nor a comment begin, within a string.
std::string in_script(const std::string& json) {
    std::string text;
    for (const char letter : json)
        text += letter == '<' ? std::string("\\u003c") : std::string(1, letter);
    return text;
}

std::string in_markup(const std::string& words) {
    std::string text;
    for (const char letter : words) {
        if (letter == '<')
            text += "&lt;";
        else if (letter == '&')
            text += "&amp;";
        else
            text += letter;
    }
    return text;
}

std::string replaced(std::string text, std::string_view mark, const std::string& by) {
    const std::size_t at = text.find(mark);
    return at == text.npos ? text : text.replace(at, mark.size(), by);
}

}  // namespace

Report::Report(std::string place) : begin_(now(CLOCK_MONOTONIC)) {
    about_["place"] = std::move(place);
    about_["command"] = command_line();
    about_["machine"] = describe_machine();
    about_["began"] = now(CLOCK_REALTIME) / 1'000'000;
}

void Report::set_columns(const std::vector<ReportColumn>& columns) {
    for (const ReportColumn& column : columns)
        columns_.push_back({{"name", column.name}, {"kind", column.kind}});
}

void Report::set_results(const std::string& kind, const std::string& unit) {
    about_["results"] = kind;
    about_["unit"] = unit;
}

void Report::event(std::uint64_t nanoseconds, const std::string& row) {
    const std::uint64_t since = nanoseconds > begin_ ? nanoseconds - begin_ : 0;
    ++events_;
    ++by_time_[static_cast<std::int64_t>(since / kStep)];
    if (kept_ == kMostRows || rows_.size() + row.size() > kMostBytes) return;
    rows_ += fmt::format("{}[{:.6f},{}]", kept_++ == 0 ? "" : ",", static_cast<double>(since) / 1e9,
                         row);
}

void Report::results(Json results, bool is_last) {
    const double at = static_cast<double>(now(CLOCK_MONOTONIC) - begin_) / 1e9;
    if (moments_.size() >= kMostMoments && !is_last) {
        Json fewer = Json::array();
        for (std::size_t i = 1; i < moments_.size(); i += 2)
            fewer.push_back(std::move(moments_[i]));
        moments_ = std::move(fewer);
    }
    moments_.push_back({{"at", at}, {"results", std::move(results)}});
}

void Report::ended(Json summary) {
    seconds_ = static_cast<double>(now(CLOCK_MONOTONIC) - begin_) / 1e9;
    summary_ = std::move(summary);
}

Json Report::events() const {
    Json json;
    json["columns"] = columns_;
    json["total"] = events_;
    json["step"] = static_cast<double>(kStep) / 1e9;
    json["by_time"] = Json::array();
    for (const auto& [step, count] : by_time_)
        json["by_time"].push_back({step, count});
    json["rows"] = Json::parse("[" + rows_ + "]", nullptr, false);
    return json;
}

Json Report::data() const {
    Json json = about_;
    json["seconds"] = seconds_;
    if (!columns_.empty()) json["events"] = events();
    json["moments"] = moments_;
    json["summary"] = summary_;
    return json;
}

std::string Report::html() const {
    const std::string json = data().dump(-1, ' ', true, Json::error_handler_t::replace);
    const std::string page = replaced(std::string(kReportPage), "@TITLE@",
                                      in_markup(about_["place"].get<std::string>()));
    return replaced(page, "@DATA@", in_script(json));
}

void Report::check_file(const std::filesystem::path& file) {
    check_writable("--report", file);
}

void Report::write(const std::filesystem::path& file) const {
    write_whole("--report", file, html());
}

}  // namespace djprobe::loader
