// SPDX-License-Identifier: GPL-2.0
#include "trace/find_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "debuginfo/statements.h"

namespace djprobe::loader {
namespace {

// A program for each; more are inlined in many functions, of which one is meant.
constexpr std::size_t kMost = 64;

std::string with_module(const std::string& module, const std::string& symbol) {
    return module.empty() ? symbol : module + ":" + symbol;
}

class Finder {
  public:
    Finder(const DwarfFile& debug, const Judge& judge, Question& question,
           std::vector<std::string>& left_out)
        : debug_(debug), judge_(judge), question_(question), left_out_(left_out) {}

    void find() {
        if (!question_.line) return add_instruction();
        std::map<std::uint64_t, std::vector<StatementSite>> instances;
        for (StatementSite& site : statements())
            instances[site.instance].push_back(std::move(site));
        if (instances.size() > kMost)
            fail(ExitCode::kUsage,
                 "{}: is in {} places, more than {}: 'probeload lines FUNC' shows those of a "
                 "function, to be named FUNC+OFFSET",
                 question_.place(), instances.size(), kMost);
        for (const auto& [instance, sites] : instances)
            add_instance(sites);
        if (question_.sites.empty())
            fail(ExitCode::kNoSuchSite, "{}: no instruction of it can be probed: {}",
                 question_.place(), fmt::join(left_out_, "; "));
        std::ranges::stable_sort(question_.sites, {},
                                 [](const TraceSite& one) { return one.site.str(); });
        if (question_.sites.size() == 1) question_.site = question_.sites.front().site;
    }

  private:
    void add_instruction() {
        const auto start = debug_.address_of(question_.bare_function());
        if (!start) return;
        question_.sites.push_back(
            {question_.site, "", variables_at(debug_, *start + question_.site.offset, 0)});
    }

    std::vector<StatementSite> statements() {
        const LinePlace& place = *question_.line;
        if (place.function.empty()) return of_file({place.file, place.line});
        SourceLine line = declaration_of(debug_, place.function);
        if (line.line == 0)
            fail(ExitCode::kNoSuchSite, "{}: {} has no function {}", place.text, debug_.path(),
                 place.function);
        line.line += place.line;
        std::vector<StatementSite> sites = sites_of(debug_, place.function);
        std::erase_if(sites, [&](const StatementSite& site) {
            return site.line != line.line || site.file != line.file;
        });
        if (sites.empty()) none(line);
        return sites;
    }
    std::vector<StatementSite> of_file(const SourceLine& line) {
        std::vector<StatementSite> sites = sites_of(debug_, line);
        if (sites.empty()) none(line);
        std::set<std::string> files;
        for (const StatementSite& site : sites)
            files.insert(std::filesystem::path(site.file).lexically_normal().string());
        if (files.size() > 1)
            fail(ExitCode::kUsage, "{}: there are several such files, name more of the path: {}",
                 question_.place(), fmt::join(files, ", "));
        return sites;
    }
    [[noreturn]] void none(const SourceLine& line) const {
        const unsigned next = next_line(debug_, line);
        if (next == 0)
            fail(ExitCode::kNoSuchSite, "{}: {} has no code of this line, nor of one behind it",
                 question_.place(), debug_.path());
        fail(ExitCode::kNoSuchSite,
             "{}: no statement begins there: the next line on which one does is {}",
             question_.place(), SourceLine{line.file, next}.str());
    }

    // A statement may begin several times: the compiler copies code. The first one of the line
    // runs before the others.
    void add_instance(const std::vector<StatementSite>& sites) {
        std::vector<unsigned> columns;
        for (const StatementSite& site : sites)
            if (std::ranges::find(columns, site.column) == columns.end())
                columns.push_back(site.column);
        for (const unsigned column : columns) {
            const std::size_t before = question_.sites.size();
            for (const StatementSite& site : sites)
                if (site.column == column) add(site);
            if (question_.sites.size() != before) return;
        }
    }

    void add(const StatementSite& statement) {
        if (!seen_.insert(statement.address).second) return;
        SiteSpec site{with_module(question_.module(), statement.place.symbol),
                      statement.place.offset, 0};
        std::optional<std::string> refused = judge_(site);
        if (debug_.count_of(statement.place.symbol) > 1)
            refused = "several functions have this name";
        if (refused) return left_out_.push_back(fmt::format("{}: {}", site.str(), *refused));
        question_.sites.push_back(
            {site, about(statement), variables_at(debug_, statement.address, statement.scope)});
    }

    static std::string about(const StatementSite& site) {
        std::string about = SourceLine{site.file, site.line}.str();
        for (std::size_t i = 0; i < site.functions.size(); ++i)
            about += (i == 0 ? ", " : " in ") + site.functions[i];
        return about;
    }

    const DwarfFile& debug_;
    const Judge& judge_;
    Question& question_;
    std::vector<std::string>& left_out_;
    std::set<std::uint64_t> seen_;
};

}  // namespace

void find_sites(const DwarfFile& debug, const Judge& judge, Question& question,
                std::vector<std::string>& left_out) {
    Finder(debug, judge, question, left_out).find();
}

}  // namespace djprobe::loader
