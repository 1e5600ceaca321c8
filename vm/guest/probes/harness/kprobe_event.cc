// SPDX-License-Identifier: GPL-2.0
#include "kprobe_event.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "load.h"
#include "probe.h"

namespace djprobe::vm {
namespace {

const std::string kTracing = "/sys/kernel/tracing/";
const std::string kEvents = kTracing + "kprobe_events";
const std::string kGroup = "djtest";

int write_to(const std::string& path, const std::string& text) {
    const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return errno;
    return write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

std::set<uint64_t> kprobes_that_are(const char* mark) {
    std::set<uint64_t> addresses;
    std::ifstream list("/sys/kernel/debug/kprobes/list");
    for (std::string line; std::getline(list, line);)
        if (line.find(mark) != std::string::npos) addresses.insert(std::stoull(line, nullptr, 16));
    return addresses;
}

}  // namespace

KprobeEvent::KprobeEvent(KprobeEvent&& other) noexcept
    : name_(std::move(other.name_)),
      addresses_(std::exchange(other.addresses_, {})),
      enabled_(other.enabled_) {}

KprobeEvent::~KprobeEvent() {
    if (addresses_.empty()) return;
    if (enabled_) enable(false);
    if (const int error = write_to(kEvents, "-:" + kGroup + "/" + name_)) {
        std::fprintf(stderr, "kprobe event %s stays: %s\n", name_.c_str(), std::strerror(error));
        std::abort();
    }
}

int KprobeEvent::add(uint64_t address) {
    // tracefs takes all that have bare addresses for the same. The kernel finds early symbols fast.
    static const uint64_t origin = address_of("_stext");
    char line[128];
    std::snprintf(line, sizeof line, "p:%s/%s _stext+%lu", kGroup.c_str(), name_.c_str(),
                  address - origin);
    const int error = write_to(kEvents, line);
    if (!error) addresses_.push_back(address);
    return error;
}

int KprobeEvent::enable(bool on) {
    if (addresses_.empty()) return 0;
    const int error =
        write_to(kTracing + "events/" + kGroup + "/" + name_ + "/enable", on ? "1" : "0");
    if (!error) enabled_ = on;
    return error;
}

KprobeEvent::Counts KprobeEvent::counts() const {
    Counts counts;
    std::ifstream profile(kTracing + "kprobe_profile");
    for (std::string line; std::getline(profile, line);) {
        std::istringstream words(line);
        std::string name;
        uint64_t hits = 0, missed = 0;
        if (!(words >> name >> hits >> missed) || name != name_) continue;
        counts.hits += hits;
        counts.missed += missed;
    }
    return counts;
}

void KprobeEvent::remove_all() {
    write_to(kTracing + "events/" + kGroup + "/enable", "0");
    const Fd file(open(kEvents.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
}

std::set<uint64_t> optimized_kprobes() {
    return kprobes_that_are("[OPTIMIZED]");
}

std::set<uint64_t> kprobes_on_calls() {
    return kprobes_that_are("[FTRACE]");
}

}  // namespace djprobe::vm
