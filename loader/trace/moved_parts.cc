// SPDX-License-Identifier: GPL-2.0
#include "trace/moved_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "debuginfo/inlined.h"

namespace djprobe::loader {
namespace {

class MovedParts {
  public:
    MovedParts(const DwarfFile& debug, std::vector<StatementSite>& sites,
               const std::function<SiteSpec(const SymbolPlace&)>& site_of, const SiteFlow& flow)
        : debug_(debug), sites_(sites), site_of_(site_of), flow_(flow) {}

    std::vector<StatementSite> left() {
        for (std::size_t i = 0; i < sites_.size(); ++i)
            if (sites_[i].is_moved && !gone_.contains(i)) look_at(i);
        std::vector<StatementSite> left;
        for (std::size_t i = 0; i < sites_.size(); ++i)
            if (!gone_.contains(i)) left.push_back(std::move(sites_[i]));
        return left;
    }

  private:
    using Indices = std::vector<std::size_t>;

    void look_at(std::size_t moved) {
        const std::map<std::uint64_t, Indices> inlined = inlined_where_it_is(moved);
        if (inlined.empty()) return;
        const bool is_part = std::ranges::any_of(
            inlined, [&](const auto& one) { return runs_as_often(moved, one.second); });
        if (is_part || (all_have_sites(moved, inlined) && runs_with_any(moved, inlined)))
            gone_.insert(moved);
        else if (inlined.size() == 1 && all_have_sites(moved, inlined))
            take_place_of(inlined.begin()->second, moved);
    }

    // By the instance.
    [[nodiscard]] std::map<std::uint64_t, Indices> inlined_where_it_is(std::size_t moved) const {
        std::map<std::uint64_t, Indices> inlined;
        for (std::size_t i = 0; i < sites_.size(); ++i) {
            const StatementSite& other = sites_[i];
            if (!other.is_moved && other.is_inlined_in(sites_[moved].instance()))
                inlined[other.instance()].push_back(i);
        }
        return inlined;
    }
    // If one had none, the part that was moved might be all that is left of it.
    [[nodiscard]] bool all_have_sites(std::size_t moved,
                                      const std::map<std::uint64_t, Indices>& inlined) const {
        std::set<std::string> names;
        for (const auto& [instance, indices] : inlined)
            names.insert(sites_[indices.front()].functions.front().name);
        return std::ranges::all_of(names, [&](const std::string& name) {
            return std::ranges::all_of(
                instances_in(debug_, sites_[moved].instance(), name),
                [&](std::uint64_t instance) { return inlined.contains(instance); });
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
    [[nodiscard]] bool runs_with_any(std::size_t moved,
                                     const std::map<std::uint64_t, Indices>& inlined) const {
        return std::ranges::any_of(inlined, [&](const auto& one) {
            return std::ranges::any_of(one.second,
                                       [&](std::size_t other) { return runs_with(moved, other); });
        });
    }
    // Where all of them run with it, of other parts those, too.
    void take_place_of(Indices others, std::size_t moved) {
        const auto runs_with_it = [&](std::size_t other) { return runs_with(other, moved); };
        if (!std::ranges::all_of(others, runs_with_it)) return;
        for (std::size_t i = 0; i < sites_.size(); ++i)
            if (i != moved && sites_[i].is_moved &&
                sites_[i].instance() == sites_[moved].instance() && runs_with_it(i))
                others.push_back(i);
        gone_.insert(others.begin(), others.end());
    }
    [[nodiscard]] bool runs_with(std::size_t one, std::size_t other) const {
        return flow_.runs_with(site(one), site(other));
    }
    [[nodiscard]] SiteSpec site(std::size_t index) const { return site_of_(sites_[index].place); }

    const DwarfFile& debug_;
    std::vector<StatementSite>& sites_;
    const std::function<SiteSpec(const SymbolPlace&)>& site_of_;
    const SiteFlow& flow_;
    std::set<std::size_t> gone_;
};

}  // namespace

std::vector<StatementSite> without_moved_parts(
    const DwarfFile& debug, std::vector<StatementSite> sites,
    const std::function<SiteSpec(const SymbolPlace&)>& site_of, const SiteFlow& flow) {
    return MovedParts(debug, sites, site_of, flow).left();
}

}  // namespace djprobe::loader
