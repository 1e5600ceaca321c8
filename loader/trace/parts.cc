// SPDX-License-Identifier: GPL-2.0
#include "trace/parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "debuginfo/inlined.h"

namespace djprobe::loader {
namespace {

class Parts {
  public:
    Parts(const DwarfFile& debug, std::vector<StatementSite>& sites,
          const std::function<SiteSpec(const SymbolPlace&)>& site_of, const SiteFlow& flow)
        : debug_(debug), sites_(sites), site_of_(site_of), flow_(flow) {}

    std::vector<StatementSite> left() {
        for (std::size_t i = 0; i < sites_.size(); ++i)
            if (sites_[i].is_moved) look_at_moved(i);
        for (std::size_t i = 0; i < sites_.size(); ++i)
            if (!sites_[i].is_moved && !gone_.contains(i) && is_part_of_statement(i))
                gone_.insert(i);
        std::vector<StatementSite> left;
        for (std::size_t i = 0; i < sites_.size(); ++i)
            if (!gone_.contains(i)) left.push_back(std::move(sites_[i]));
        return left;
    }

  private:
    using Indices = std::vector<std::size_t>;
    using Instances = std::map<std::uint64_t, Indices>;

    // Of one statement the first place stays, or the one that runs more often.
    [[nodiscard]] bool is_part_of_statement(std::size_t part) const {
        const StatementSite& one = sites_[part];
        for (std::size_t i = 0; i < sites_.size(); ++i) {
            const StatementSite& other = sites_[i];
            if (other.is_moved || other.address == one.address || gone_.contains(i)) continue;
            if (other.instance() != one.instance() || other.column != one.column) continue;
            if (never_without(part, i) && (other.address < one.address || !never_without(i, part)))
                return true;
        }
        return false;
    }

    // Which one it has been moved out of is not known. It may be all that is left of one, or a
    // copy.
    void look_at_moved(std::size_t moved) {
        const Instances instances = instances_around(moved);
        if (is_at_another(moved)) gone_.insert(moved);
        const bool is_known = !instances.empty() && all_have_sites(moved, instances);
        if (gone_.contains(moved) || !is_known) return;
        const auto runs_as_often = [&](const auto& one) {
            return this->runs_as_often(moved, one.second);
        };
        const auto is_bound_to = [&](const auto& one) {
            return std::ranges::any_of(one.second,
                                       [&](std::size_t other) { return is_bound(moved, other); });
        };
        if (are_whole_functions(instances) || std::ranges::any_of(instances, runs_as_often) ||
            std::ranges::all_of(instances, is_bound_to))
            gone_.insert(moved);
        else if (instances.size() == 1)
            take_as_head(moved, instances.begin()->second);
    }
    [[nodiscard]] bool is_at_another(std::size_t moved) const {
        return std::ranges::any_of(sites_, [&](const StatementSite& other) {
            return !other.is_moved && other.address == sites_[moved].address;
        });
    }
    // What the other one leads to may be where ways meet that do not run the line.
    [[nodiscard]] bool is_bound(std::size_t moved, std::size_t other) const {
        return never_without(moved, other) || flow_.leads_to(site(other), site(moved));
    }
    // A condition may begin with a function that is inlined there. What is left of the statement
    // where it stands runs only behind it.
    void take_as_head(std::size_t moved, const Indices& others) {
        const auto comes_by_it = [&](std::size_t other) {
            return flow_.comes_by(site(other), site(moved));
        };
        if (std::ranges::all_of(others, comes_by_it)) gone_.insert(others.begin(), others.end());
    }

    // All of the line is theirs.
    [[nodiscard]] bool are_whole_functions(const Instances& instances) const {
        return std::ranges::all_of(instances, [&](const auto& one) {
            return std::ranges::all_of(one.second,
                                       [&](std::size_t site) { return sites_[site].is_begin; });
        });
    }
    [[nodiscard]] Instances instances_around(std::size_t moved) const {
        Instances instances;
        for (std::size_t i = 0; i < sites_.size(); ++i)
            if (!sites_[i].is_moved && sites_[i].outermost() == sites_[moved].outermost())
                instances[sites_[i].instance()].push_back(i);
        return instances;
    }
    [[nodiscard]] bool all_have_sites(std::size_t moved, const Instances& instances) const {
        std::set<std::string> names;
        for (const auto& [instance, indices] : instances)
            names.insert(sites_[indices.front()].functions.front().name);
        return std::ranges::all_of(names, [&](const std::string& name) {
            return std::ranges::all_of(
                instances_in(debug_, sites_[moved].outermost(), name),
                [&](std::uint64_t instance) { return instances.contains(instance); });
        });
    }

    [[nodiscard]] bool runs_as_often(std::size_t moved, const Indices& others) const {
        std::vector<SiteSpec> together;
        for (const std::size_t other : others)
            together.push_back(site(other));
        return flow_.runs_as_often(site(moved), together) ||
               std::ranges::any_of(together, [&](const SiteSpec& other) {
                   return flow_.runs_as_often(site(moved), {other});
               });
    }
    [[nodiscard]] bool never_without(std::size_t one, std::size_t other) const {
        return flow_.never_runs_without(site(one), site(other));
    }
    [[nodiscard]] SiteSpec site(std::size_t index) const { return site_of_(sites_[index].place); }

    const DwarfFile& debug_;
    std::vector<StatementSite>& sites_;
    const std::function<SiteSpec(const SymbolPlace&)>& site_of_;
    const SiteFlow& flow_;
    std::set<std::size_t> gone_;
};

}  // namespace

std::vector<StatementSite> without_parts(const DwarfFile& debug, std::vector<StatementSite> sites,
                                         const std::function<SiteSpec(const SymbolPlace&)>& site_of,
                                         const SiteFlow& flow) {
    return Parts(debug, sites, site_of, flow).left();
}

}  // namespace djprobe::loader
