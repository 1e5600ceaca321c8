// SPDX-License-Identifier: GPL-2.0
#include "cli/hist.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/checks.h"
#include "cli/count.h"
#include "cli/metrics_options.h"

namespace djprobe::loader {
namespace {

constexpr const char* kHistFooter = R"(Examples:
  probeload hist vfs_read --of count
      which sizes are read, until Ctrl-C
  probeload hist vfs_write --of count --if 'count > 4096' -d 10
      of the large ones, in ten seconds
  probeload hist vfs_read --of arg3 -c 'make -j4'
      the third argument, while a command runs
  probeload hist vfs_read --of count -p 1234
      what one process reads
  probeload hist vfs_read+0x2b --of rdx -d 5 -j
      a register at an instruction, as JSON
  probeload hist vfs_read --of count --metrics 9435
      served to Prometheus, as the histogram djprobe_value

An argument is looked up in the kernel's BTF, and known at the function's entry
only. A negative number counts as the largest of all in the bars, not in min and
max.

No program runs: the code that a hit leads to chooses one of 65 counters by the
value's highest bit, increments it, and keeps the least and the greatest value.
The counters are a BPF map of type percpu_array named djprobe_count.

The histogram goes to stdout, all else to stderr (also the output of COMMAND).
SIGUSR1 (kill -USR1 PID) shows it so far.
)";

}  // namespace

Command add_hist(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("hist", "Show which values an argument or a register has");
    command->footer(kHistFooter);
    const auto options = std::make_shared<CountOptions>();
    command
        ->add_option_function<std::string>(
            "SITE",
            [options](const std::string& text) {
                if (text.ends_with(":return"))
                    fail(ExitCode::kUsage,
                         "{0}: hist looks at entries and instructions: 'probeload trace {0} --hist "
                         "retval' looks at returns",
                         text);
                const bool is_address = text.starts_with("0x");
                options->sites = {is_address ? parse_address(text)
                                             : parse_one_function(text, "hist", "count")};
            },
            "SYM, SYM+OFFSET, MODULE:SYM or 0xADDRESS")
        ->type_name("")
        ->required();
    command
        ->add_option("--of", options->histogram_of,
                     "An argument of the function, arg1 to arg6, a register (rdi, edi), or memory "
                     "that the instruction itself reads or writes (0x18(%rdi):4)")
        ->type_name("OPERAND")
        ->required()
        ->check(not_empty);
    add_counting_options(*command, *options);
    command->add_flag("-j,--json", options->json, "Histogram and summary as NDJSON");
    const auto metrics = std::make_shared<MetricsOptions>();
    add_metrics_options(*command, *metrics, "histogram and hits");
    return counting_command(command, [options, metrics] {
        return run_with_metrics(
            *metrics, [&](const Numbers& numbers) { return run_count(*options, numbers); });
    });
}

}  // namespace djprobe::loader
