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
    std::vector<Beside> beside(const SiteSpec& site) {
        std::vector<Beside> found;
        const auto at = find(site);
        if (!at) return found;
        for (const StandIn& one : function_->stand_ins.find(at->function, at->address))
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
        // Marks are those of one function. What is found there is found in each call.
        return at && others.size() == together.size() &&
               function_->stand_ins.runs_as_often(at->function, at->address, others);
    }

    bool runs_with(const SiteSpec& site, const SiteSpec& with) {
        const auto other = find(with), at = find(site);
        return at && other &&
               function_->stand_ins.runs_with(at->function, at->address, other->address);
    }

  private:
    struct Place {
        std::uint64_t symbol, address;
        std::size_t function;
    };
    // The one that was asked about last, analysed.
    struct Function {
        Function(const Symbol& of, std::list<Analysis> analysed)
            : symbol(of), texts(std::move(analysed)), stand_ins(texts.front().map) {}

        Symbol symbol;
        std::list<Analysis> texts;
        StandIns stand_ins;
    };

    std::optional<Place> find(const SiteSpec& site) {
        if (!image_) image_ = KernelImage::from_running_kernel(Kallsyms::read());
        const auto symbols = image_->symbols().find(site.symbol);
        if (symbols.size() != 1) return std::nullopt;
        const std::uint64_t symbol = symbols.front().address, address = symbol + site.offset;
        const Symbol* const holder = image_->symbols().at_or_below(address);
        if (!holder || (holder->address != symbol && !site.is_counted_from_text()))
            return std::nullopt;
        if (!analyse(*holder)) return std::nullopt;
        const TextMap& map = function_->texts.front().map;
        const std::size_t index = map.find(address);
        if (index == map.functions().size()) return std::nullopt;
        // A part of the function may have a symbol of its own.
        if (map.functions()[index].code.address != holder->address) return std::nullopt;
        return Place{symbol, address, index};
    }
    bool analyse(const Symbol& symbol) {
        if (function_ && function_->symbol.address == symbol.address) return true;
        auto texts = analyse_near(*image_, symbol.module, ranges_of(image_->symbols(), {symbol}));
        if (texts.empty()) return false;
        function_.reset();
        function_ = std::make_unique<Function>(symbol, std::move(texts));
        return true;
    }

    std::optional<KernelImage> image_;
    std::unique_ptr<Function> function_;
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
    return {std::move(judge),
            [=](const SiteSpec& site) { return known([&] { return text->beside(site); }); },
            {[=](const SiteSpec& site, const std::vector<SiteSpec>& together) {
                 return known([&] { return text->runs_as_often(site, together); });
             },
             [=](const SiteSpec& site, const SiteSpec& other) {
                 return known([&] { return text->runs_with(site, other); });
             }}};
}

}  // namespace djprobe::loader
