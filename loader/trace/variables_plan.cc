// SPDX-License-Identifier: GPL-2.0
#include "trace/variables_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "trace/arguments.h"
#include "trace/source_types.h"

namespace djprobe::loader {
namespace {

using LocationKind = Location::Kind;

std::string in_parentheses(const std::string& text) {
    return text.find(' ') == text.npos ? text : "(" + text + ")";
}

std::string why_none(const SourceVariable& variable) {
    std::string why = variable.location.why;
    for (std::size_t i = 0; i < variable.elsewhere.size(); ++i)
        why += (i == 0 ? "; alive at " : " and ") + variable.elsewhere[i].str();
    return why;
}

class Maker {
  public:
    Maker(const std::vector<TraceSite>& sites, Types& types) : sites_(sites), types_(types) {}

    std::vector<SiteVariable> make() {
        for (const TraceSite& site : sites_)
            for (const SourceVariable& variable : site.variables)
                if (std::ranges::find(made_, variable.name, &SiteVariable::name) == made_.end() &&
                    !stays_a_word(variable.name))
                    made_.push_back(make(variable.name));
        return std::move(made_);
    }

  private:
    [[nodiscard]] static const SourceVariable* find(const TraceSite& site,
                                                    const std::string& name) {
        const auto found = std::ranges::find(site.variables, name, &SourceVariable::name);
        return found == site.variables.end() ? nullptr : &*found;
    }

    // A variable of one caller hides no word of a trace at hundreds of sites.
    [[nodiscard]] bool stays_a_word(const std::string& name) const {
        constexpr std::string_view kWords[] = {"func", "pid", "tid", "uid", "cpu", "comm"};
        const auto lacks = [&](const TraceSite& site) { return !find(site, name); };
        return std::ranges::find(kWords, name) != std::end(kWords) &&
               std::ranges::any_of(sites_, lacks);
    }

    // The type is that of the first site that has a value of one that BTF knows.
    SiteVariable make(const std::string& name) {
        SiteVariable made{name, 0, false, {}};
        const SourceType* type = nullptr;
        for (const TraceSite& site : sites_) {
            const SourceVariable* const variable = find(site, name);
            if (!type && variable && variable->location.kind != LocationKind::kNone) {
                const auto found = find_type(types_, variable->type);
                if (found) type = &variable->type, made.type = *found;
            }
            made.values.push_back(value_at(site, variable, type, made));
        }
        return made;
    }

    SiteValue value_at(const TraceSite& site, const SourceVariable* variable,
                       const SourceType* type, SiteVariable& made) {
        std::string why;
        if (!variable)
            why = "it is not in scope there";
        else if (variable->location.kind == LocationKind::kNone)
            why = why_none(*variable);
        else if (!type)
            why = "the kernel's types (BTF) do not have its type";
        else if (variable->type != *type)
            why = "another variable has this name there";
        else if (!variable->location.given.empty() && !site.entry)
            why = "optimized out here: it follows only from what the function was given";
        if (!why.empty()) return {"", why};
        return value(variable->location, made);
    }

    SiteValue value(const Location& location, SiteVariable& made) {
        const TypeId type = types_.unqualified(made.type);
        const bool is_whole = types_.is_composite(type) || types_.is_array(type);
        made.in_memory = is_whole;
        SiteValue value{"", "", {}, location.given, location.has_text_symbol};
        const std::string pointer = types_.name(types_.pointer_to(type));
        if (is_whole && location.kind != LocationKind::kMemory)
            value.words =
                location.kind == LocationKind::kWords ? location.words : std::vector{location.text};
        else if (is_whole)
            value.text = fmt::format("({}){}", pointer, in_parentheses(location.text));
        else if (location.kind == LocationKind::kValue)
            value.text = in_type(location.text, type);
        else if (location.kind == LocationKind::kMemory)
            value.text = fmt::format("READ({}, ({}){})", types_.name(type), pointer,
                                     in_parentheses(location.text));
        else
            value.why = "it is in pieces";
        // A file may say less of a variable than its type has.
        if (value.words.size() * 8 < types_.size(type) && !value.words.empty())
            value.why = "a part of it is optimized out here";
        return value;
    }

    // Numbers are converted as they are assigned, but of a bool's register one byte counts.
    [[nodiscard]] std::string in_type(const std::string& text, TypeId type) const {
        const bool is_bool = types_.name(type) == "bool" || types_.name(type) == "_Bool";
        if (types_.is_integer(type) && !is_bool) return text;
        return value_in_register(types_, type, in_parentheses(text));
    }

    const std::vector<TraceSite>& sites_;
    Types& types_;
    std::vector<SiteVariable> made_;
};

}  // namespace

bool SiteVariable::is_anywhere() const {
    return std::ranges::any_of(values, [](const SiteValue& value) { return value.why.empty(); });
}

std::vector<SiteVariable> variables_of(const std::vector<TraceSite>& sites, Types& types) {
    return Maker(sites, types).make();
}

}  // namespace djprobe::loader
