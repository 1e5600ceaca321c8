// SPDX-License-Identifier: GPL-2.0
#include "metrics/trial_bind.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "base/unique_fd.h"

namespace djprobe::loader {
namespace {

int try_to_listen(const addrinfo& address) {
    const UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return errno;
    // As the library does: what is left of a server before is no hindrance.
    const int on = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.ai_family == AF_INET6)
        setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    const bool listens =
        bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 && listen(fd.get(), 1) == 0;
    return listens ? 0 : errno;
}

// "[::1]" stands for ::1.
std::string without_brackets(const std::string& ip) {
    return ip.starts_with('[') ? ip.substr(1, ip.size() - 2) : ip;
}

}  // namespace

int why_not(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    addrinfo hints = {}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(without_brackets(address.substr(0, colon)).c_str(),
                    address.substr(colon + 1).c_str(), &hints, &found) != 0)
        return EINVAL;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
    return try_to_listen(*found);
}

}  // namespace djprobe::loader
