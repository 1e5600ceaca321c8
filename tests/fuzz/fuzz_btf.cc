// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any bytes as BTF's types, among strings that mean something here. Each type is either
// refused with one line or decodes any record: within its bytes, and in JSON as JSON.
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/btf.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "decode/formatter.h"
#include "decode/record_type.h"
#include "require.h"

namespace {

using namespace djprobe::loader;
using djprobe::test::require;

constexpr char kStrings[] = "\0event\0char\0int\0a\0b\0events_t\0bad\"name";
// Anything larger is no different, but slower.
constexpr std::uint32_t kLargestRecord = 4096;

std::vector<std::uint8_t> as_btf(const std::uint8_t* types, std::size_t size) {
    btf_header header = {};
    header.magic = BTF_MAGIC;
    header.version = BTF_VERSION;
    header.hdr_len = sizeof header;
    header.type_len = static_cast<std::uint32_t>(size);
    header.str_off = header.type_len;
    header.str_len = sizeof kStrings;
    std::vector<std::uint8_t> all(sizeof header + size + sizeof kStrings);
    std::memcpy(all.data(), &header, sizeof header);
    std::memcpy(all.data() + sizeof header, types, size);
    std::memcpy(all.data() + sizeof header + size, kStrings, sizeof kStrings);
    return all;
}

template <typename Function>
void refused_in_a_line(const Function& function) {
    try {
        function();
    } catch (const Error& error) {
        require(error.code() == ExitCode::kBadFile, "a bad file");
        require(!std::strchr(error.what(), '\n'), "one line");
    }
}

void decode(const btf& types, std::uint32_t type_id, Format format) {
    DecodePlan plan = DecodePlan::compile(types, type_id, format);
    if (plan.size() > kLargestRecord) return;
    // Exactly as large as the plan wants it: the sanitizer sees each byte read behind it.
    std::vector<std::byte> record(plan.size() + (plan.is_flexible() ? 7 : 0));
    for (std::size_t i = 0; i < record.size(); ++i)
        record[i] = static_cast<std::byte>(i * 37 + type_id);
    record.shrink_to_fit();
    Formatter formatter(std::move(plan));
    Buffer out;
    formatter.append(out, record);
    if (format == Format::kJson)
        require(nlohmann::json::accept(out.begin(), out.end()), "JSON is JSON");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<std::uint8_t> bytes = as_btf(data, size / 4 * 4);
    const std::unique_ptr<btf, decltype(&btf__free)> types(
        btf__new(bytes.data(), static_cast<std::uint32_t>(bytes.size())), btf__free);
    if (!types) return 0;
    btf__set_pointer_size(types.get(), 8);
    refused_in_a_line([&] { find_record_type(types.get(), "events", true); });
    for (std::uint32_t id = 1; id < btf__type_cnt(types.get()); ++id) {
        refused_in_a_line([&] { decode(*types, id, Format::kText); });
        refused_in_a_line([&] { decode(*types, id, Format::kJson); });
    }
    return 0;
}
