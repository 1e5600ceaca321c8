// SPDX-License-Identifier: GPL-2.0
#include "info.h"

#include <linux/bpf.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../probes/harness/load.h"
#include "asks.h"

namespace djprobe::vm {
namespace {

constexpr size_t kPage = 4096;
// In 64-bit words: type and id; the program; then what is asked of a link of each kind.
constexpr size_t kAddresses = 2, kCount = 3, kCookies = 5;
constexpr size_t kName = 3, kNameRoom = 4;
constexpr uint32_t kKnown = 128;  ///< more than any kernel's struct bpf_link_info

// Memory up to a page that is not there, for all that a question points to: at the same place each
// time, since answers hold what was asked.
class Memory {
  public:
    Memory()
        : page_(static_cast<char*>(mmap(reinterpret_cast<void*>(uint64_t{1} << 40), 2 * kPage,
                                        PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0))) {
        munmap(page_ + kPage, kPage);
    }
    ~Memory() { munmap(page_, kPage); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // The last `size` bytes of it.
    char* last(size_t size) const {
        std::memset(page_, 0x5a, kPage);
        return page_ + kPage - size;
    }

  private:
    char* page_;
};

using Words = std::array<uint64_t, 512>;

struct Asked {
    uint32_t size = kKnown;
    Words info{};
    unsigned attributes = sizeof(bpf_attr);
    uint32_t behind = 0;  ///< what stands behind the attributes of this command
};

// Up to what is the same until the end.
void print(const std::string& what, const void* bytes, size_t size) {
    const auto* const all = static_cast<const unsigned char*>(bytes);
    while (size > 1 && all[size - 1] == all[size - 2])
        --size;
    std::printf("%s:", what.c_str());
    for (size_t i = 0; i < size; ++i)
        std::printf(" %02x", all[i]);
    std::printf("\n");
}

// Numbers of links and programs differ each time.
void hide_numbers(Words& info) {
    info[0] = (info[0] & 0xffffffff) | (info[0] >> 32 ? uint64_t{1} << 32 : 0);
    if (info[1] & 0xffffffff) info[1] |= 0xffffffff;
}

void ask(const std::string& what, const Fd& link, Asked asked) {
    bpf_attr attr = {};
    attr.info.bpf_fd = static_cast<uint32_t>(link.get());
    attr.info.info_len = asked.size;
    attr.info.info = reinterpret_cast<uintptr_t>(asked.info.data());
    std::memcpy(reinterpret_cast<char*>(&attr) + sizeof attr.info, &asked.behind,
                sizeof asked.behind);
    say(what, -bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr, asked.attributes));
    hide_numbers(asked.info);
    print("size " + std::to_string(attr.info.info_len), asked.info.data(), kKnown);
}

// Structs that are shorter or longer than the kernel's, with and without something behind it.
void sizes(const Fd& link) {
    for (uint32_t size = 0; size <= kKnown; size += 4)
        ask("of " + std::to_string(size), link, {size, {}});
    for (const uint32_t size : {4096u, 4097u, 0xffffffffu})
        ask("of " + std::to_string(size), link, {size, {}});
    for (const size_t word : {size_t{4}, size_t{9}, size_t{11}, size_t{15}}) {
        Asked asked;
        asked.info[word] = 1;
        ask("with word " + std::to_string(word), link, asked);
    }
    ask("with attributes behind", link, {kKnown, {}, sizeof(bpf_attr), 1});
    ask("with few attributes", link, {kKnown, {}, 8});
    const Memory memory;
    bpf_attr attr = {};
    attr.info.bpf_fd = static_cast<uint32_t>(link.get());
    attr.info.info_len = kKnown;
    attr.info.info = reinterpret_cast<uintptr_t>(memory.last(64));
    say("beyond memory", -bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr));
    attr.info.info = 8;
    say("nowhere", -bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr));
}

void detach(const Fd& link) {
    bpf_attr attr = {};
    attr.link_detach.link_fd = static_cast<uint32_t>(link.get());
    say("detach", -bpf_call(BPF_LINK_DETACH, &attr, sizeof attr));
    reinterpret_cast<uint32_t*>(&attr)[1] = 1;
    say("detach with more", -bpf_call(BPF_LINK_DETACH, &attr, sizeof attr));
}

