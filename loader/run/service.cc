// SPDX-License-Identifier: GPL-2.0
#include "run/service.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <exception>

#include "run/notifications.h"

namespace djprobe::loader {
namespace {

// The ledger looks at its probes so often: not at each call of a tool that places hundreds.
constexpr std::chrono::milliseconds kLook{200};

}  // namespace

Service::Service(Tool& tool, const PassedOn& signals, Ledger* ledger, Takeover* takeover)
    : tool_(tool),
      signals_(signals),
      ledger_(ledger),
      takeover_(takeover),
      listening_(tool.listener() && takeover) {
    if (listening_) keeper_.emplace(tool.listener());
}

// Short of memory it leaves the rest to a later look: the tool goes on.
void Service::look() try {
    ledger_->forget_ended();
    const auto now = std::chrono::steady_clock::now();
    look_again_ = true;
    if (now - last_look_ < kLook) return;
    last_look_ = now;
    const bool holds = takeover_->look();
    look_again_ = ledger_->look() || holds;
} catch (const std::exception&) {
}

bool Service::step(int limit_ms, int other) {
    std::array<pollfd, 5> ready = {{{status_ ? -1 : tool_.fd(), POLLIN, 0},
                                    {signals_.fd(), POLLIN, 0},
                                    {listening_ ? tool_.listener().get() : -1, POLLIN, 0},
                                    {ledger_ ? ledger_->fd() : -1, POLLIN, 0},
                                    {other, POLLIN, 0}}};
    // Up to 6.10 a task is under the filter until it is reaped. No descriptor tells of an orphan.
    const bool reaps = status_ && keeper_ && getpid() == 1;
    if ((look_again_ || reaps) && (limit_ms < 0 || limit_ms > kLook.count()))
        limit_ms = static_cast<int>(kLook.count());
    poll(ready.data(), ready.size(), limit_ms);
    const bool end = signals_.pass_on(tool_);
    if (has_call(ready[2].revents)) {
        if (const auto call = receive(tool_.listener())) {
            ++calls_;
            keeper_->note(call->id());
            takeover_->handle(*call);
        }
    } else if (has_ended(ready[2].revents)) {
        listening_ = false;
        keeper_->end();
    }
    if (ledger_) look();
    if (ready[0].revents) status_ = tool_.wait();
    if (reaps) reap_orphans(keeper_->pid());
    return end;
}

}  // namespace djprobe::loader
