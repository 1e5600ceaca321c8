// SPDX-License-Identifier: GPL-2.0
#include "library/measurement.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "blocks/block_measurement.h"
#include "count/count_measurement.h"
#include "cover/cover_measurement.h"
#include "latency/latency_measurement.h"
#include "library/asked.h"
#include "library/call.h"
#include "object/libbpf_log.h"

using namespace djprobe::loader;

namespace {

using Sites = std::vector<SiteSpec>;

// Nothing that is asked is passed over without a word.
void refuse(bool given, const probeload_question& asked, const char* name) {
    if (given) fail(ExitCode::kUsage, "result '{}': {} is not for it", asked.result, name);
}

// As they are written in a shell, without quotes.
Sites sites_of(const probeload_question& asked) {
    Sites sites;
    std::istringstream words(asked.place);
    for (std::string word; words >> word;) {
        SiteSpec site = parse_site(word);
        if (std::ranges::find(sites, site) == sites.end()) sites.push_back(std::move(site));
    }
    if (sites.empty()) fail(ExitCode::kUsage, "the question's place is empty");
    return sites;
}

// Actions of a detour compare no others.
TaskFilter tasks_of(const probeload_question& asked) {
    const TaskFilters filters = task_filters(asked);
    refuse(filters.uid.has_value(), asked, "uid");
    refuse(filters.cpu.has_value(), asked, "cpu");
    refuse(filters.cgroup.has_value(), asked, "cgroup");
    return {filters.pid, filters.tid, filters.comm};
}

void fill(const probeload_question& asked, CountOptions& options) {
    refuse(is_given(asked.by), asked, "by");
    refuse(is_given(asked.to), asked, "to");
    options.json = true;
    options.tasks = tasks_of(asked);
    if (is_given(asked.condition)) options.conditions = asked.condition;
}

// What is begun, and what it is begun with.
struct Beginning {
    const probeload_question& asked;
    std::string operand;  // of a histogram
    Symbolizer& symbolizer;
    const StopSignals& stop;
};

using Made = std::unique_ptr<Measurement>;

CountOptions count_options(const Beginning& with) {
    check_flags(with.asked, kTaskFlags);
    refuse(is_given(with.asked.debuginfo), with.asked, "debuginfo");
    CountOptions options;
    fill(with.asked, options);
    options.sites = sites_of(with.asked);
    return options;
}

Made begin_count(const Beginning& with) {
    return std::make_unique<CountMeasurement>(count_options(with), with.symbolizer, with.stop);
}

Made begin_histogram(const Beginning& with) {
    CountOptions options = count_options(with);
    if (options.sites.size() > 1 || options.sites.front().is_glob())
        fail(ExitCode::kUsage, "'{}': a histogram is of one place", with.asked.place);
    if (with.operand.empty())
        fail(ExitCode::kUsage, "result '{}': write hist OPERAND", with.asked.result);
    options.histogram_of = with.operand;
    return std::make_unique<CountMeasurement>(options, with.symbolizer, with.stop);
}

Made begin_blocks(const Beginning& with, bool lines) {
    check_flags(with.asked, kTaskFlags);
    refuse(is_given(with.asked.condition), with.asked, "condition");
    refuse(!lines && is_given(with.asked.debuginfo), with.asked, "debuginfo");
    BlockOptions options;
    fill(with.asked, options);
    options.sites = sites_of(with.asked);
    options.lines = lines;
    if (is_given(with.asked.debuginfo)) options.debuginfo = with.asked.debuginfo;
    return std::make_unique<BlockMeasurement>(options, with.symbolizer, with.stop);
}

Made begin_cover(const Beginning& with, bool lines) {
    check_flags(with.asked, kTaskFlags | PROBELOAD_ONCE);
    refuse(is_given(with.asked.condition), with.asked, "condition");
    refuse(is_given(with.asked.by), with.asked, "by");
    refuse(is_given(with.asked.to), with.asked, "to");
    refuse(!lines && is_given(with.asked.debuginfo), with.asked, "debuginfo");
    CoverOptions options;
    options.json = true;
    options.tasks = tasks_of(with.asked);
    options.sites = sites_of(with.asked);
    options.lines = lines;
    options.once = (with.asked.flags & PROBELOAD_ONCE) != 0;
    if (is_given(with.asked.debuginfo)) options.debuginfo = with.asked.debuginfo;
    return std::make_unique<CoverMeasurement>(options, with.symbolizer, with.stop);
}

Made begin_latency(const Beginning& with) {
    const probeload_question& asked = with.asked;
    check_flags(asked, 0);
    refuse(task_filters(asked).any(), asked, "a filter of tasks");
    refuse(is_given(asked.condition), asked, "condition");
    refuse(is_given(asked.debuginfo), asked, "debuginfo");
    if (!is_given(asked.to))
        fail(ExitCode::kUsage, "result 'latency': `to` is null: say where it ends");
    LatencyOptions options;
    options.json = true;
    options.backend = Backend::kDjprobe;
    options.style.from = asked.place;
    options.style.to = asked.to;
    options.from = parse_latency_end(options.style.from);
    options.to = parse_latency_end(options.style.to);
    if (is_given(asked.by)) options.style.by = parse_latency_by(asked.by);
    return std::make_unique<LatencyMeasurement>(options, with.symbolizer, with.stop);
}

std::string in_single_spaces(const char* text) {
    std::istringstream words(text);
    std::string result;
    for (std::string word; words >> word;)
        result += (result.empty() ? "" : " ") + word;
    return result;
}

Made begin_measurement(const Beginning& with) {
    const std::string result = in_single_spaces(with.asked.result);
    if (result == "count") return begin_count(with);
    if (result == "count blocks") return begin_blocks(with, false);
    if (result == "count lines") return begin_blocks(with, true);
    if (result == "cover") return begin_cover(with, false);
    if (result == "cover lines") return begin_cover(with, true);
    if (result == "latency") return begin_latency(with);
    constexpr std::string_view kHistogram = "hist";
    const bool is_histogram = result == kHistogram || result.starts_with("hist ");
    if (is_histogram)
        return begin_histogram({with.asked,
                                result.substr(std::min(kHistogram.size() + 1, result.size())),
                                with.symbolizer, with.stop});
    fail(ExitCode::kUsage,
         "result '{}': is none of count, hist OPERAND, count blocks, count lines, cover, cover "
         "lines, latency",
         result);
}

}  // namespace

