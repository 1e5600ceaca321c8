// SPDX-License-Identifier: GPL-2.0
#include "metrics/trial_bind.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstdint>

#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

std::uint16_t port_of(const std::string& address) {
    std::uint16_t port = 0;
    std::from_chars(&address[address.rfind(':') + 1], address.data() + address.size(), port);
    return port;
}

int try_to_listen(int family, const sockaddr* address, socklen_t size) {
    const UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // As the library does: what is left of a server before is no hindrance.
    const int on = 1;
    if (!fd) return errno;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    return bind(fd.get(), address, size) == 0 && listen(fd.get(), 1) == 0 ? 0 : errno;
}

int why_not_v6(const std::string& ip, std::uint16_t port) {
    sockaddr_in6 address = {};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    inet_pton(AF_INET6, ip.c_str(), &address.sin6_addr);
    return try_to_listen(AF_INET6, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

int why_not_v4(const std::string& ip, std::uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
    return try_to_listen(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace

int why_not(const std::string& address) {
    const std::string ip = address.substr(0, address.rfind(':'));
    const std::uint16_t port = port_of(address);
    return ip.starts_with('[') ? why_not_v6(ip.substr(1, ip.size() - 2), port)
                               : why_not_v4(ip, port);
}

}  // namespace djprobe::loader
