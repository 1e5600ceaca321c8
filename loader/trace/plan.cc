// SPDX-License-Identifier: GPL-2.0
#include "trace/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "trace/arguments.h"
#include "trace/registers.h"
#include "trace/suggest.h"
#include "trace/variables_plan.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kResult = "retval", kLatency = "latency", kFunction = "func";

// What the program itself calls by these names, and a variable of libbpf's macros.
const std::set<std::string> kTaken = {"ctx",          "event",
                                      "events",       "lost",
                                      "call",         "frame",
                                      "entered",      "val",
                                      "calls",        "key",
                                      "task_comm",    "result",
                                      "stacks",       "results",
                                      "highest_bit",  "value",
                                      "nothing",      "on_entry",
                                      "on_return",    "own_pid",
                                      "given",        "begun",
                                      "_text",        "cgroup_id",
                                      "cgroup_level", std::string(kReadComm)};

class Planner {
  public:
    Planner(const Question& question, Types& types) : question_(question), types_(types) {
        function_.result = types.number(true, true);
        if (!question.is_glob() && !question.line && !question.inlined) find_function();
        if (question.is_within()) leave_entry();
        if (!question.sites.empty()) {
            scope_.gone.clear();
            site_variables_ = variables_of(question.sites, types);
        }
        scope_.place = question.is_within() ? question.place() : function_.name;
        scope_.at_returns = question.at_returns;
        for (const Argument& argument : function_.arguments)
            scope_.arguments.push_back(argument.name);
        if (function_.result == 0) scope_.no_result = "returns nothing";
        if (types.is_composite(function_.result))
            scope_.no_result =
                fmt::format("returns {}, which is no number", types.name(function_.result));
        scope_.taken = kTaken;
        name_values();
    }

    TracePlan plan() {
        if (question_.condition) plan_.condition = condition(*question_.condition);
        plan_.read_first = plan_.needs.locals;
        question_.aggregation ? add_result(*question_.aggregation) : add_event();
        const auto first = static_cast<std::ptrdiff_t>(plan_.read_first.size());
        plan_.read.assign(plan_.needs.locals.begin() + first, plan_.needs.locals.end());
        take_locals();
        plan_.needs.comm = std::ranges::any_of(
            plan_.fields, [](const Field& field) { return field.fill.starts_with(kReadComm); });
        return std::move(plan_);
    }

  private:
    // What the compiler has changed is in no BTF: then it can be traced, but names nothing.
    void find_function() {
        if (const auto found = types_.function(question_.bare_function())) {
            function_ = *found;
            return;
        }
        const std::vector<std::string> functions = types_.function_names();
        if (functions.empty() && !question_.module().empty())
            scope_.unknown =
                fmt::format("{}: module {} has no types (BTF), and so none of its arguments",
                            question_.function(), question_.module());
        else
            scope_.unknown = fmt::format(
                "{}: the kernel's types know no such function, and so none of its arguments{}",
                question_.function(), suggest(question_.bare_function(), functions));
        plan_.unknown = scope_.unknown;
    }

    // What registers held at the entry they may hold no more.
    void leave_entry() {
        for (const Argument& argument : function_.arguments)
            scope_.gone.push_back(argument.name);
        function_.arguments.clear();
        scope_.unknown.clear();
        plan_.unknown.clear();
    }

    [[nodiscard]] bool is_named(std::string_view name) const {
        return std::ranges::find(scope_.names, name, &Name::name) != scope_.names.end();
    }

    [[nodiscard]] std::string variable_for(const std::string& argument) const {
        std::string variable = argument;
        const auto is_other = [&] {
            if (variable == argument) return false;
            const auto named = [&](const auto& one) { return one.name == variable; };
            return std::ranges::any_of(function_.arguments, named) ||
                   std::ranges::any_of(site_variables_, named);
        };
        while (kTaken.contains(variable) || is_other())
            variable += "_";
        return variable;
    }

