// SPDX-License-Identifier: GPL-2.0
#include "run/signal_watch.h"

#include <signals.skel.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "kernel/own_number.h"
#include "object/libbpf_log.h"

namespace djprobe::loader {
namespace {

// Who sends to a group sends to one process after the other.
constexpr std::chrono::milliseconds kTogether{20};

// The clock of bpf_ktime_get_ns().
std::chrono::nanoseconds now() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

// The program may be writing it.
signal_sent read(const volatile signal_sent& sent) {
    return {sent.time, sent.sender};
}

bool are_of_one(const signal_sent& one, const signal_sent& other) {
    const auto apart = one.time > other.time ? one.time - other.time : other.time - one.time;
    return one.sender == other.sender && std::chrono::nanoseconds(apart) <= kTogether;
}

}  // namespace

void SignalWatch::Close::operator()(signals* object) const {
    signals__destroy(object);
}

SignalWatch::SignalWatch() {
    const auto own = own_number();
    if (!own) return;
    const LibbpfLog quiet(false);
    std::unique_ptr<signals, Close> object(signals__open());
    if (!object) return;
    object->rodata->own = static_cast<std::uint32_t>(*own);
    if (signals__load(object.get()) != 0 || signals__attach(object.get()) != 0) return;
    object_ = std::move(object);
    // The keeper would keep the maps.
    madvise(object_->bss, sizeof *object_->bss, MADV_DONTFORK);
    madvise(object_->rodata, sizeof *object_->rodata, MADV_DONTFORK);
}

void SignalWatch::follow(pid_t tool) {
    if (object_) object_->bss->tool = static_cast<std::uint32_t>(tool);
}

bool SignalWatch::reached_tool(int number) const {
    if (!object_ || number <= 0 || number >= SIGNALS_NUMBERS) return false;
    const signal_sent ours = read(object_->bss->to_own[number]);
    // Sent before there was a program.
    if (ours.time == 0) return false;
    const volatile signal_sent& theirs = object_->bss->to_tool[number];
    while (!are_of_one(ours, read(theirs))) {
        if (now() > std::chrono::nanoseconds(ours.time) + kTogether) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace djprobe::loader
