// SPDX-License-Identifier: GPL-2.0
// Who has signed a module, and whether the running kernel knows the key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace djprobe::loader::doctor {

/// Does scripts/sign-file's note stand at the end of the module?
bool is_signed(std::string_view module);

/// The common name of the certificate that signed it; "" where there is none.
std::string signer(std::string_view module);

/// Is a certificate of that name among /proc/keys? Nothing: it shows this process none.
std::optional<bool> knows_certificate(std::string_view keys, std::string_view name);

}  // namespace djprobe::loader::doctor
