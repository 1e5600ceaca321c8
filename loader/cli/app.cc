// SPDX-License-Identifier: GPL-2.0
#include "cli/app.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "cli/attach.h"
#include "cli/bench.h"
#include "cli/explain.h"
#include "cli/help.h"
#include "cli/list.h"
#include "cli/survey.h"
#include "cli/switch.h"
#include "decode/quote.h"
#include "djprobe.h"

namespace djprobe::loader {
namespace {

// An option before any command: find the command that has it.
void check_option(std::string_view word, const CLI::App& app,
                  const std::vector<Command>& commands) {
    const bool is_long = word.starts_with("--");
    const std::string name(word.substr(0, is_long ? word.find('=') : 2));
    if (app.get_option_no_throw(name)) return;
    for (const Command& command : commands)
        if (command.app->get_option_no_throw(name))
            fail(ExitCode::kUsage, "'{}' without a command: did you mean 'probeload {} {} ...'?",
                 name, command.app->get_name(), name);
    fail(ExitCode::kUsage, "'{}' is no option (see --help)", word);
}

// CLI11 would only say that a command is missing.
void check_command(std::string_view word, const CLI::App& app,
                   const std::vector<Command>& commands) {
    if (word.starts_with('-')) return check_option(word, app, commands);
    std::string names;
    for (const Command& command : commands) {
        if (command.app->get_name() == word) return;
        names += (names.empty() ? "" : ", ") + command.app->get_name();
    }
    fail(ExitCode::kUsage, "'{}' is none of {} (see --help)", word, names);
}

int report(ExitCode code, const std::string& message) {
    // The message may quote a file: names of programs and sections, and libbpf's words.
    say("probeload: {}\n", printable(message));
    return static_cast<int>(code);
}

// What --help and --version print.
int show(const CLI::App& app, const CLI::ParseError& text) {
    errno = 0;
    const int status = app.exit(text);
    if (std::cout.flush()) return status;
    return report(ExitCode::kFailure, fmt::format("stdout: {}", std::strerror(errno)));
}

}  // namespace

int run_probeload(int argc, const char* const* argv) {
    CLI::App app("Run BPF programs on jump-optimized probes anywhere in the kernel.", "probeload");
    app.set_version_flag(
        "--version", fmt::format("probeload {} (ABI {})", DJPROBE_VERSION, DJPROBE_ABI_VERSION));
    app.require_subcommand(1);
    // Subcommands inherit it.
    app.formatter(std::make_shared<HelpFormatter>());
    const std::vector<Command> commands = {add_attach(app), add_list(app),    add_off(app),
                                           add_on(app),     add_explain(app), add_survey(app),
                                           add_bench(app)};
    app.footer(exit_code_table(kAllExitCodes));
    for (const Command& command : commands) {
        command.app->footer(command.app->get_footer() + "\n" + exit_code_table(command.codes));
    }

    try {
        if (argc > 1) check_command(argv[1], app, commands);
        app.parse(argc, argv);
        for (const Command& command : commands) {
            if (command.app->parsed()) return command.run();
        }
        return static_cast<int>(ExitCode::kUsage);
    } catch (const CLI::ParseError& error) {
        // --help and --version come here too, with 0.
        if (error.get_exit_code() == 0) return show(app, error);
        return report(ExitCode::kUsage, fmt::format("{} (see --help)", error.what()));
    } catch (const Error& error) {
        return report(error.code(), error.what());
    } catch (const std::exception& error) {
        return report(ExitCode::kFailure, error.what());
    }
}

}  // namespace djprobe::loader
