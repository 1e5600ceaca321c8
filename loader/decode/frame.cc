// SPDX-License-Identifier: GPL-2.0
#include "decode/frame.h"

#include <linux/bpf.h>

#include <cstring>
#include <iterator>

namespace djprobe::loader {
namespace {

Frame frame_of(const bpf_stack_build_id& one) {
    if (one.status == BPF_STACK_BUILD_ID_IP) return {.address = one.ip};
    return {.build_id = {std::begin(one.build_id), std::end(one.build_id)}, .offset = one.offset};
}

}  // namespace

std::size_t frame_size(StackKind kind) {
    return kind == StackKind::kBuildIds ? sizeof(bpf_stack_build_id) : sizeof(std::uint64_t);
}

std::vector<Frame> frames_in(StackKind kind, std::span<const std::byte> bytes) {
    std::vector<Frame> frames;
    const std::size_t size = frame_size(kind);
    for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
        if (kind == StackKind::kBuildIds) {
            bpf_stack_build_id one = {};
            std::memcpy(&one, &bytes[at], sizeof one);
            if (one.status == BPF_STACK_BUILD_ID_EMPTY) break;
            frames.push_back(frame_of(one));
        } else {
            std::uint64_t address = 0;
            std::memcpy(&address, &bytes[at], sizeof address);
            if (address == 0) break;
            frames.push_back({.address = address});
        }
    }
    return frames;
}

}  // namespace djprobe::loader
