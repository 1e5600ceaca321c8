// SPDX-License-Identifier: GPL-2.0
// The module's ioctl ABI as the tests use it: every answer is kept, also a refusal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "djprobe.h"

namespace djprobe::vm {

/// Owns a file descriptor; -1 is none.
class Fd {
  public:
    explicit Fd(int fd = -1) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept;
    ~Fd() { reset(); }

    int get() const { return fd_; }
    int release();
    void reset();
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_;
};

/// ioctl(2) as 0 or more, or a negative errno.
int call_ioctl(int fd, unsigned long command, const void* argument);

/// An attached probe; detached with its end.
class Probe {
  public:
    Probe() = default;
    explicit Probe(Fd fd) : fd_(std::move(fd)) {}

    int fd() const { return fd_.get(); }
    explicit operator bool() const { return static_cast<bool>(fd_); }
    /// Throws std::system_error where the module refuses.
    djprobe_query query(uint32_t index = 0) const;
    /// Until the optimizer has made up its mind; then as query().
    djprobe_query settle() const;
    uint64_t hits() const { return query().hits; }
    djprobe_total total() const;
    /// Negative errno with the request's answer, or 0.
    int enable(bool on, djprobe_enable* answer = nullptr) const;
    void detach() { fd_.reset(); }

  private:
    Fd fd_;
};

/// Where, by whom and how. `symbol` empty: `address`.
struct Request {
    std::string symbol;
    uint64_t offset = 0;
    uint64_t address = 0;
    uint64_t cookie = 0;
    int prog_fd = -1;
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    uint32_t flags = 0;  ///< enum djprobe_attach_flags
};

/// What DJPROBE_IOC_ATTACH answered.
struct Answer {
    int error = 0;  ///< negative errno, or 0
    djprobe_reason reason = DJPROBE_REASON_NONE;
    uint64_t detail[2] = {};
    uint64_t address = 0;
    Probe probe;  ///< none after an error
};

/// What DJPROBE_IOC_ATTACH_MANY answered.
struct ManyAnswer {
    int error = 0;  ///< negative errno, or 0
    djprobe_attach_many request = {};
    Probe probes;  ///< none after an error
};

/// What DJPROBE_IOC_EXPLAIN answered.
struct Explained {
    int error = 0;  ///< negative errno, or 0
    djprobe_explain answer = {};

    bool is_site() const { return !error && answer.verdict != DJPROBE_VERDICT_REFUSED; }
};

/// /dev/djprobe.
class Device {
  public:
    /// Throws std::system_error.
    Device();
    int fd() const { return fd_.get(); }
    /// Of the place and the flags that the request names.
    Explained explain(const Request& request) const;
    Answer attach(const Request& request) const;
    /// All or none; the sites hold what was written back.
    ManyAnswer attach_many(std::vector<djprobe_site>& sites, int prog_fd,
                           djprobe_mode mode = DJPROBE_MODE_AUTO, uint32_t flags = 0,
                           const std::vector<djprobe_action>& actions = {}, int times_fd = 0) const;
    /// Throws std::runtime_error, with the reason's name, where the module refuses.
    Probe must_attach(const Request& request) const;

  private:
    Fd fd_;
};

/// "branch-into-region (a branch lands ...)"; a number where there is no such reason.
std::string describe(djprobe_reason reason);

/// All that was skipped.
uint64_t missed(const djprobe_query& query);

}  // namespace djprobe::vm
