// SPDX-License-Identifier: GPL-2.0
#include "trace/beside.h"

#include <list>
#include <memory>

#include "base/error.h"
#include "blocks/stand_in.h"
#include "kernel/pt_regs.h"
#include "survey/analysis.h"

namespace djprobe::loader {
namespace {

std::set<std::string> members_of(x86::RegisterSet registers) {
    std::set<std::string> members;
    for (std::size_t i = 0; i < kPtRegs.size(); ++i)
        if (registers >> i & 1) members.emplace(pt_reg_of_instructions(i).member);
    return members;
}

class RunningText {
  public:
    void expect(const std::vector<SiteSpec>& sites) { expected_ = sites; }

    std::vector<Beside> beside(const SiteSpec& site) {
        std::vector<Beside> found;
        const auto at = find(site);
        if (!at) return found;
        for (const StandIn& one : text_->stand_ins.find(at->function, at->address))
            found.push_back({{site.symbol, one.address - at->symbol, 0},
                             members_of(one.writes),
                             one.writes_memory,
                             one.by_jump});
        return found;
    }

    bool runs_as_often(const SiteSpec& site, const std::vector<SiteSpec>& together) {
        std::vector<std::uint64_t> others;
        for (const SiteSpec& one : together)
            if (const auto at = find(one)) others.push_back(at->address);
        const auto at = find(site);
        return at && others.size() == together.size() &&
               text_->stand_ins.runs_as_often(at->function, at->address, others);
    }

    using Relation = bool (StandIns::*)(std::size_t, std::uint64_t, std::uint64_t);
    bool related(const SiteSpec& site, const SiteSpec& with, Relation relation) {
        const auto other = find(with), at = find(site);
        return at && other &&
               (text_->stand_ins.*relation)(at->function, at->address, other->address);
    }

  private:
    struct Place {
        std::uint64_t symbol, address;
        std::size_t function;
    };
    // The functions of one text that were asked about last, or may be next.
    struct Text {
        Text(std::set<std::uint64_t> addresses, std::list<Analysis> analysed)
            : functions(std::move(addresses)),
              texts(std::move(analysed)),
              stand_ins(texts.front().map) {}

        std::set<std::uint64_t> functions;
        std::list<Analysis> texts;
        StandIns stand_ins;
    };

    KernelImage& image() {
        if (!image_) image_ = KernelImage::from_running_kernel(Kallsyms::read());
        return *image_;
    }
    // The symbol, and the one of the function.
    std::optional<std::pair<Symbol, Symbol>> symbols_of(const SiteSpec& site) {
        const Kallsyms& symbols = image().symbols();
        const auto named = symbols.find(site.symbol);
        if (named.size() != 1) return std::nullopt;
        const std::uint64_t symbol = named.front().address;
        const Symbol* const holder = symbols.at_or_below(symbol + site.offset);
        if (!holder || (holder->address != symbol && !site.is_counted_from_text()))
            return std::nullopt;
        return std::pair(named.front(), *holder);
    }
    std::optional<Place> find(const SiteSpec& site) {
        const auto symbols = symbols_of(site);
        if (!symbols || !analyse(symbols->second)) return std::nullopt;
        const std::uint64_t symbol = symbols->first.address, address = symbol + site.offset;
        const TextMap& map = text_->texts.front().map;
        const std::size_t index = map.find(address);
        if (index == map.functions().size()) return std::nullopt;
        // A part of the function may have a symbol of its own.
        if (map.functions()[index].code.address != symbols->second.address) return std::nullopt;
        return Place{symbol, address, index};
    }
    // One takes as long as hundreds: the whole kernel's landings are read.
    bool analyse(const Symbol& function) {
        if (text_ && text_->functions.contains(function.address)) return true;
        std::vector<Symbol> functions{function};
        for (const SiteSpec& site : std::exchange(expected_, {}))
            if (const auto symbols = symbols_of(site))
                if (symbols->second.module == function.module) functions.push_back(symbols->second);
        std::set<std::uint64_t> addresses;
        for (const Symbol& one : functions)
            addresses.insert(one.address);
        auto texts =
            analyse_near(image(), function.module, ranges_of(image().symbols(), functions));
        if (texts.empty()) return false;
        text_.reset();
        text_ = std::make_unique<Text>(std::move(addresses), std::move(texts));
        return true;
    }

    std::optional<KernelImage> image_;
    std::vector<SiteSpec> expected_;
    std::unique_ptr<Text> text_;
};

}  // namespace

Judgement judgement_in_running_kernel(Judge judge) {
    const auto text = std::make_shared<RunningText>();
    // Without the kernel's text nothing is known: a site that needs another stays out.
    const auto known = []<typename Ask>(const Ask& ask) -> decltype(ask()) {
        try {
            return ask();
        } catch (const Error&) {
            return {};
        }
    };
    const auto related = [=](RunningText::Relation relation) {
        return [=](const SiteSpec& site, const SiteSpec& other) {
            return known([&] { return text->related(site, other, relation); });
        };
    };
    return {std::move(judge),
            [=](const SiteSpec& site) { return known([&] { return text->beside(site); }); },
            {[=](const SiteSpec& site, const std::vector<SiteSpec>& together) {
                 return known([&] { return text->runs_as_often(site, together); });
             },
             related(&StandIns::runs_instead_of), related(&StandIns::comes_by),
             related(&StandIns::leads_to)},
            [=](const std::vector<SiteSpec>& sites) { text->expect(sites); }};
}

}  // namespace djprobe::loader
