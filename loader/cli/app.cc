// SPDX-License-Identifier: GPL-2.0
#include "cli/app.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/manager.h"
#include "base/memory_limit.h"
#include "base/say.h"
#include "cli/attach.h"
#include "cli/bench.h"
#include "cli/count.h"
#include "cli/cover.h"
#include "cli/doctor.h"
#include "cli/explain.h"
#include "cli/functions.h"
#include "cli/help.h"
#include "cli/hist.h"
#include "cli/latency.h"
#include "cli/lines.h"
#include "cli/list.h"
#include "cli/run.h"
#include "cli/service.h"
#include "cli/survey.h"
#include "cli/switch.h"
#include "cli/trace.h"
#include "cli/words.h"
#include "decode/quote.h"
#include "djprobe.h"

namespace djprobe::loader {
namespace {

int report(ExitCode code, std::string message, const std::vector<std::string_view>& given = {}) {
    keep_in_line(message, given);
    // The message may quote a file: names of programs and sections, and libbpf's words.
    const std::string line = printable(message);
    say("probeload: {}\n", line);
    tell_manager_why(line);
    return static_cast<int>(code);
}

// What --help and --version print.
int show(const CLI::App& app, const CLI::ParseError& text) {
    errno = 0;
    const int status = app.exit(text);
    if (std::cout.flush()) return status;
    return report(ExitCode::kFailure, fmt::format("stdout: {}", std::strerror(errno)));
}

bool is_help(std::string_view word) {
    return word == "-h" || word == "--help";
}

// `run` has words of its tool behind --, `start` those of attach behind NAME. Where the others end;
// `argc`: there are no such words.
int end_of_options(int argc, const char* const* argv) {
    const std::string_view verb = argc < 2 ? "" : argv[1];
    if (verb == "run")
        return static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv);
    if (verb != "start" || std::any_of(argv, argv + argc, is_help)) return argc;
    const auto* const name = std::find_if(argv + 2, argv + argc, [](const char* word) {
        return !std::string_view(word).starts_with('-');
    });
    return name == argv + argc ? argc : static_cast<int>(name - argv) + 1;
}

// The parser counts, and names what is left over from its end.
std::string in_plain_words(const CLI::ParseError& error, const CLI::App& app,
                           const std::vector<Command>& commands) {
    if (dynamic_cast<const CLI::RequiredError*>(&error) &&
        std::none_of(commands.begin(), commands.end(),
                     [](const Command& command) { return command.app->parsed(); }))
        return "a command is required";
    if (dynamic_cast<const CLI::ExtrasError*>(&error))
        for (const std::string& word : app.remaining(true))
            if (word != "--") return fmt::format("'{}' is one word too many", word);
    if (!dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return error.what();
    for (const Command& command : commands) {
        if (!command.app->parsed()) continue;
        for (const CLI::Option* const option : command.app->get_options())
            if (option->get_items_expected_max() == 1 && option->count() > 1)
                return fmt::format("{} is given {} times: give it once", option->get_name(),
                                   option->count());
    }
    return error.what();
}

// Without the dashes before them.
std::vector<std::string> words_behind(int end, int argc, const char* const* argv) {
    if (end < argc && std::string_view(argv[end]) == "--") ++end;
    return {argv + end, argv + argc};
}

// "help count" is "count --help".
void put_help_last(std::vector<const char*>& words) {
    if (words.size() < 2 || std::string_view(words[1]) != "help") return;
    words.erase(words.begin() + 1);
    words.push_back("--help");
}

struct Verb {
    const char* name;
    std::function<Command(CLI::App&)> add;
};

// In the order of --help. `behind`: the words behind those of probeload.
std::vector<Verb> all_verbs(const std::vector<std::string>& behind) {
    return {{"attach", add_attach},
            {"trace", add_trace},
            {"run", [&](CLI::App& app) { return add_run(app, behind); }},
            {"start", [&](CLI::App& app) { return add_start(app, behind); }},
            {"stop", add_stop},
            {"status", add_status},
            {"logs", add_logs},
            {"count", add_count},
            {"hist", add_hist},
            {"latency", add_latency},
            {"cover", add_cover},
            {"lines", add_lines},
            {"list", add_list},
            {"off", add_off},
            {"on", add_on},
            {"explain", add_explain},
            {"survey", add_survey},
            {"functions", add_functions},
            {"bench", add_bench},
            {"doctor", add_doctor}};
}

// What the command line may be, and what it was.
class CommandLine {
  public:
    explicit CommandLine(const std::vector<Verb>& verbs)
        : app_("Run BPF programs on jump-optimized probes anywhere in the kernel.", "probeload") {
        app_.set_version_flag("-V,--version", fmt::format("probeload {} (ABI {})", DJPROBE_VERSION,
                                                          DJPROBE_ABI_VERSION));
        app_.require_subcommand(1);
        // Subcommands inherit it.
        app_.formatter(std::make_shared<HelpFormatter>());
        for (const Verb& verb : verbs) {
            const Command& command = commands_.emplace_back(verb.add(app_));
            command.app->footer(command.app->get_footer() + "\n" + exit_code_table(command.codes));
        }
        app_.footer(exit_code_table(kAllExitCodes));
    }

    void parse(int argc, const char* const* argv) {
        check_words(argc, argv, app_, commands_);
        app_.parse(argc, argv);
    }
    int run() const {
        for (const Command& command : commands_) {
            if (command.app->parsed()) return command.run();
        }
        return static_cast<int>(ExitCode::kUsage);
    }
    int report_or_show(const CLI::ParseError& error,
                       const std::vector<std::string_view>& given) const {
        // --help and --version come here too, with 0.
        if (error.get_exit_code() == 0) return show(app_, error);
        return report(ExitCode::kUsage,
                      fmt::format("{} (see --help)", in_plain_words(error, app_, commands_)),
                      given);
    }

  private:
    CLI::App app_;
    std::vector<Command> commands_;
};

// What is right needs no other verb's options, of which there are hundreds. nullptr: it is not
// right, and what is told about it may need them.
std::unique_ptr<CommandLine> parse_one_verb(const std::vector<Verb>& verbs, int argc,
                                            const char* const* argv) {
    const auto verb = std::find_if(verbs.begin(), verbs.end(), [&](const Verb& one) {
        return argc > 1 && std::string_view(one.name) == argv[1];
    });
    if (verb == verbs.end()) return nullptr;
    auto line = std::make_unique<CommandLine>(std::vector{*verb});
    try {
        line->parse(argc, argv);
        return line;
    } catch (const CLI::ParseError&) {
        return nullptr;
    } catch (const Error&) {
        return nullptr;
    }
}

}  // namespace

int run_probeload(int argc, const char* const* argv) {
    const std::vector<std::string_view> given(argv, argv + argc);
    const int end = end_of_options(argc, argv);
    const std::vector<std::string> behind = words_behind(end, argc, argv);
    std::vector<const char*> words(argv, argv + end);
    put_help_last(words);
    argc = static_cast<int>(words.size());
    argv = words.data();

    std::unique_ptr<CommandLine> line;
    try {
        const std::vector<Verb> verbs = all_verbs(behind);
        line = parse_one_verb(verbs, argc, argv);
        if (!line) {
            line = std::make_unique<CommandLine>(verbs);
            line->parse(argc, argv);
        }
        return line->run();
    } catch (const CLI::ParseError& error) {
        return line->report_or_show(error, given);
    } catch (const Error& error) {
        return report(error.code(), error.what(), given);
    } catch (const std::bad_alloc&) {
        return report(ExitCode::kFailure, out_of_memory());
    } catch (const std::exception& error) {
        return report(ExitCode::kFailure, error.what(), given);
    }
}

}  // namespace djprobe::loader
