// SPDX-License-Identifier: GPL-2.0
#include "cli/words.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "decode/quote.h"
#include "kernel/similar_names.h"

namespace djprobe::loader {
namespace {

bool is_long(std::string_view word) {
    return word.starts_with("--");
}

// Without its value: "--func=f", "-d5".
std::string name_of(std::string_view word) {
    return std::string(word.substr(0, is_long(word) ? word.find('=') : 2));
}

std::string nearest(std::string_view wanted, const std::vector<std::string>& names) {
    const std::size_t limit = std::clamp<std::size_t>(wanted.size() / 3, 1, 3);
    std::string best;
    std::size_t least = limit + 1;
    for (const std::string& name : names) {
        const std::size_t distance = edit_distance(wanted, name, limit);
        if (distance >= least) continue;
        least = distance;
        best = name;
    }
    return best;
}

std::vector<std::string> long_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
    return names;
}

const CLI::App* command_with(const std::string& name, const std::vector<Command>& commands) {
    for (const Command& command : commands)
        if (command.app->get_option_no_throw(name)) return command.app;
    return nullptr;
}

// -fsdnuc is a long option, too.
std::string long_name(const std::string& name, std::string_view word) {
    return is_long(word) ? name.substr(2) : std::string(word.substr(1));
}

// "-j list" is "list -j".
void reject_option_before_command(int argc, const char* const* argv, const CLI::App& app,
                                  const std::vector<Command>& commands) {
    const std::string name = name_of(argv[1]);
    if (app.get_option_no_throw(name)) return;
    for (int i = 2; i < argc; ++i)
        for (const Command& command : commands)
            if (command.app->get_name() == argv[i] && command.app->get_option_no_throw(name))
                fail(ExitCode::kUsage,
                     "'{}' before the command: did you mean 'probeload {} {} ...'?", name, argv[i],
                     name);
}

[[noreturn]] void reject_option(std::string_view word, const std::string& name, const CLI::App& app,
                                const std::vector<Command>& commands) {
    const std::string meant = nearest(long_name(name, word), long_names(app));
    if (!meant.empty())
        fail(ExitCode::kUsage, "unknown option {}; did you mean --{}?", name, meant);
    const CLI::App* const other = command_with(name, commands);
    if (other && app.get_parent() == nullptr)
        fail(ExitCode::kUsage, "'{}' without a command: did you mean 'probeload {} {} ...'?", name,
             other->get_name(), name);
    if (other && app.get_name() == "start")
        fail(ExitCode::kUsage,
             "{} before the service's name: did you mean 'probeload start NAME {} ...'?", name,
             name);
    if (other)
        fail(ExitCode::kUsage, "unknown option {}: 'probeload {}' has it, 'probeload {}' has not",
             name, other->get_name(), app.get_name());
    fail(ExitCode::kUsage, "unknown option {} (see --help)", name);
}

// "-func" is -f with the value "unc".
void check_dashes(std::string_view word, const CLI::App& app) {
    const std::string_view name = word.substr(0, word.find('='));
    if (name.size() > 2 && app.get_option_no_throw(fmt::format("-{}", name)))
        fail(ExitCode::kUsage, "{}: with one dash; did you mean -{}?", name, name);
}

bool has_value(const CLI::Option& option) {
    return option.get_items_expected_max() != 0;
}

[[noreturn]] void reject_value(const std::string& name) {
    fail(ExitCode::kUsage, "{}: takes no value (see --help)", name);
}

// What a service declares may be "--json=true".
void check_flag(const std::string& name, std::string_view word) {
    if (word == name || word == name + "=true" || word == name + "=false") return;
    reject_value(name);
}

// Flags may share a word: -jv. True where the next word is the value.
bool takes_next(std::string_view word, const CLI::App& app, const std::vector<Command>& commands) {
    if (is_long(word)) {
        const std::string name = name_of(word);
        const CLI::Option* const option = app.get_option_no_throw(name);
        if (!option) reject_option(word, name, app, commands);
        // The parser would take the next word for it.
        if (has_value(*option) && name.size() + 1 == word.size())
            fail(ExitCode::kUsage, "{}: its value is missing (see --help)", name);
        if (!has_value(*option)) check_flag(name, word);
        return has_value(*option) && name.size() == word.size();
    }
    check_dashes(word, app);
    for (std::size_t i = 1; i < word.size(); ++i) {
        const std::string name = {'-', word[i]};
        const CLI::Option* const option = app.get_option_no_throw(name);
        if (!option) reject_option(word, name, app, commands);
        if (has_value(*option)) return i + 1 == word.size();
        if (i + 1 < word.size() && word[i + 1] == '=') reject_value(name);
    }
    return false;
}

const CLI::App* find_command(const std::string& word, const std::vector<Command>& commands) {
    std::vector<std::string> names;
    std::string list;
    for (const Command& command : commands) {
        names.push_back(command.app->get_name());
        if (names.back() == word) return command.app;
        list += (list.empty() ? "" : ", ") + names.back();
    }
    const std::string meant = nearest(word, names);
    if (!meant.empty())
        fail(ExitCode::kUsage, "unknown command '{}'; did you mean {}?", word, meant);
    fail(ExitCode::kUsage, "'{}' is none of {} (see --help)", word, list);
}

}  // namespace

std::string with_brackets(const std::string& word) {
    const std::size_t first = word.find_first_of("[]");
    return first != word.npos && word[first] == ']' ? "[" + word + "]" : word;
}

void check_words(int argc, const char* const* argv, const CLI::App& app,
                 const std::vector<Command>& commands) {
    if (argc < 2) return;
    const std::string_view first = argv[1];
    if (first.starts_with('-')) {
        reject_option_before_command(argc, argv, app, commands);
        takes_next(first, app, commands);
        return;
    }
    const CLI::App* const command = find_command(argv[1], commands);
    for (int i = 2; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--") return;
        if (word.size() < 2 || !word.starts_with('-')) continue;
        if (!takes_next(word, *command, commands)) continue;
        if (++i == argc) fail(ExitCode::kUsage, "{}: its value is missing (see --help)", word);
        // --comm=-d, in one word, is a value.
        if (argv[i][0] == '-' && command->get_option_no_throw(argv[i]))
            fail(ExitCode::kUsage, "{}: its value is missing: {} is the next option (see --help)",
                 word, argv[i]);
    }
}

void keep_in_line(std::string& message, const std::vector<std::string_view>& words) {
    for (std::string_view word : words) {
        const std::size_t equals = is_long(word) ? word.find('=') : word.npos;
        if (equals != word.npos) word.remove_prefix(equals + 1);
        if (word.find('\n') == word.npos) continue;
        const std::string line = printable_name(word);
        for (std::size_t at = message.find(word); at != message.npos;
             at = message.find(word, at + line.size()))
            message.replace(at, word.size(), line);
    }
}

}  // namespace djprobe::loader
