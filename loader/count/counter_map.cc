// SPDX-License-Identifier: GPL-2.0
#include "count/counter_map.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/plural.h"
#include "kernel/device.h"
#include "kernel/rights.h"
#include "object/libbpf_log.h"

namespace djprobe::loader {
namespace {

struct FreeTypes {
    void operator()(btf* types) const { btf__free(types); }
};
using Types = std::unique_ptr<btf, FreeTypes>;

struct MapTypes {
    Types types;
    int key, value;
};

// __u32 key; __u64 value[counters].
MapTypes describe(std::size_t counters) {
    MapTypes map{Types(btf__new_empty()), 0, 0};
    if (!map.types) fail(ExitCode::kFailure, "BTF: {}", std::strerror(errno));
    map.key = btf__add_int(map.types.get(), "__u32", sizeof(std::uint32_t), 0);
    const int counter = btf__add_int(map.types.get(), "__u64", sizeof(std::uint64_t), 0);
    map.value =
        btf__add_array(map.types.get(), map.key, counter, static_cast<std::uint32_t>(counters));
    return map;
}

[[noreturn]] void refused(const char* what, std::size_t counters) {
    const int error = errno;
    if (error == EPERM)
        fail(ExitCode::kNoPermission, "a map for counters: not permitted: {}",
             why_denied(kToProbe));
    fail(ExitCode::kFailure, "{} for {}: {}", what, plural(counters, "counter"),
         std::strerror(error));
}

}  // namespace

UniqueFd make_counter_map(std::size_t counters) {
    const LibbpfLog quiet(false);
    const std::size_t in_value = std::clamp<std::size_t>(counters, 1, kCountersPerValue);
    const std::size_t values = (std::max<std::size_t>(counters, 1) - 1) / kCountersPerValue + 1;
    const MapTypes map = describe(in_value);
    if (btf__load_into_kernel(map.types.get()) != 0) refused("the types of a map", counters);
    LIBBPF_OPTS(bpf_map_create_opts, options);
    options.btf_fd = static_cast<std::uint32_t>(btf__fd(map.types.get()));
    options.btf_key_type_id = static_cast<std::uint32_t>(map.key);
    options.btf_value_type_id = static_cast<std::uint32_t>(map.value);
    UniqueFd fd(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "djprobe_count", sizeof(std::uint32_t),
                               static_cast<std::uint32_t>(in_value * sizeof(std::uint64_t)),
                               static_cast<std::uint32_t>(values), &options));
    if (!fd) refused("a map", counters);
    return fd;
}

}  // namespace djprobe::loader
