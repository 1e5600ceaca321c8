// SPDX-License-Identifier: GPL-2.0
#include "cli/service.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "base/say.h"
#include "cli/checks.h"
#include "service/declaration.h"
#include "service/units.h"

namespace djprobe::loader {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStartFooter = R"(Examples:
  probeload start reads --func vfs_read --json vfs_read.bpf.o
      the same as attach, as the service probeload@reads until it is stopped, or
      until the next boot
  probeload start reads
      what /etc/probeload/reads.toml says; `systemctl enable probeload@reads`
      starts it at each boot
  probeload logs reads -f
  probeload stop reads

vfs_read.bpf.o lies in /usr/share/djprobe/examples (or where cmake has installed
it, /usr/local/share/djprobe/examples).

The command returns once all probes are attached. What attach prints goes to the
journal. systemd starts the service again where it fails later, and where it hangs
for 30 seconds. A declaration has an option of attach as a key on each line, and
file: see docs/services.md.
)";

constexpr const char* kStopFooter = R"(Examples:
  probeload stop reads
      detaches its probes; returns once they are gone
)";

constexpr const char* kStatusFooter = R"(Examples:
  probeload status
      all services that start has started
  probeload status reads
      one of them, with its last lines

The exit status is that of systemctl: of a service that does not run it is 3.
)";

constexpr const char* kLogsFooter = R"(Examples:
  probeload logs reads -n 20 -f
      the last 20 lines, and those that come
)";

[[noreturn]] void fail_to_write(const fs::path& file, int error) {
    fail(error == EACCES || error == EPERM ? ExitCode::kNoPermission : ExitCode::kFailure, "{}: {}",
         file.string(), std::strerror(error));
}

void write_transient(const std::string& name, const std::vector<std::string>& words) {
    const fs::path file = declaration_in(kTransient, name);
    const std::string text = declaration_text(words, fs::current_path().string());
    std::error_code error;
    fs::create_directories(kTransient, error);
    if (error) fail_to_write(kTransient, error.value());
    std::ofstream out(file);
    out << text;
    if (!out.flush()) fail_to_write(file, errno);
}

// Of the transient one; another one of that name stays.
void forget_transient(const std::string& name) {
    std::error_code error;
    fs::remove(declaration_in(kTransient, name), error);
}

// What the unit runs.
int run_declared(const std::string& name) {
    const Declaration declaration = read_declaration(find_declaration(name));
    if (chdir(declaration.folder.c_str()) != 0)
        fail_to_write(fmt::format("folder '{}'", declaration.folder), errno);
    std::vector<const char*> argv = {"probeload"};
    for (const std::string& word : declaration.words)
        argv.push_back(word.c_str());
    return run_probeload(static_cast<int>(argv.size()), argv.data());
}

// Two of one name would be one unit.
void check_new(const std::string& name, const std::vector<std::string>& words) {
    check_service_name(name);
    check_transient(name, words);
    if (state_of(name).is_running)
        fail(ExitCode::kUsage, "{0} is running: probeload stop {0}, or take another name", name);
    const fs::path declared = declaration_in(kDeclared, name);
    if (!words.empty() && fs::exists(declared))
        fail(ExitCode::kUsage, "{} is declared in {}: leave the options out, or take another name",
             name, declared.string());
}

void start_transient(const std::string& name, const std::vector<std::string>& words) {
    try {
        write_transient(name, words);
        start_unit(name);
    } catch (const Error&) {
        forget_transient(name);
        throw;
    }
}

void start_declared(const std::string& name) {
    // One of a service that has ended by itself.
    if (fs::exists(declaration_in(kDeclared, name))) forget_transient(name);
    // What is wrong with it is said at once.
    (void)read_declaration(find_declaration(name));
    start_unit(name);
}

int start(const std::string& name, const std::vector<std::string>& words) {
    check_new(name, words);
    if (words.empty())
        start_declared(name);
    else
        start_transient(name, words);
    say("started {}\n", unit_of(name));
    return static_cast<int>(ExitCode::kOk);
}

int stop(const std::string& name) {
    check_service_name(name);
    const UnitState state = state_of(name);
    if (!state.is_running && !state.has_failed && !fs::exists(declaration_in(kTransient, name)))
        fail(ExitCode::kUsage, "{} is not running: probeload status shows what is", name);
    stop_unit(name);
    forget_transient(name);
    say("stopped {}\n", unit_of(name));
    return static_cast<int>(ExitCode::kOk);
}

// The journal says nothing of a name that was mistyped. Who follows waits for what comes.
void check_has_printed(const std::string& name, bool follows) {
    if (has_printed(name)) return;
    const std::string silent =
        fmt::format("the journal has nothing of {}: probeload status shows what runs", name);
    if (!follows) fail(ExitCode::kFailure, "{}", silent);
    say("probeload: {}\n", silent);
}

CLI::Option* add_name(CLI::App& command, std::string& name) {
    return command.add_option("NAME", name, "Of the service")->type_name("");
}

std::vector<ExitCode> codes() {
    return {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kNoPermission};
}

}  // namespace

Command add_start(CLI::App& app, std::vector<std::string> words) {
    CLI::App* const command =
        app.add_subcommand("start", "Attach as a service that stays, see stop, status, logs");
    command->footer(kStartFooter);
    const auto name = std::make_shared<std::string>();
    const auto in_unit = std::make_shared<bool>(false);
    add_name(*command, *name)->required();
    command->add_flag("--in-unit", *in_unit, "What the unit runs: in the foreground");
    return {command,
            [name, in_unit, words = std::move(words)] {
                return *in_unit ? run_declared(*name) : start(*name, words);
            },
            {std::begin(kAllExitCodes), std::end(kAllExitCodes)}};
}

Command add_stop(CLI::App& app) {
    CLI::App* const command = app.add_subcommand("stop", "Stop what start has started");
    command->footer(kStopFooter);
    const auto name = std::make_shared<std::string>();
    add_name(*command, *name)->required();
    return {command, [name] { return stop(*name); }, codes()};
}

Command add_status(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("status", "Show the services that start has started, or one of them");
    command->footer(kStatusFooter);
    const auto name = std::make_shared<std::string>();
    const CLI::Option* const given = add_name(*command, *name);
    return {
        command,
        [name, given]() -> int {
            if (!given->empty()) check_service_name(*name);
            check_systemd();
            if (given->empty())
                become({"systemctl", "--no-pager", "--all", "list-units", "probeload@*.service"});
            become({"systemctl", "--no-pager", "--full", "status", unit_of(*name)});
        },
        codes()};
}

Command add_logs(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("logs", "Show what a service that start has started has printed");
    command->footer(kLogsFooter);
    struct Options {
        std::string name, lines;
        bool follow = false;
    };
    const auto options = std::make_shared<Options>();
    add_name(*command, options->name)->required();
    command->add_flag("-f,--follow", options->follow, "And what comes");
    command->add_option("-n,--lines", options->lines, "Only so many, the last ones")
        ->type_name("N")
        ->check(whole_number(1, INT32_MAX));
    return {command,
            [options]() -> int {
                check_service_name(options->name);
                std::vector<std::string> words = {"journalctl", "--no-pager",          "-o", "cat",
                                                  "-u",         unit_of(options->name)};
                check_has_printed(options->name, options->follow);
                if (options->follow) words.push_back("-f");
                if (!options->lines.empty()) words.push_back("--lines=" + options->lines);
                become(words);
            },
            codes()};
}

}  // namespace djprobe::loader
