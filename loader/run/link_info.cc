// SPDX-License-Identifier: GPL-2.0
#include "run/link_info.h"

#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

// The kernel looks at no more of what a task has for an answer.
constexpr std::uint32_t kMostAnswered = 4096;
// Members of bpf_link_info lie two structs deep.
constexpr int kDeepest = 8;

struct FreeBtf {
    void operator()(btf* types) const { btf__free(types); }
};

// struct bpf_link_info as of Linux 6.9, as far as it is about these links: the headers of a build
// may be older than the kernel. Only what the kernel has of it is filled.
struct Info {
    struct Multi {
        std::uint64_t addresses;  // asked for
        std::uint32_t count, flags;
        std::uint64_t missed;
        std::uint64_t cookies;  // asked for
    };
    struct Event {
        std::uint64_t function;  // asked for
        std::uint32_t function_room, offset;
        std::uint64_t address, missed, cookie;
    };

    std::uint32_t type, id, program_id, unused;
    union {
        Multi multi;
        struct {
            std::uint32_t kind, unused;
            Event kprobe;
        } event;
    };
};
constexpr std::uint32_t kKprobe = 3, kKretprobe = 4;  // enum bpf_perf_event_type

// The type of a member, also of one within a member without a name; 0: there is none.
std::uint32_t member_type(const btf& types, const btf_type& in, std::string_view name, int depth) {
    if (!btf_is_composite(&in) || depth > kDeepest) return 0;
    for (int i = 0; i < btf_vlen(&in); ++i) {
        const btf_member& member = btf_members(&in)[i];
        const std::uint32_t type = skip_modifiers(types, member.type);
        const std::string_view its = printable_name(types, member.name_off);
        if (its == name) return type;
        if (!its.empty()) continue;
        if (const auto found = member_type(types, type_at(types, type), name, depth + 1))
            return found;
    }
    return 0;
}

const btf_type& member(const btf& types, const btf_type& in, std::string_view name) {
    return type_at(types, member_type(types, in, name, 0));
}

// How many bytes of `as_of_today` a struct of the kernel has; void has none.
template <class AsOfToday>
std::size_t size_of(const btf_type& type) {
    return btf_is_struct(&type) ? std::min<std::size_t>(type.size, sizeof(AsOfToday)) : 0;
}

// Fills what the kernel has of it: 0, or its errno.
int fill(const ToolTask& task, std::size_t known, const MultiFacts& facts, Info& info) {
    if (known == 0) return 0;
    Info::Multi asked = {};
    std::memcpy(&asked, &info.multi, known);
    const std::size_t room = asked.count, all = facts.addresses.size();
    if (!asked.addresses != !room || (asked.cookies && !room)) return EINVAL;
    Info::Multi told = asked;
    told.count = static_cast<std::uint32_t>(all);
    told.flags = facts.flags;
    told.missed = facts.missed;
    std::memcpy(&info.multi, &told, known);
    const std::size_t bytes = std::min(room, all) * sizeof(std::uint64_t);
    if (asked.cookies && !task.write(asked.cookies, facts.cookies.data(), bytes)) return EFAULT;
    if (asked.addresses && !task.write(asked.addresses, facts.addresses.data(), bytes))
        return EFAULT;
    return asked.addresses && room < all ? ENOSPC : 0;
}

// As much of the name as there is room for, with its NUL: 0, or the kernel's errno.
int write_name(const ToolTask& task, std::uint64_t to, std::size_t room, std::string name) {
    const bool fits = name.size() < room;
    if (!fits) name.resize(room - 1);
    if (!task.write(to, name.c_str(), name.size() + 1)) return EFAULT;
    return fits ? 0 : ENOSPC;
}

int fill(const ToolTask& task, std::size_t known, const EventFacts& facts, Info& info) {
    if (known == 0) return 0;
    Info::Event told = {};
    std::memcpy(&told, &info.event.kprobe, known);
    const std::uint32_t room =
        std::exchange(told.function_room, static_cast<std::uint32_t>(facts.function.size() + 1));
    if (!told.function != !room) return EINVAL;
    if (const int error = room ? write_name(task, told.function, room, facts.function) : 0)
        return error;
    info.event.kind = facts.at_returns ? kKretprobe : kKprobe;
    told.offset = facts.offset;
    told.address = facts.address;
    told.missed = facts.missed;
    told.cookie = facts.cookie;
    std::memcpy(&info.event.kprobe, &told, known);
    return 0;
}

int fill(const ToolTask& task, const LinkInfoSizes& sizes, const LinkFacts& facts, Info& info) {
    info.id = facts.id;
    info.program_id = facts.program_id;
    if (const auto* const multi = std::get_if<MultiFacts>(&facts.of_kind)) {
        info.type = BPF_LINK_TYPE_KPROBE_MULTI;
        return fill(task, sizes.multi, *multi, info);
    }
    info.type = BPF_LINK_TYPE_PERF_EVENT;
    return fill(task, sizes.event, std::get<EventFacts>(facts.of_kind), info);
}

// What a task has behind what the kernel knows must be 0: 0, or the errno of the first word that is
// not, or is not there.
int check_rest(const ToolTask& task, std::uint64_t address, std::size_t known, std::size_t size) {
    if (size > kMostAnswered) return E2BIG;
    for (std::size_t at = known; at < size; at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        if (!task.read(address + at, &word, std::min(sizeof word, size - at))) return EFAULT;
        if (word != 0) return E2BIG;
    }
    return 0;
}

}  // namespace

LinkInfoSizes link_info_sizes(const btf& kernel) {
    const std::int32_t id = btf__find_by_name_kind(&kernel, "bpf_link_info", BTF_KIND_STRUCT);
    if (id < 0) return {};
    const btf_type& all = type_at(kernel, static_cast<std::uint32_t>(id));
    const btf_type& event = member(kernel, all, "perf_event");
    return {all.size, size_of<Info::Multi>(member(kernel, all, "kprobe_multi")),
            size_of<Info::Event>(member(kernel, event, "kprobe"))};
}

LinkInfoSizes running_link_info_sizes() {
    const std::unique_ptr<btf, FreeBtf> kernel(btf__load_vmlinux_btf());
    return kernel ? link_info_sizes(*kernel) : LinkInfoSizes{};
}

int tell_link_info(const ToolTask& task, const LinkInfoSizes& sizes, std::uint64_t address,
                   std::uint32_t& size, const LinkFacts& facts) {
    const std::size_t known = sizes.all ? sizes.all : sizeof(Info);
    if (const int error = check_rest(task, address, known, size)) return error;
    size = static_cast<std::uint32_t>(std::min<std::size_t>(size, known));
    std::vector<std::byte> bytes(std::max(known, sizeof(Info)));
    if (!task.read(address, bytes.data(), size)) return EFAULT;
    Info info = {};
    std::memcpy(&info, bytes.data(), sizeof info);
    if (const int error = fill(task, sizes, facts, info)) return error;
    std::memcpy(bytes.data(), &info, sizeof info);
    return task.write(address, bytes.data(), size) ? 0 : EFAULT;
}

}  // namespace djprobe::loader
