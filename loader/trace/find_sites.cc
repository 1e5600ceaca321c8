// SPDX-License-Identifier: GPL-2.0
#include "trace/find_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "debuginfo/inlined.h"
#include "debuginfo/source_files.h"
#include "debuginfo/statement_rows.h"
#include "debuginfo/statements.h"
#include "debuginfo/whole_functions.h"
#include "kernel/pt_regs.h"
#include "trace/copies.h"
#include "trace/parts.h"
#include "trace/suggest.h"

namespace djprobe::loader {
namespace {

// A program for each; more are inlined in many functions, of which one is meant.
constexpr std::size_t kMost = 64, kMostInlined = 256;

std::string with_module(const std::string& module, const std::string& symbol) {
    return module.empty() ? symbol : module + ":" + symbol;
}

// The names that a question has in its expressions.
struct Asked {
    explicit Asked(const Question& question) : all(!question.items && !question.aggregation) {
        add(question.items.value_or(""));
        add(question.condition.value_or(""));
        if (!question.aggregation) return;
        add(question.aggregation->value);
        add(question.aggregation->keys);
    }

    bool all;  ///< it shows whatever has a value
    std::set<std::string, std::less<>> words;

  private:
    void add(std::string_view text) {
        const auto is_of_word = [](char one) {
            return std::isalnum(static_cast<unsigned char>(one)) || one == '_';
        };
        while (!text.empty()) {
            const auto end = std::ranges::find_if_not(text, is_of_word);
            const auto length = static_cast<std::size_t>(end - text.begin());
            if (length != 0) words.emplace(text.substr(0, length));
            text.remove_prefix(std::max<std::size_t>(length, 1));
        }
    }
};

class Finder {
  public:
    Finder(const DwarfFile& debug, const Judgement& kernel, Question& question, SiteNotes& notes)
        : debug_(debug), kernel_(kernel), question_(question), notes_(notes) {}

    void find() {
        if (question_.inlined) return add_inlined();
        if (!question_.line) return add_instruction();
        Instances instances;
        for (StatementSite& site : events())
            instances[site.instance()].push_back(std::move(site));
        add_instances(instances);
        finish();
    }

  private:
    using Instances = std::map<std::uint64_t, std::vector<StatementSite>>;

    // A statement whose first instruction is not to be probed itself, and those that may be.
    struct Pending {
        StatementSite statement;
        SiteSpec site;
        std::vector<SourceVariable> variables;
        Judged judged;
        std::vector<Beside> others;
    };

    void finish() {
        // Not before all others have their sites: one that stands in for another shows only that.
        // What is refused has no place of its own to stay at, and takes first.
        const auto stays = [](const Pending& one) { return !one.judged.refused; };
        std::ranges::stable_sort(pending_, {}, stays);
        for (const Pending& one : pending_)
            settle(one);
        if (question_.sites.empty())
            fail(ExitCode::kNoSuchSite, "{}: no instruction of it can be probed: {}",
                 question_.place(), fmt::join(notes_.left_out, "; "));
        std::ranges::stable_sort(question_.sites, {},
                                 [](const TraceSite& one) { return one.site.str(); });
        if (question_.sites.size() == 1) question_.site = question_.sites.front().site;
    }

    void add_instruction() {
        const auto start = debug_.address_of(question_.bare_function());
        if (!start) return;
        const std::uint64_t address = *start + question_.site.offset;
        add_site({question_.site}, "", address, variables_at(debug_, address, 0));
    }

    // Where each of them begins, with the parameters that it is given there.
    void add_inlined() {
        const InlinedFunction function = inlined_function(debug_, question_.bare_function());
        if (function.instances.empty())
            fail(ExitCode::kNoSuchSite, "{}: {} has no function of this name that was inlined{}",
                 question_.place(), debug_.path(), suggest_inlined(function));
        if (function.instances.size() > kMostInlined)
            fail(
                ExitCode::kUsage,
                "{}: was inlined in {} places, more than {}: 'probeload lines FUNC' shows those of "
                "a function, to be named FUNC+OFFSET",
                question_.place(), function.instances.size(), kMostInlined);
        std::vector<StatementSite> instances = function.instances;
        std::erase_if(instances, is_part_of_itself);
        for (const StatementSite& begin : with_copies(instances))
            add(begin);
        finish();
    }
    // The compiler may split a function, and inline the second part in the first.
    static bool is_part_of_itself(const StatementSite& site) {
        return std::ranges::count(site.functions, site.functions.front().name,
                                  &StatementSite::Function::name) > 1;
    }
    [[nodiscard]] std::string suggest_inlined(const InlinedFunction& function) const {
        if (debug_.address_of(question_.bare_function()))
            return fmt::format("; it is a function of its own: probeload trace {}",
                               question_.function());
        return suggest(question_.bare_function(), function.others);
    }

