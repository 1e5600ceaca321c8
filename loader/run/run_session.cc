// SPDX-License-Identifier: GPL-2.0
#include "run/run_session.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/say.h"
#include "kernel/device.h"
#include "run/ledger.h"
#include "run/notifications.h"
#include "run/summary.h"
#include "run/takeover.h"
#include "run/tool.h"

namespace djprobe::loader {
namespace {

/// The signals that ask probeload to end: it ends with the tool. What is typed at the terminal
/// reaches the tool by itself; what was sent to probeload is passed on.
class PassedOn {
  public:
    PassedOn() {
        sigset_t wanted;
        sigemptyset(&wanted);
        for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
            sigaddset(&wanted, number);
        sigprocmask(SIG_BLOCK, &wanted, &before_);
        fd_ = UniqueFd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    ~PassedOn() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    PassedOn(const PassedOn&) = delete;
    PassedOn& operator=(const PassedOn&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    /// Passes on those that have come. True: one of them asks for an end.
    [[nodiscard]] bool pass_on(const Tool& tool) const {
        bool end = false;
        signalfd_siginfo info = {};
        while (read(fd_.get(), &info, sizeof info) == sizeof info) {
            if (info.ssi_code <= 0) tool.signal(static_cast<int>(info.ssi_signo));
            end |= info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2;
        }
        return end;
    }

  private:
    sigset_t before_{};
    UniqueFd fd_;
};

// Each request of the tool's may take a descriptor.
void raise_descriptor_limit() {
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

Tool start_tool(const RunOptions& options, Filter filter) {
    try {
        return Tool::start(options.tool, filter);
    } catch (const std::system_error& error) {
        fail(ExitCode::kCommandFailed, "{}", error.what());
    }
}

int exit_status(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// When the ledger looks at its probes: not at each call of a tool that places hundreds.
class Looks {
  public:
    [[nodiscard]] int wait_ms() const { return again_ ? static_cast<int>(kLook.count()) : -1; }
    /// Short of memory it leaves the rest to a later look: the tool goes on.
    void at(Ledger& ledger) try {
        ledger.forget_ended();
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < kLook) {
            again_ = true;
            return;
        }
        last_ = now;
        again_ = true;
        again_ = ledger.look();
    } catch (const std::exception&) {
    }

  private:
    static constexpr std::chrono::milliseconds kLook{200};
    std::chrono::steady_clock::time_point last_{};
    bool again_ = false;
};

// Until the tool has ended, and no process that it has left behind is under the filter; or, for the
// sake of those that are no end of theirs, until a signal comes then.
int serve(Tool& tool, const PassedOn& signals, Ledger* ledger, Takeover* takeover) {
    std::optional<int> status;
    bool listening = tool.listener() && takeover;
    Looks looks;
    while (!status || listening) {
        std::array<pollfd, 4> ready = {{{status ? -1 : tool.fd(), POLLIN, 0},
                                        {signals.fd(), POLLIN, 0},
                                        {listening ? tool.listener().get() : -1, POLLIN, 0},
                                        {ledger ? ledger->fd() : -1, POLLIN, 0}}};
        poll(ready.data(), ready.size(), looks.wait_ms());
        if (signals.pass_on(tool) && status) break;
        if (ready[2].revents & POLLIN) {
            if (const auto call = receive(tool.listener())) takeover->handle(*call);
        } else if (ready[2].revents) {
            listening = false;
        }
        if (ledger) looks.at(*ledger);
        if (ready[0].revents) status = tool.wait();
    }
    return exit_status(*status);
}

void tell(const RunSums& sums, bool json) {
    say("{}", json ? run_json(sums).dump() + "\n" : run_text(sums));
}

int run_alone(const RunOptions& options) {
    const PassedOn signals;
    Tool tool = start_tool(options, Filter::kNone);
    return serve(tool, signals, nullptr, nullptr);
}

std::optional<Device> open_device(const RunOptions& options) {
    try {
        return Device::open();
    } catch (const Error& error) {
        if (options.strict) throw;
        say("probeload: {}; the kernel places all probes\n", error.what());
        return std::nullopt;
    }
}

}  // namespace

int run_tool(const RunOptions& options) {
    const std::optional<Device> device = open_device(options);
    if (!device) return run_alone(options);
    const PassedOn signals;
    Ledger ledger;
    Takeover takeover(*device, options, ledger);
    Tool tool = start_tool(options, options.strict ? Filter::kRequired : Filter::kWanted);
    raise_descriptor_limit();
    if (!tool.listener())
        say("probeload: the tool has a seccomp filter with a listener already: the kernel places "
            "all probes\n");
    const int status = serve(tool, signals, &ledger, &takeover);
    tell(ledger.sums(), options.json);
    return status;
}

}  // namespace djprobe::loader
