// SPDX-License-Identifier: GPL-2.0
#include "metrics/metrics_option.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>

#include "base/error.h"

namespace djprobe::loader {
namespace {

bool is_port(std::string_view text) {
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, port);
    return error == std::errc() && rest == end && port != 0;
}

bool is_address(const std::string& text) {
    in6_addr address;
    if (text.starts_with('[') && text.ends_with(']'))
        return inet_pton(AF_INET6, text.substr(1, text.size() - 2).c_str(), &address) == 1;
    return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

}  // namespace

std::string parse_metrics_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    const bool alone = colon == std::string_view::npos;
    const std::string address(alone ? "127.0.0.1" : text.substr(0, colon));
    const std::string_view port = alone ? text : text.substr(colon + 1);
    if (!is_port(port)) fail(ExitCode::kUsage, "--metrics: '{}' is no port from 1 to 65535", port);
    if (!is_address(address))
        fail(ExitCode::kUsage, "--metrics: '{}' is no IP address: give 127.0.0.1:{} or 0.0.0.0:{}",
             address, port, port);
    return address + ":" + std::string(port);
}

}  // namespace djprobe::loader