    // An argument hides what is there for every task, but not what the return tells.
    void name_values() {
        if (question_.at_returns) {
            if (function_.result != 0 && !types_.is_composite(function_.result))
                scope_.names.push_back(
                    {std::string(kResult), std::string(kResult), function_.result, true});
            scope_.names.push_back({std::string(kLatency), "(bpf_ktime_get_ns() - entered)",
                                    types_.number(true, false)});
        }
        for (std::size_t i = 0; i < function_.arguments.size(); ++i) {
            const Argument& argument = function_.arguments[i];
            if (is_named(argument.name) || argument_value(types_, function_, i).empty()) continue;
            variables_[i] = variable_for(argument.name);
            scope_.names.push_back({argument.name, variables_[i], argument.type, true});
        }
        for (const SiteVariable& variable : site_variables_)
            scope_.names.push_back(name_of(variable));
        scope_.names.push_back(
            {std::string(kFunction), std::string(kFunction), types_.number(true, false)});
        const TypeId number = types_.number(false, false);
        scope_.names.push_back({"pid", "(__u32)(bpf_get_current_pid_tgid() >> 32)", number});
        scope_.names.push_back({"tid", "(__u32)bpf_get_current_pid_tgid()", number});
        scope_.names.push_back({"uid", "(__u32)bpf_get_current_uid_gid()", number});
        scope_.names.push_back({"cpu", "bpf_get_smp_processor_id()", number});
        if (!question_.at_returns)
            std::ranges::copy_if(register_names(types_), std::back_inserter(scope_.names),
                                 [this](const Name& name) { return !is_named(name.name); });
    }

    // What has a value nowhere hides what has the same name outside, too.
    [[nodiscard]] Name name_of(const SiteVariable& variable) const {
        Name name{variable.name, variable_for(variable.name), variable.type, true};
        name.in_memory = variable.in_memory;
        if (!variable.is_anywhere())
            name.none = fmt::format("`{}`: {}", variable.name, variable.values.front().why);
        return name;
    }

    IsTypedef is_typedef() {
        return [this](std::string_view word) {
            const auto is_this = [&](const Name& name) { return name.name == word; };
            return std::ranges::none_of(scope_.names, is_this) && types_.is_typedef(word);
        };
    }

    void add_event() {
        for (const std::string& column : question_.columns)
            plan_.fields.push_back(task_field(column));
        question_.items ? add_items(*question_.items) : add_all();
        if (question_.kernel_stack) plan_.fields.push_back(task_field("kstack"));
        if (question_.user_stack) plan_.fields.push_back(task_field("ustack"));
    }

    void add_result(const Aggregation& aggregation) {
        const std::string& keys = aggregation.keys;
        if (!keys.empty()) {
            Translator translator(types_, scope_, keys, plan_.needs);
            for (const Item& item : parse_items(keys, is_typedef()))
                plan_.fields.push_back(make_key(item, translator, types_, keys, plan_.fields));
        }
        if (question_.kernel_stack) add_stack_key("kstack");
        if (question_.user_stack) add_stack_key("ustack");
        const std::string& text = aggregation.value;
        if (text.empty()) return;
        Translator translator(types_, scope_, text, plan_.needs);
        const Expression expression = parse_expression(text, is_typedef());
        plan_.value = translator.number(expression);
        if (!types_.is_integer(plan_.value->type))
            fail_at(text, expression.span, "this is a pointer: a result is of numbers");
        plan_.value_is_signed = types_.is_signed(plan_.value->type);
        plan_.value_is_wide = types_.size(plan_.value->type) > sizeof(std::uint32_t);
        if (aggregation.linear && aggregation.linear->from < 0 && !plan_.value_is_signed)
            fail_at(text, expression.span,
                    "this number has no sign: linear() begins at 0 or above");
    }

    // An option asks for no second one.
    void add_stack_key(const std::string& stack) {
        const auto is_it = [&](const Field& field) {
            return field.shape == Shape::kStackId && field.name == stack;
        };
        if (std::ranges::none_of(plan_.fields, is_it))
            plan_.fields.push_back(stack_key(stack, plan_.fields));
    }

    void add_items(const std::string& text) {
        Translator translator(types_, scope_, text, plan_.needs);
        for (const Item& item : parse_items(text, is_typedef()))
            plan_.fields.push_back(make_field(item, translator, types_, text, plan_.fields));
    }

    // All that the function is given, or what it returns.
    void add_all() {
        for (const Name& name : scope_.names) {
            const bool wanted = question_.at_returns ? name.name == kResult : name.is_argument;
            if (wanted && is_shown(name)) add_items(name.name);
        }
    }

    // Of all variables those that have a value at each site without another probe, and fit a
    // column.
    [[nodiscard]] bool is_shown(const Name& name) const {
        const auto variable = std::ranges::find(site_variables_, name.name, &SiteVariable::name);
        if (variable == site_variables_.end()) return true;
        if (name.in_memory) return false;
        for (std::size_t i = 0; i < variable->values.size(); ++i)
            if (!variable->is_at_hand(i)) return false;
        return true;
    }

    std::string condition(const std::string& text) {
        Translator translator(types_, scope_, text, plan_.needs);
        return translator.number(parse_expression(text, is_typedef())).text;
    }

