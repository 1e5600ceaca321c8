// SPDX-License-Identifier: GPL-2.0
#include "base/manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

// A command of ours inherits the environment, but is not whom systemd watches.
bool is_for_us(const char* pid) {
    return !pid || std::strtol(pid, nullptr, 10) == getpid();
}

}  // namespace

void tell_manager(std::string_view message) noexcept {
    const char* const path = std::getenv("NOTIFY_SOCKET");
    if (!path) return;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::size_t length = std::strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) return;
    std::memcpy(address.sun_path, path, length);
    // An abstract name begins with a zero byte.
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
    const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket) return;
    // Who does not listen misses it: that is no error of ours.
    (void)sendto(socket.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}

void tell_manager_why(std::string_view reason) noexcept {
    constexpr std::size_t kLongest = 1024;
    char text[kLongest + sizeof "STATUS="];
    const std::string_view line = reason.substr(0, reason.find('\n'));
    const int length =
        std::snprintf(text, sizeof text, "STATUS=%.*s",
                      static_cast<int>(std::min(line.size(), kLongest)), line.data());
    if (length > 0) tell_manager({text, static_cast<std::size_t>(length)});
}

std::optional<double> watchdog_interval() {
    const char* const microseconds = std::getenv("WATCHDOG_USEC");
    if (!microseconds || !is_for_us(std::getenv("WATCHDOG_PID"))) return std::nullopt;
    const double seconds = std::strtod(microseconds, nullptr) / 1e6;
    if (seconds <= 0) return std::nullopt;
    return seconds / 2;
}

Life::Life() {
    if (const auto seconds = watchdog_interval()) ticker_ = Ticker(*seconds);
    tell_manager("READY=1\nSTATUS=attached");
}

void Life::show() noexcept {
    if (ticker_.take()) tell_manager("WATCHDOG=1");
}

}  // namespace djprobe::loader
