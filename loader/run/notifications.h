// SPDX-License-Identifier: GPL-2.0
// The tool's system calls, as the seccomp filter hands them over, and their answers.
#pragma once

#include <linux/seccomp.h>
#include <poll.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "base/unique_fd.h"

namespace djprobe::loader {

/// What becomes of one call.
class Answer {
  public:
    /// The kernel carries the call out, as if there were no filter.
    static Answer go_on() { return {Kind::kGoOn, 0, {}}; }
    static Answer fail(int error) { return {Kind::kFail, error, {}}; }
    static Answer succeed(std::int64_t value) { return {Kind::kSucceed, value, {}}; }
    /// The call returns a new descriptor of the tool's, which has the only copy then: once the tool
    /// closes it, the file is closed.
    static Answer give(UniqueFd file, bool close_on_exec) {
        return {Kind::kGive, close_on_exec, std::move(file)};
    }

  private:
    friend class Notification;
    enum class Kind { kGoOn, kFail, kSucceed, kGive };
    Answer(Kind kind, std::int64_t value, UniqueFd file)
        : kind_(kind), value_(value), file_(std::move(file)) {}

    Kind kind_;
    std::int64_t value_;
    UniqueFd file_;
};

/// One call, whose thread waits for an answer. Answers to a call that is over, because its thread
/// has been killed, do nothing.
class Notification {
  public:
    Notification(int listener, const seccomp_notif& call) : listener_(listener), call_(call) {}

    /// The calling thread as this process sees it; 0: not at all.
    [[nodiscard]] pid_t thread() const { return static_cast<pid_t>(call_.pid); }
    /// The kernel's number of this call: calls are numbered as they are made.
    [[nodiscard]] std::uint64_t id() const { return call_.id; }
    [[nodiscard]] int number() const { return call_.data.nr; }
    [[nodiscard]] std::uint64_t argument(int index) const { return call_.data.args[index]; }

    /// False: the thread has gone, and its number may be another's.
    [[nodiscard]] bool is_valid() const;
    void answer(Answer answer) const;
    /// Puts the file in place of the tool's descriptor `number`. False: it is as before.
    [[nodiscard]] bool replace(int number, const UniqueFd& file, bool close_on_exec) const;

  private:
    void send(std::int64_t value, int error, std::uint32_t flags) const;
    void give(UniqueFd file, bool close_on_exec) const;

    int listener_;
    seccomp_notif call_;
};

/// By what poll() has found at a listener: whether a call has come, and whether no task is under
/// the filter any more. POLLERR is neither: a signal has come while the kernel looked.
constexpr bool has_call(short found) {
    return (found & POLLIN) != 0;
}
constexpr bool has_ended(short found) {
    return (found & (POLLHUP | POLLNVAL)) != 0;
}

/// The next call; nothing where there is none any more.
std::optional<Notification> receive(const UniqueFd& listener);
/// As Answer::go_on(), for a call that another process may have read. Does nothing where none has.
void let_go_on(const UniqueFd& listener, std::uint64_t id);

}  // namespace djprobe::loader
