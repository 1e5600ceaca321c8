// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "../probes/harness/probe.h"
#include "storm.h"

namespace djprobe::vm {

const Wind* find_wind(std::string_view name) {
    for (const std::span<const Wind> winds : {text_winds(), machine_winds(), bpf_winds()})
        for (const Wind& wind : winds)
            if (wind.name == name) return &wind;
    return nullptr;
}

void must(bool done, const char* what) {
    if (!done) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

bool write_file(const std::string& path, const std::string& text) {
    const bool clear = text.empty();
    const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC | (clear ? O_TRUNC : 0)));
    return file && (clear || write(file.get(), text.data(), text.size()) ==
                                 static_cast<ssize_t>(text.size()));
}

}  // namespace djprobe::vm
