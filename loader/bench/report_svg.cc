// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report.h"
#include "bench/statistics.h"

namespace djprobe::loader {
namespace {

constexpr double kWidth = 760;
constexpr double kLabels = 170;  ///< right end of the bars' names
constexpr double kBars = 180;    ///< where the bars begin
constexpr double kNumbers = 90;  ///< room behind the longest bar
constexpr double kRow = 22;
constexpr double kBar = 15;
constexpr double kPanelHead = 40;

struct Bar {
    std::string name;
    Spread value;
    bool ours;
};

struct Panel {
    std::string title;
    std::vector<Bar> bars;
};

std::string escaped(std::string_view text) {
    std::string out;
    for (const char character : text) {
        switch (character) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += character;
        }
    }
    return out;
}

std::vector<Panel> panels_of(const BenchReport& report) {
    std::vector<Panel> panels;
    for (const Body body : kBodies) {
        for (const std::string_view site : {"entry", "middle"}) {
            Panel panel{fmt::format("{} program, {} of {}", body_name(body), site, report.function),
                        {}};
            for (const BenchCase& one : report.cases) {
                if (one.body != body || one.site.name != site || one.per_hit.empty()) continue;
                panel.bars.push_back(
                    {one.mechanism->name, spread(one.per_hit), one.mechanism->ours});
            }
            std::ranges::stable_sort(panel.bars, {},
                                     [](const Bar& bar) { return bar.value.median; });
            if (!panel.bars.empty()) panels.push_back(std::move(panel));
        }
    }
    return panels;
}

std::string draw_bar(const Bar& bar, double y, double scale, const char* format) {
    const auto x = [=](double value) { return kBars + std::max(0.0, value) * scale; };
    const double middle = y + kBar / 2;
    std::string svg = fmt::format(
        "<text class=\"name{0}\" x=\"{1:.0f}\" y=\"{2:.1f}\">{3}</text>\n"
        "<rect class=\"{4}\" x=\"{5:.0f}\" y=\"{6:.1f}\" width=\"{7:.1f}\" height=\"{8:.0f}\" "
        "rx=\"2\"/>\n",
        bar.ours ? " own" : "", kLabels, middle + 4, escaped(bar.name), bar.ours ? "ours" : "peer",
        kBars, y, std::max(1.0, x(bar.value.median) - kBars), kBar);
    // The whisker spans the quartiles; where they coincide it would only be a blot.
    if (x(bar.value.q3) - x(bar.value.q1) >= 1)
        svg += fmt::format(
            "<line class=\"whisker\" x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
            "\n",
            x(bar.value.q1), x(bar.value.q3), middle);
    return svg + fmt::format("<text class=\"value\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                             std::max(x(bar.value.median), x(bar.value.q3)) + 6, middle + 4,
                             fmt::format(fmt::runtime(format), bar.value.median));
}

constexpr std::string_view kStyle = R"(<style>
svg { font: 13px system-ui, sans-serif; }
text { fill: #333; }
.title { font-size: 16px; font-weight: 600; }
.note { fill: #777; font-size: 12px; }
.panel { font-weight: 600; }
.name { text-anchor: end; }
.own { font-weight: 600; }
.ours { fill: #2a78b8; }
.peer { fill: #9aa3ab; }
.whisker { stroke: #333; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
text { fill: #ddd; }
.note { fill: #999; }
.ours { fill: #5aa7e6; }
.peer { fill: #6b747c; }
.whisker { stroke: #ddd; }
}
</style>
)";

}  // namespace

std::string report_svg(const BenchReport& report) {
    const std::vector<Panel> panels = panels_of(report);
    double longest = 0;
    double height = 64;
    for (const Panel& panel : panels) {
        height += kPanelHead + kRow * static_cast<double>(panel.bars.size());
        for (const Bar& bar : panel.bars)
            longest = std::max({longest, bar.value.median, bar.value.q3});
    }
    // One scale for all panels: they are to be compared, too.
    const double scale = longest > 0 ? (kWidth - kBars - kNumbers) / longest : 1;
    const char* const format = report.unit.instructions ? "{:.0f}" : "{:.1f}";

    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n{2}"
        "<text class=\"title\" x=\"12\" y=\"26\">Cost of a probe hit, {3}</text>\n"
        "<text class=\"note\" x=\"12\" y=\"46\">kernel {4}; median and quartiles, the call itself "
        "subtracted</text>\n",
        kWidth, height, kStyle, report.unit.instructions ? "executed instructions" : "nanoseconds",
        escaped(report.kernel));
    double y = 56;
    for (const Panel& panel : panels) {
        svg += fmt::format("<text class=\"panel\" x=\"12\" y=\"{:.1f}\">{}</text>\n", y + 22,
                           escaped(panel.title));
        y += kPanelHead - 8;
        for (const Bar& bar : panel.bars) {
            svg += draw_bar(bar, y, scale, format);
            y += kRow;
        }
        y += 8;
    }
    return svg + "</svg>\n";
}

}  // namespace djprobe::loader
