// SPDX-License-Identifier: GPL-2.0
// perf_event_open() of a kprobe, and the program that comes to it by PERF_EVENT_IOC_SET_BPF or by a
// link.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "run/takeover.h"

namespace djprobe::loader {
namespace {

// What the kernel reads of a name: more has no symbol.
constexpr std::size_t kNameRoom = 512;

std::optional<perf_event_attr> read_attr(const ToolTask& task, std::uint64_t address) {
    std::uint32_t size = 0;
    if (!task.read(address + offsetof(perf_event_attr, size), &size, sizeof size))
        return std::nullopt;
    if (size == 0) size = PERF_ATTR_SIZE_VER0;
    if (size < PERF_ATTR_SIZE_VER0 || size > kMostAttributes) return std::nullopt;
    std::vector<std::byte> bytes(size);
    if (!task.read(address, bytes.data(), size)) return std::nullopt;
    auto attr = parse_attr(bytes);
    if (attr) attr->size = std::min<std::uint32_t>(size, sizeof *attr);
    return attr;
}

// None: its name cannot be read.
std::optional<EventRequest> read_request(const ToolTask& task, const perf_event_attr& attr) {
    EventRequest request = {attr, {}, attr.config != 0};
    if (attr.config1) {
        auto name = task.read_string(attr.config1, kNameRoom);
        if (!name) return std::nullopt;
        request.site.symbol = std::move(*name);
    }
    (request.site.symbol.empty() ? request.site.address : request.site.offset) = attr.config2;
    return request;
}

// 0, or the errno of the kernel's refusal; 0 where there is no event.
int try_program(const UniqueFd& event, const UniqueFd& program, bool by_link) {
    if (!event) return 0;
    const bool fits = by_link ? static_cast<bool>(link_kernel_event(event, program, 0))
                              : set_kernel_program(event, program);
    return fits ? 0 : errno;
}

}  // namespace

std::vector<std::uint64_t> Takeover::probes_at(const SiteSpec& site) const {
    return ledger_.around(site, device_.judge(site, 0).address);
}

Room Takeover::room_at(const SiteSpec& site) {
    return Room(ledger_, probes_at(site));
}

bool Takeover::fill(Room& room, std::size_t named) {
    if (!room.fill()) return false;
    if (room.probes() > named) ledger_.count_kernel("beside-kprobe", room.probes() - named);
    return true;
}

KernelProbe Takeover::yield(std::uint64_t number) {
    const Placement* const placement = ledger_.find(number);
    Room room(ledger_, ledger_.around_placement(number));
    return placement && fill(room, placement->probes()) ? room.take(number) : KernelProbe();
}

UniqueFd Takeover::open_beside_ours(const EventRequest& request) {
    UniqueFd event = open_kernel_event(request);
    if (event || errno != EBUSY) return event;
    Room room = room_at(request.site);
    event = open_kernel_event(request);
    if (event && fill(room)) return event;
    const int error = errno;
    // It must be gone before djprobe's probes come back with the room's end.
    event = {};
    errno = error;
    return event;
}

UniqueFd Takeover::make_room(const EventRequest& request, const EventArguments& arguments,
                             const ToolTask& task) {
    Room room = room_at(request.site);
    if (room.empty()) {
        errno = EBUSY;
        return {};
    }
    UniqueFd event = open_as_asked(request, arguments, task);
    if (!event || fill(room)) return event;
    event = {};
    errno = EBUSY;
    return event;
}

// The leader of a group, and whose buffer an event shares, must be the kernel's.
void Takeover::hand_back(const Notification& call, const ToolTask& task, int fd) {
    Event* const known = find_event(task, fd);
    if (!known) return;
    const KernelProbe theirs = ledger_.find(known->placement)
                                   ? yield(known->placement)
                                   : KernelProbe{open_beside_ours(known->request), {}};
    const UniqueFd& kernels = theirs.event ? theirs.event : theirs.file;
    if (kernels && call.replace(fd, kernels, task.closes_on_exec(fd)))
        ledger_.count_kernel("event-group");
}

Answer Takeover::leave_unpermitted(const Notification& call, const ToolTask& task) {
    return task.is_refused_events() ? Answer::go_on() : leave(call, "no-permission");
}

// What the kernel refuses, it says itself; but where djprobe's bytes would be in its way again, it
// is told for the kernel. By the time the call has gone on, djprobe's jump may cover the place, and
// the kernel would say EBUSY: a probe of the kernel's keeps it away. The event must be the tool's
// own: the kernel looks at who opens it for its rights, the numbers in its samples, and its owner.
Answer Takeover::leave_event(const Notification& call, const ToolTask& task,
                             const EventRequest& request, const EventArguments& arguments,
                             const std::string& reason) {
    if (!task.may_open_events()) return leave_unpermitted(call, task);
    UniqueFd event = open_as_asked(request, arguments, task);
    const int error = event ? 0 : errno;
    if (error == EILSEQ) return Answer::fail(EILSEQ);
    if (error != 0 && error != EBUSY) return Answer::go_on();
    if (event && probes_at(request.site).empty()) return leave(call, reason);
    if (!call.is_valid()) return Answer::go_on();
    if (forbids(call, reason)) return Answer::fail(EACCES);
    if (!event) event = make_room(request, arguments, task);
    if (!event) return Answer::fail(errno);
    // A member would be read with its group.
    if (arguments.group >= 0) event = open_place_holder(request);
    held_.hold(call.thread(), std::move(event));
    ledger_.count_kernel(reason);
    return Answer::go_on();
}

// With --strict no event of the kernel's may have one of djprobe's for its leader. None: the leader
// is none of djprobe's, or what the kernel says of the event itself comes first.
std::optional<Answer> Takeover::forbid_member(const Notification& call, const ToolTask& task,
                                              const perf_event_attr& attr,
                                              const EventArguments& arguments) {
    Event* const leader = options_.strict ? find_event(task, arguments.group) : nullptr;
    if (!leader) return std::nullopt;
    const bool is_kprobe = pmu_ && attr.type == pmu_->type;
    auto request = is_kprobe ? read_request(task, attr) : EventRequest{attr, {}, false};
    if (!request) return Answer::go_on();
    // Of other kinds some have pointers into the tool's memory.
    if (task.may_open_events() && (is_kprobe || attr.type < PERF_TYPE_MAX))
        if (const int error = try_member(is_kprobe ? kprobe_attr_here(*request) : attr, arguments,
                                         task, open_stand_in(leader->request)))
            return Answer::fail(error);
    forbids(call, "event-group");
    return Answer::fail(EACCES);
}

Answer Takeover::open_event(const Notification& call, const ToolTask& task) {
    if (!options_.strict) hand_back(call, task, static_cast<int>(call.argument(3)));
    if (!task.lends_memory(call.argument(0))) return leave(call, "unreadable");
    const auto attr = read_attr(task, call.argument(0));
    if (!attr) return Answer::go_on();
    const EventArguments arguments = {
        static_cast<std::int32_t>(call.argument(1)), static_cast<std::int32_t>(call.argument(2)),
        static_cast<std::int32_t>(call.argument(3)), call.argument(4)};
    if (auto forbidden = forbid_member(call, task, *attr, arguments)) return std::move(*forbidden);
    const Decision decision = decide_event(*attr, arguments, pmu_);
    if (decision.side == Side::kOther) return Answer::go_on();
    auto request = read_request(task, *attr);
    if (!request) return Answer::go_on();
    const auto to_kernel = [&](std::string_view reason) {
        return leave_event(call, task, *request, arguments, std::string(reason));
    };
    if (decision.side == Side::kKernel) return to_kernel(decision.reason);
    if (!task.lends_descriptors()) return to_kernel("own-descriptors");
    // Without them the task's rights cannot be read either.
    if (!has_descriptors()) return leave(call, "no-descriptors");
    if (!task.may_open_events()) return leave_unpermitted(call, task);
    // The kernel takes a function's first byte only, djprobe also what stands for it.
    const bool inside = request->site.symbol.empty() && !names_.is_start(request->site.address);
    if (request->at_returns && inside) return to_kernel("return-at-offset");
    // What else is known of a place goes by its function, which is not the symbol there.
    if (request->site.is_counted_from_text()) return to_kernel("counted-from-text");
    SiteSpec place = names_.soon_by_address(request->site);
    Way way = placer_.choose(place, request->at_returns);
    if (!way.refused.empty()) return to_kernel(way.refused);
    UniqueFd event = device_.make_event(DJPROBE_EVENT_PERF);
    const auto number = event ? event_number(event) : std::nullopt;
    if (!number) return leave(call, "no-event-fd");
    events_.insert_or_assign(*number, Event{std::move(*request), std::move(place), std::move(way)});
    return Answer::give(std::move(event), (arguments.flags & PERF_FLAG_FD_CLOEXEC) != 0);
}

Takeover::Event* Takeover::find_event(const ToolTask& task, int fd) {
    if (!task.has_event(fd)) return nullptr;
    const auto number = event_number(task.copy_fd(fd));
    const auto known = number ? events_.find(*number) : events_.end();
    return known == events_.end() ? nullptr : &known->second;
}

std::string Takeover::place_event(const Event& event, const UniqueFd& program, std::uint64_t cookie,
                                  std::optional<Probe>& probe) const {
    if (!has_descriptors()) return "no-descriptors";
    Placed placed =
        placer_.place({{event.place, cookie}}, {event.way}, program, DJPROBE_ATTACH_AS_KPROBE);
    probe = std::move(placed.probe);
    return placed.refused;
}

bool Takeover::has_program(const Event& event) const {
    return ledger_.find(event.placement) || (event.pinned && link_lives(event.pinned));
}

// A program that is refused because of the first one must see no hits.
int Takeover::busy_error(const Event& event, const UniqueFd& program, bool by_link) {
    const int error = try_program(open_stand_in(event.request), program, by_link);
    return error ? error : EEXIST;
}

// The twin stands at the function's start, where the kernel's probe can stand beside djprobe's. A
// function that perf has no events in has none: there the event itself is what the kernel refuses.
Answer Takeover::forbid(const Notification& call, const Event& event, const UniqueFd& program,
                        const std::string& reason, bool by_link) {
    EventRequest request = event.request;
    request.site.offset = 0;
    if (request.site.symbol.empty()) request.site.address = names_.start_of(request.site.address);
    const UniqueFd twin = open_kernel_event(request);
    const int error = twin ? try_program(twin, program, by_link) : errno;
    if (error) return Answer::fail(error);
    forbids(call, reason);
    return Answer::fail(EACCES);
}

Answer Takeover::set_program(const Notification& call, const ToolTask& task) {
    const auto fd = static_cast<int>(call.argument(0));
    Event* const known = find_event(task, fd);
    if (!known) return Answer::go_on();
    UniqueFd program = task.copy_fd(static_cast<int>(call.argument(2)));
    if (!call.is_valid()) return Answer::go_on();
    if (!program) return Answer::fail(EBADF);
    if (has_program(*known)) return Answer::fail(busy_error(*known, program, false));
    std::optional<Probe> probe;
    std::string refused = place_event(*known, program, 0, probe);
    if (probe && hold(task.copy_fd(fd), *probe)) {
        Placement placement;
        placement.probe = std::move(*probe);
        placement.event = known->request;
        placement.program_id = program_id(program);
        placement.program = std::move(program);
        known->placement = ledger_.add(std::move(placement));
        return Answer::succeed(0);
    }
    // Another thread of the tool was faster with a program for it.
    if (probe) refused = "event-taken";
    probe.reset();
    // Too late to hand the event over: the kernel's comes in its place.
    if (options_.strict) return forbid(call, *known, program, refused, false);
    const UniqueFd kernels = open_beside_ours(known->request);
    if (!kernels || !set_kernel_program(kernels, program)) return Answer::fail(errno);
    if (!call.replace(fd, kernels, task.closes_on_exec(fd))) return Answer::fail(EMFILE);
    ledger_.count_kernel(refused);
    return Answer::succeed(0);
}

Answer Takeover::link_event(const Notification& call, const ToolTask& task,
                            const LinkAttributes& link, const std::vector<std::byte>& bytes) {
    const auto fd = static_cast<int>(link.target_fd);
    Event* const known = find_event(task, fd);
    UniqueFd program = task.copy_fd(static_cast<int>(link.prog_fd));
    if (!call.is_valid()) return Answer::go_on();
    // The kernel looks at the program before it looks at the event, and has an error for each.
    if (!known || !program) return Answer::go_on();
    // What one kernel does not look at is wrong to another one.
    if (is_odd_link(bytes))
        if (const int error = try_link(bytes, open_stand_in(known->request), program))
            return Answer::fail(error);
    if (has_program(*known)) return Answer::fail(busy_error(*known, program, true));
    std::optional<Probe> probe;
    const std::string refused = place_event(*known, program, link.cookie, probe);
    if (probe) {
        Placement placement;
        placement.probe = std::move(*probe);
        placement.event = known->request;
        placement.cookie = link.cookie;
        placement.program_id = program_id(program);
        placement.program = std::move(program);
        return give_link(std::move(placement), &known->placement);
    }
    if (options_.strict) return forbid(call, *known, program, refused, true);
    const UniqueFd kernels = open_beside_ours(known->request);
    if (!kernels) return Answer::fail(errno);
    UniqueFd kernels_link = link_kernel_event(kernels, program, link.cookie);
    if (!kernels_link) return Answer::fail(errno);
    if (!call.replace(fd, kernels, task.closes_on_exec(fd))) return Answer::fail(EMFILE);
    ledger_.count_kernel(refused);
    return Answer::give(std::move(kernels_link), true);
}

}  // namespace djprobe::loader
