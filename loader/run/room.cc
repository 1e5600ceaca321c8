// SPDX-License-Identifier: GPL-2.0
#include "run/room.h"

#include <sys/ioctl.h>

#include <cerrno>
#include <utility>

namespace djprobe::loader {
namespace {

/// No file: with errno.
KernelProbe place_by_kernel(const Placement& placement) {
    if (!placement.multi.targets.empty())
        return {link_kernel_multi(placement.multi, placement.program), {}};
    UniqueFd event = open_kernel_event(placement.event);
    if (!event) return {};
    if (placement.is_link) {
        UniqueFd link = link_kernel_event(event, placement.program, placement.cookie);
        return {std::move(link), std::move(event)};
    }
    if (!set_kernel_program(event, placement.program)) return {};
    return {std::move(event), {}};
}

// Where one cannot come back, or the tool has closed its event, none is in the text.
void enable(const Probe& probe) {
    djprobe_enable request = {};
    request.size = sizeof request;
    request.enable = 1;
    ioctl(probe.fd(), DJPROBE_IOC_ENABLE, &request);
}

}  // namespace

Room::Room(Ledger& ledger, std::vector<std::uint64_t> numbers)
    : ledger_(ledger), numbers_(std::move(numbers)) {
    for (const std::uint64_t number : numbers_) {
        const Placement* const placement = ledger_.find(number);
        if (placement && !placement->by_kernel && placement->probe.disable())
            out_.push_back(number);
    }
}

Room::~Room() {
    const int error = errno;
    for (const std::uint64_t number : out_)
        if (const Placement* const placement = ledger_.find(number)) enable(placement->probe);
    errno = error;
}

std::size_t Room::probes() const {
    std::size_t sum = 0;
    for (const std::uint64_t number : numbers_)
        if (const Placement* const placement = ledger_.find(number)) sum += placement->probes();
    return sum;
}

bool Room::place_all() {
    for (const std::uint64_t number : numbers_) {
        const Placement* const placement = ledger_.find(number);
        KernelProbe theirs = placement ? place_by_kernel(*placement) : KernelProbe();
        if (!theirs.file) return false;
        theirs_.insert_or_assign(number, std::move(theirs));
    }
    return true;
}

bool Room::fill() {
    if (!place_all()) {
        const int error = errno;
        theirs_.clear();
        errno = error;
        return false;
    }
    out_.clear();
    for (auto& [number, theirs] : theirs_) {
        Placement* const placement = ledger_.find(number);
        // One that the tool has closed meanwhile keeps nothing: its file goes with this room.
        const bool kept = keep(placement->probe, theirs.file) || errno == ENXIO;
        if (!kept) theirs = {};
        // The kernel still has one that was the kernel's before.
        if (!kept && !placement->by_kernel) out_.push_back(number);
        placement->by_kernel |= kept;
    }
    return true;
}

KernelProbe Room::take(std::uint64_t number) {
    const auto theirs = theirs_.find(number);
    return theirs == theirs_.end() ? KernelProbe() : std::move(theirs->second);
}

}  // namespace djprobe::loader
