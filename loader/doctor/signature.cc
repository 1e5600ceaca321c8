// SPDX-License-Identifier: GPL-2.0
#include "doctor/signature.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace djprobe::loader::doctor {
namespace {

constexpr std::string_view kNote = "~Module signature appended~\n";
// struct module_signature: eight bytes that say the kind, and the length of the PKCS#7 message in
// front of it, the most significant byte first.
constexpr std::size_t kKindBytes = 8, kLengthBytes = 4;

std::string_view message(std::string_view module) {
    if (!is_signed(module)) return {};
    module.remove_suffix(kNote.size());
    if (module.size() < kKindBytes + kLengthBytes) return {};
    std::uint32_t length = 0;
    for (const char byte : module.substr(module.size() - kLengthBytes))
        length = length << 8 | static_cast<unsigned char>(byte);
    module.remove_suffix(kKindBytes + kLengthBytes);
    return module.substr(module.size() - std::min<std::size_t>(module.size(), length));
}

}  // namespace

bool is_signed(std::string_view module) {
    return module.ends_with(kNote);
}

std::string signer(std::string_view module) {
    // X.509's commonName, as DER has it; then a string's tag and its length, below 128.
    constexpr std::string_view kCommonName = "\x06\x03\x55\x04\x03";
    std::string_view name = message(module);
    const std::size_t at = name.find(kCommonName);
    if (at == name.npos || name.size() < at + kCommonName.size() + 2) return "";
    name.remove_prefix(at + kCommonName.size() + 1);
    return std::string(name.substr(1, static_cast<unsigned char>(name.front())));
}

std::optional<bool> knows_certificate(std::string_view keys, std::string_view name) {
    // "0bad1dea I------     1 perm 1f030000     0     0 asymmetri NAME: KEY-ID: X509.rsa bb419ea1
    // []"
    constexpr std::string_view kType = " asymmetri ";
    if (keys.find(kType) == keys.npos) return {};
    return keys.find(std::string(kType) + std::string(name) + ": ") != keys.npos;
}

}  // namespace djprobe::loader::doctor