    void take_locals() {
        const std::set<std::string>& named = plan_.needs.names;
        plan_.needs_time = named.contains(std::string(kLatency));
        if (question_.at_returns && named.contains(std::string(kResult)))
            plan_.result = local(
                std::string(kResult), function_.result,
                value_in_register(types_, types_.unqualified(function_.result), "PT_REGS_RC(ctx)"));
        const auto is_func = [](const auto& one) { return one.name == kFunction; };
        const bool has_func = std::ranges::any_of(function_.arguments, is_func) ||
                              std::ranges::any_of(site_variables_, is_func);
        if (named.contains(std::string(kFunction)) && !has_func)
            plan_.arguments.push_back(
                {"unsigned long func", std::string(kFunction), "PT_REGS_IP(ctx)"});
        take_variables();
        for (const auto& [i, variable] : variables_) {
            const Argument& argument = function_.arguments[i];
            if (!named.contains(argument.name)) continue;
            const std::string value = argument_value(types_, function_, i);
            plan_.needs.reads |= value.find("READ(") != std::string::npos;
            plan_.arguments.push_back(local(variable, argument.type, value));
        }
    }

    void take_variables() {
        std::vector<const SiteVariable*> named;
        for (const SiteVariable& variable : site_variables_)
            if (plan_.needs.names.contains(variable.name)) named.push_back(&variable);
        for (const SiteVariable* const variable : named) {
            const TypeId type = variable->in_memory
                                    ? types_.pointer_to(types_.unqualified(variable->type))
                                    : variable->type;
            plan_.variables.push_back(local(variable_for(variable->name), type, ""));
        }
        for (std::size_t i = 0; i < question_.sites.size(); ++i)
            add_site(i, named);
        if (plan_.sites.empty() && !question_.sites.empty())
            fail(ExitCode::kUsage, "{}: not all of this has a value there: {}", question_.place(),
                 fmt::join(plan_.left_out, "; "));
    }

    void add_site(std::size_t index, const std::vector<const SiteVariable*>& named) {
        const TraceSite& from = question_.sites[index];
        PlannedSite site{from.site, from.about, {}};
        for (const SiteVariable* const variable : named) {
            const SiteValue& value = variable->values[index];
            if (!value.why.empty()) {
                plan_.left_out.push_back(
                    fmt::format("{}: `{}`: {}", from.site.str(), variable->name, value.why));
                return;
            }
            add_value(*variable, value, site);
            if (!value.given.empty()) keep(from, value.given, site);
        }
        plan_.sites.push_back(std::move(site));
    }

    void add_value(const SiteVariable& variable, const SiteValue& value, PlannedSite& site) {
        site.values.push_back(value.words.empty() ? value.text
                                                  : put_together(variable, value, site));
        plan_.has_text_symbol |= value.has_text_symbol;
        const auto reads = [](const std::string& text) { return text.find("READ(") != text.npos; };
        plan_.needs.reads |= reads(value.text) || std::ranges::any_of(value.words, reads);
    }

    // Of the parts of a struct in registers, which are in no memory, a copy is made.
    std::string put_together(const SiteVariable& variable, const SiteValue& value,
                             PlannedSite& site) {
        std::string name = variable_for(variable.name) + "_words";
        while (std::ranges::find(site_variables_, name, &SiteVariable::name) !=
               site_variables_.end())
            name += "_";
        site.words.push_back({fmt::format("unsigned long {}[{}]", name, value.words.size()), name,
                              fmt::format("{{{}}}", fmt::join(value.words, ", "))});
        const TypeId pointer = types_.pointer_to(types_.unqualified(variable.type));
        return fmt::format("({}){}", types_.name(pointer), name);
    }

    void keep(const TraceSite& from, const std::vector<std::string>& given, PlannedSite& site) {
        site.frame = from.frame;
        for (const std::string& one : given)
            if (std::ranges::find(plan_.given, one) == plan_.given.end())
                plan_.given.push_back(one);
        if (std::ranges::find(plan_.entries, *from.entry) == plan_.entries.end())
            plan_.entries.push_back(*from.entry);
    }

    Local local(const std::string& variable, TypeId type, const std::string& value) {
        return {types_.declare(types_.unqualified(type), variable), variable, value};
    }

    const Question& question_;
    Types& types_;
    Function function_{question_.bare_function(), {}, 0};
    std::map<std::size_t, std::string> variables_;  // by the arguments' places
    std::vector<SiteVariable> site_variables_;
    Scope scope_;
    TracePlan plan_;
};

}  // namespace

TracePlan make_plan(const Question& question, Types& types) {
    return Planner(question, types).plan();
}

}  // namespace djprobe::loader