probeload_measurement::probeload_measurement(const probeload_question& question, std::size_t size) {
    const probeload_question asked = known_part(question, size);
    if (!is_given(asked.result))
        fail(ExitCode::kUsage, "the question's result is null: a measurement needs one");
    if (!asked.place) fail(ExitCode::kUsage, "the question's place is null");
    refuse(is_given(asked.expressions), asked, "expressions");
    refuse(is_given(asked.columns), asked, "columns");
    const LibbpfLog quiet(false);
    const KeptWords words;
    measurement_ = begin_measurement({asked, "", symbolizer_, stop_});
    how_ = words.text();
}

const std::string& probeload_measurement::results(std::size_t most) {
    const LibbpfLog quiet(false);
    results_ = measurement_->results(most);
    if (results_.ends_with('\n')) results_.pop_back();
    return results_;
}

void probeload_measurement::stop() {
    if (is_stopped_) return;
    const LibbpfLog quiet(false);
    measurement_->stop();
    is_stopped_ = true;
}

int probeload_measure(const probeload_question* question, std::size_t size,
                      probeload_measurement** measurement) {
    return call([&] {
        probeload_measurement*& made = given(measurement, "measurement");
        made = new probeload_measurement(given(question, "question"), size);
        return 0;
    });
}

const char* probeload_how_measured(const probeload_measurement* measurement) {
    const char* text = nullptr;
    call([&] {
        text = given(measurement, "measurement").how().c_str();
        return 0;
    });
    return text;
}

const char* probeload_measured(probeload_measurement* measurement, std::size_t most) {
    const char* text = nullptr;
    call([&] {
        text = given(measurement, "measurement").results(most).c_str();
        return 0;
    });
    return text;
}

int probeload_stop_measuring(probeload_measurement* measurement) {
    return call([&] {
        given(measurement, "measurement").stop();
        return 0;
    });
}

void probeload_close_measurement(probeload_measurement* measurement) {
    delete measurement;
}