    std::vector<StatementSite> events() {
        std::vector<StatementSite> sites = with_whole_functions_once(debug_, statements());
        check_number(sites);
        sites = with_copies(sites);
        return without_parts(debug_, std::move(sites), site_of(), kernel_.flow);
    }
    // What is left out later are parts of these.
    void check_number(const std::vector<StatementSite>& sites) const {
        std::set<std::uint64_t> instances;
        for (const StatementSite& site : sites)
            if (!site.is_moved) instances.insert(site.instance());
        if (instances.size() > kMost)
            fail(ExitCode::kUsage,
                 "{}: is in {} places, more than {}: 'probeload lines FUNC' shows those of a "
                 "function, to be named FUNC+OFFSET",
                 question_.place(), instances.size(), kMost);
    }
    std::vector<StatementSite> with_copies(const std::vector<StatementSite>& sites) const {
        std::vector<std::vector<StatementSite>> copies(sites.size());
        FunctionRows rows;
        for (std::size_t i = 0; i < sites.size(); ++i)
            if (sites[i].is_begin) copies[i] = copies_of(debug_, rows, sites[i]);
        std::vector<SiteSpec> places(sites.size());
        std::ranges::transform(sites, places.begin(),
                               [this](const auto& site) { return in_module(site.place); });
        kernel_.expect(places);
        std::vector<StatementSite> begins;
        for (std::size_t i = 0; i < sites.size(); ++i)
            std::ranges::move(begins_of(sites[i], std::move(copies[i]), site_of(), kernel_.flow),
                              std::back_inserter(begins));
        return begins;
    }
    std::vector<StatementSite> statements() {
        const LinePlace& place = *question_.line;
        if (place.function.empty()) return of_file({place.file, place.line});
        SourceLine line = declaration();
        line.line += place.line;
        std::vector<StatementSite> sites = sites_of(debug_, place.function);
        std::erase_if(
            sites, [&](const StatementSite& site) { return !is_same_path(site.file, line.file); });
        const std::vector<StatementSite> all = sites;
        std::erase_if(sites, [&](const StatementSite& site) { return site.line != line.line; });
        if (sites.empty()) none_in_function(all, line, place.line);
        return sites;
    }
    [[nodiscard]] SourceLine declaration() const {
        const LinePlace& place = *question_.line;
        const std::vector<SourceLine> found = declarations_of(debug_, place.function);
        if (found.empty())
            fail(ExitCode::kNoSuchSite, "{}: {} has no function {}{}", place.text, debug_.path(),
                 place.function, suggest(place.function, debug_.symbol_names()));
        if (found.size() == 1) return found.front();
        std::vector<std::string> lines;
        lines.reserve(found.size());
        for (const SourceLine& line : found)
            lines.push_back(line.str());
        fail(ExitCode::kUsage,
             "{}: several functions have this name, write FILE:LINE: they are at {}", place.text,
             fmt::join(lines, ", "));
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
    // `offset`: how the line is counted from the function's first one.
    [[noreturn]] void none_in_function(const std::vector<StatementSite>& all,
                                       const SourceLine& line, unsigned offset) const {
        unsigned next = 0, last = 0;
        for (const StatementSite& site : all) {
            last = std::max(last, site.line);
            if (site.line > line.line && (next == 0 || site.line < next)) next = site.line;
        }
        const unsigned first = line.line - offset;
        if (next != 0)
            fail(ExitCode::kNoSuchSite,
                 "{}: no statement begins there: the next line on which one does is {}:+{} ({})",
                 question_.place(), question_.line->function, next - first,
                 SourceLine{line.file, next}.str());
        if (last < first)
            fail(ExitCode::kNoSuchSite, "{}: no statement of it begins in {}", question_.place(),
                 line.file);
        fail(ExitCode::kNoSuchSite,
             "{}: is beyond the function's last statement, which begins at {}:+{} ({})",
             question_.place(), question_.line->function, last - first,
             SourceLine{line.file, last}.str());
    }
    [[noreturn]] void none(const SourceLine& line) const {
        const unsigned next = next_line(debug_, line);
        const std::vector<std::string> files = source_files(debug_);
        if (next == 0 && !has_file(files, line.file))
            fail(ExitCode::kNoSuchSite, "{}: {} has no code of a file {}{}", question_.place(),
                 debug_.path(), line.file, similar_file(files, line.file));
        if (next == 0)
            fail(ExitCode::kNoSuchSite, "{}: {} has no code of this line, nor of one behind it",
                 question_.place(), debug_.path());
        fail(ExitCode::kNoSuchSite,
             "{}: no statement begins there: the next line on which one does is {}",
             question_.place(), SourceLine{line.file, next}.str());
    }

    // Of functions that a macro has made on one line, inlined in one another, the innermost has the
    // names that the line shows: a call of them is one event.
    void add_instances(const Instances& instances) {
        std::vector<const std::vector<StatementSite>*> inner_first;
        for (const auto& [instance, sites] : instances)
            inner_first.push_back(&sites);
        std::ranges::stable_sort(inner_first, std::greater(), [](const auto* sites) {
            return callers_here(sites->front()).size();
        });
        std::set<std::uint64_t> called;
        for (const auto* sites : inner_first) {
            const StatementSite& first = sites->front();
            if (called.contains(first.instance()) || !add_instance(*sites)) continue;
            called.merge(callers_here(first));
        }
    }
    // The instances that have called it, or one another, on this line.
    static std::set<std::uint64_t> callers_here(const StatementSite& site) {
        std::set<std::uint64_t> callers;
        for (std::size_t i = 0; i + 1 < site.functions.size(); ++i) {
            if (!site.functions[i].is_called_here) break;
            callers.insert(site.functions[i + 1].instance);
        }
        return callers;
    }

    // A statement may begin several times: the compiler copies code. The first one of the line
    // runs before the others. Of a whole function on the line that is its entry. False: none of
    // them is a site.
    bool add_instance(const std::vector<StatementSite>& sites) {
        const std::size_t before = question_.sites.size() + pending_.size();
        const auto has_one = [&] { return question_.sites.size() + pending_.size() != before; };
        const auto entry = std::ranges::find_if(sites, &StatementSite::is_entry_here);
        if (entry != sites.end()) add(*entry);
        if (has_one()) return true;
        std::vector<unsigned> columns;
        for (const StatementSite& site : sites)
            if (std::ranges::find(columns, site.column) == columns.end())
                columns.push_back(site.column);
        for (const unsigned column : columns) {
            for (const StatementSite& site : sites)
                if (site.column == column) add(site);
            if (has_one()) return true;
        }
        return false;
    }

    void add(const StatementSite& statement) {
        if (!seen_.insert(statement.address).second) return;
        if (debug_.count_of(statement.place.symbol) > 1)
            return notes_.left_out.push_back(
                fmt::format("{}: several functions have this name", statement.place.str()));
        const SiteSpec site = in_module(statement.place);
        const auto variables = variables_at(debug_, statement.address, statement.scope);
        const Judged judged = kernel_.judge(site);
        if (judged.refused || judged.int3) {
            std::vector<Beside> others = kernel_.beside(site);
            if (const auto lost = asked_register(others); judged.refused && lost)
                return leave_out_for_register(site, *judged.refused, others, *lost);
            const bool serves =
                judged.refused ? !others.empty() : shows_same(others, statement, variables);
            if (serves)
                return pending_.push_back({statement, site, variables, judged, std::move(others)});
        }
        if (judged.refused)
            return notes_.left_out.push_back(fmt::format("{}: {}", site.str(), *judged.refused));
        add_site({site}, about(statement), statement.address, variables);
    }

    // The kernel itself changes some instructions: others that run as often are probed. An int3 is
    // a site: it gives way only to jumps that are its own.
    void settle(const Pending& one) {
        std::vector<Beside> taken;
        std::ranges::copy_if(one.others, std::back_inserter(taken),
                             [&](const Beside& other) { return is_site(other.site); });
        const std::string where = names_of(one.others);
        const std::string why =
            one.judged.refused ? *one.judged.refused : fmt::format("no jump: {}", *one.judged.int3);
        if (!one.judged.refused && (!taken.empty() || is_site(one.site))) return stay(one, why);
        if (taken.size() == one.others.size())
            return notes_.left_out.push_back(
                fmt::format("{}: {}, and what runs as often is probed already: {}", one.site.str(),
                            why, where));
        std::string note = fmt::format("{}: {}: the probe is at {}, which runs as often",
                                       one.site.str(), why, where);
        if (!taken.empty())
            note += fmt::format("; {} shows another place of the line, too", names_of(taken));
        if (std::ranges::any_of(one.others, &Beside::changes_memory))
            note += "; memory may be changed between the two";
        notes_.beside.push_back(std::move(note));
        for (const Beside& other : one.others)
            add_site(other, about(one.statement), one.statement.address, one.variables);
    }
    void stay(const Pending& one, const std::string& why) {
        if (is_site(one.site))
            return notes_.left_out.push_back(
                fmt::format("{}: {}, and it is probed already, for another place of the line",
                            one.site.str(), why));
        add_site({one.site}, about(one.statement), one.statement.address, one.variables);
    }

    [[nodiscard]] bool is_site(const SiteSpec& site) const {
        return std::ranges::find(question_.sites, site, &TraceSite::site) != question_.sites.end();
    }
    void leave_out_for_register(const SiteSpec& site, const std::string& why,
                                const std::vector<Beside>& others, const std::string& lost) {
        notes_.left_out.push_back(
            fmt::format("{}: {}; at {}, which runs as often, {} may be another", site.str(), why,
                        names_of(others), lost));
    }
    static std::string names_of(const std::vector<Beside>& others) {
        std::string names;
        for (const Beside& other : others)
            names += (names.empty() ? "" : " and ") + other.site.str();
        return names;
    }
    // Its value at another place would pass for the one that is asked for.
    [[nodiscard]] std::optional<std::string> asked_register(
        const std::vector<Beside>& others) const {
        for (const PtReg& reg : kPtRegs)
            for (const std::string_view name : {reg.whole, reg.half})
                if (asked_.words.contains(name) &&
                    std::ranges::any_of(others, [&](const Beside& other) {
                        return other.changed.contains(std::string(reg.member));
                    }))
                    return std::string(name);
        return std::nullopt;
    }
    [[nodiscard]] bool shows_same(const std::vector<Beside>& others, const StatementSite& statement,
                                  const std::vector<SourceVariable>& variables) const {
        if (others.empty() || asked_register(others)) return false;
        const Location frame = frame_at(debug_, statement.address).frame;
        return std::ranges::all_of(others, [&](const Beside& other) {
            const auto is_lost = [&](const SourceVariable& one) {
                const bool is_asked = asked_.all || asked_.words.contains(one.name);
                // What was given is found again by the frame.
                return is_asked &&
                       (one.location.depends_on(other.changed, false) ||
                        (!one.location.given.empty() && frame.depends_on(other.changed, false)));
            };
            return other.by_jump && !other.changes_memory &&
                   std::ranges::none_of(variables, is_lost);
        });
    }

    // The variables are those of `address`, which a probe beside it sees as far as nothing between
    // the two changes them.
    void add_site(const Beside& at, const std::string& about, std::uint64_t address,
                  std::vector<SourceVariable> variables) {
        TraceSite site{at.site, about, std::move(variables)};
        if (is_site(at.site)) return;
        for (SourceVariable& variable : site.variables)
            if (variable.location.depends_on(at.changed, at.changes_memory))
                variable.location = no_location(
                    "what lies between the line's first instruction and the probe may change it");
        const auto keeps = [](const SourceVariable& one) { return !one.location.given.empty(); };
        if (std::ranges::any_of(site.variables, keeps)) add_entry(at, address, site);
        question_.sites.push_back(std::move(site));
    }
    void add_entry(const Beside& at, std::uint64_t address, TraceSite& site) {
        const FunctionFrame function = frame_at(debug_, address);
        if (!function.entry || function.frame.kind != Location::Kind::kMemory) return;
        if (function.frame.depends_on(at.changed, at.changes_memory)) return;
        const auto place = debug_.unique_place_of(*function.entry);
        if (!place || debug_.count_of(place->symbol) > 1) return;
        if (kernel_.judge(in_module(*place)).refused) return;
        site.entry = in_module(*place);
        site.frame = function.frame.text;
    }
    [[nodiscard]] std::function<SiteSpec(const SymbolPlace&)> site_of() const {
        return [this](const SymbolPlace& place) { return in_module(place); };
    }
    [[nodiscard]] SiteSpec in_module(const SymbolPlace& place) const {
        return {with_module(question_.module(), place.symbol), place.offset, 0};
    }

    static std::string about(const StatementSite& site) {
        std::string about = SourceLine{site.file, site.line}.str();
        for (std::size_t i = 0; i < site.functions.size(); ++i)
            about += (i == 0 ? ", " : " in ") + site.functions[i].name;
        return about;
    }

    const DwarfFile& debug_;
    const Judgement& kernel_;
    Question& question_;
    const Asked asked_{question_};
    SiteNotes& notes_;
    std::vector<Pending> pending_;
    std::set<std::uint64_t> seen_;
};

}  // namespace

void find_sites(const DwarfFile& debug, const Judgement& kernel, Question& question,
                SiteNotes& notes) {
    Finder(debug, kernel, question, notes).find();
}

}  // namespace djprobe::loader