void names(const Fd& link) {
    const Memory memory;
    for (const uint32_t room : {0, 1, 2, 5, 17, 18, 19, 64}) {
        Asked asked;
        char* const to = memory.last(64);
        asked.info[kName] = room ? reinterpret_cast<uintptr_t>(to) : 0;
        asked.info[kNameRoom] = room;
        ask("name in " + std::to_string(room), link, asked);
        print("name", to, 64);
        // Where the struct ends before it, nothing is asked.
        asked.size = 32;
        ask("short, name in " + std::to_string(room), link, asked);
    }
    Asked asked;
    asked.info[kName] = reinterpret_cast<uintptr_t>(memory.last(4));
    ask("a name without room", link, asked);
    asked.info[kNameRoom] = 64;
    ask("a name beyond memory", link, asked);
    asked.info[kName] = 0;
    ask("room without a name", link, asked);
}

void lists(const Fd& link) {
    const Memory memory;
    for (const bool cookies : {false, true}) {
        for (const uint32_t room : {0, 1, 2, 3, 8}) {
            Asked asked;
            char* const to = memory.last(128);
            if (room) asked.info[kAddresses] = reinterpret_cast<uintptr_t>(to);
            if (cookies) asked.info[kCookies] = reinterpret_cast<uintptr_t>(to + 64);
            asked.info[kCount] = room;
            const std::string what = std::to_string(room) + (cookies ? " with cookies" : "");
            ask("list of " + what, link, asked);
            print("list", to, 128);
        }
    }
    Asked asked;
    asked.info[kCount] = 3;
    ask("a count without a list", link, asked);
    asked.info[kAddresses] = reinterpret_cast<uintptr_t>(memory.last(8));
    ask("a list beyond memory", link, asked);
    asked.info[kAddresses] = reinterpret_cast<uintptr_t>(memory.last(64));
    asked.info[kCookies] = reinterpret_cast<uintptr_t>(memory.last(8));
    ask("cookies beyond memory", link, asked);
}

void event_infos(const std::string& what, const EventAsk& ask_for, int program, uint64_t cookie) {
    const Fd link = link_event(open_event(ask_for), program, cookie);
    say(what, link ? 0 : errno);
    sizes(link);
    names(link);
    detach(link);
}

void multi_infos(const std::string& what, const Fd& link) {
    say(what, link ? 0 : errno);
    if (!link) return;
    sizes(link);
    lists(link);
    detach(link);
}

}  // namespace

void infos(const Seen& plain, const Seen& multi) {
    const int program = plain.program("observe");
    event_infos("kprobe", {kGetpgid, 0, false}, program, 7);
    event_infos("kretprobe", {kGetpgid, 0, true}, program, 0);
    event_infos("kprobe by address", {nullptr, address_of(kGetpgid), false}, program, 8);
    event_infos("kretprobe by address", {nullptr, address_of(kGetpgid), true}, program, 8);
    for (const uint64_t offset : {9, 10, 12, 14})
        if (open_event({kGetpgid, offset, false}))
            event_infos("kprobe inside", {kGetpgid, offset, false}, program, 9);
    // Neither by name nor by address.
    const std::vector<const char*> functions = {"vfs_write", kGetpgid, "__x64_sys_getsid"};
    std::vector<uint64_t> places;
    places.reserve(functions.size());
    for (const char* const function : functions)
        places.push_back(address_of(function));
    const int both = multi.program("observe_multi");
    for (const bool at_return : {false, true}) {
        multi_infos("multi", link_multi(functions, both, at_return));
        multi_infos("multi with cookies", link_multi(functions, both, at_return, {30, 10, 20}));
        multi_infos("multi by address", link_multi_at(places, both, at_return));
        multi_infos("multi by address with cookies",
                    link_multi_at(places, both, at_return, {30, 10, 20}));
    }
}

}  // namespace djprobe::vm
