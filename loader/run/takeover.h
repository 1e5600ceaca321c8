// SPDX-License-Identifier: GPL-2.0
// What probeload does about each call of the tool that the filter hands over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "run/function_names.h"
#include "run/head_start.h"
#include "run/held_places.h"
#include "run/kernel_probe.h"
#include "run/ledger.h"
#include "run/link_info.h"
#include "run/notifications.h"
#include "run/options.h"
#include "run/placement.h"
#include "run/placer.h"
#include "run/room.h"
#include "run/tool_task.h"
#include "run/trial.h"

namespace djprobe::loader {

class Takeover {
  public:
    Takeover(const Device& device, const RunOptions& options, Ledger& ledger)
        : device_(device),
          options_(options),
          ledger_(ledger),
          head_start_(device),
          placer_(device, options, head_start_),
          pmu_(find_kprobe_pmu()),
          names_(head_start_) {}

    /// Begins with what takes long, once the tool has begun.
    void start_ahead();

    /// Answers the call, once no copy of the tool's descriptors is open here any more: one that the
    /// tool closes then is closed for good.
    void handle(const Notification& call);
    /// Ends what was kept for calls that are over. Whether to look again.
    bool look() { return held_.look(); }

  private:
    /// A perf event of the tool's that djprobe has taken.
    struct Event {
        EventRequest request;
        SiteSpec place;  ///< of the request, by address where that saves time
        Way way;
        std::uint64_t placement = 0;  ///< of the ledger's; 0: none yet
        std::uint32_t pinned = 0;     ///< the kernel's link that was its placement; 0: none
    };
    /// The functions of a link that djprobe takes, and the others.
    struct Shares {
        MultiRequest ours, rest;
        std::vector<MultiTarget> resolved;  ///< ours, by address
        std::vector<Way> ways;              ///< of ours
        std::map<std::string, std::size_t> reasons;

        void move_to_rest(std::size_t index, const std::string& reason);
    };

    Answer choose_answer(const Notification& call);
    Answer dispatch(const Notification& call, const ToolTask& task);
    Answer open_event(const Notification& call, const ToolTask& task);
    Answer set_program(const Notification& call, const ToolTask& task);
    Answer create_link(const Notification& call, const ToolTask& task);
    /// `bytes`: all of its attributes.
    Answer link_event(const Notification& call, const ToolTask& task, const LinkAttributes& link,
                      const std::vector<std::byte>& bytes);
    Answer link_multi(const Notification& call, const ToolTask& task, const LinkAttributes& link);
    Answer pin_link(const Notification& call, const ToolTask& task);
    Answer tell_link(const Notification& call, const ToolTask& task);
    Answer detach_link(const Notification& call, const ToolTask& task);
    Answer update_link(const Notification& call, const ToolTask& task);

    /// Why the kernel would refuse this program for an event that has one already: EEXIST, unless
    /// the program itself is wrong.
    static int busy_error(const Event& event, const UniqueFd& program, bool by_link);
    /// Puts the kernel's event in place of the tool's, with the same program if it has one.
    void hand_back(const Notification& call, const ToolTask& task, int fd);
    Event* find_event(const ToolTask& task, int fd);
    /// Lets the kernel's own probes take the place of a placement's, and end with the tool's event
    /// fd. Copies of their files; none with errno: all is as before.
    KernelProbe yield(std::uint64_t number);
    /// Whether a program is on it, of a link in a file system, too.
    [[nodiscard]] bool has_program(const Event& event) const;
    /// The placements of djprobe's whose bytes may reach the place.
    [[nodiscard]] std::vector<std::uint64_t> probes_at(const SiteSpec& site) const;
    /// The bytes around the place, without djprobe's probes.
    Room room_at(const SiteSpec& site);
    /// Room::fill(). All but the `named` probes, for which the caller has a reason, are counted.
    bool fill(Room& room, std::size_t named = 0);
    /// Lets the kernel have the bytes of djprobe's that are in the event's way. As open_as_asked();
    /// none with errno: all is as before.
    UniqueFd make_room(const EventRequest& request, const EventArguments& arguments,
                       const ToolTask& task);
    /// As open_kernel_event(), also where djprobe's bytes are in the way.
    UniqueFd open_beside_ours(const EventRequest& request);
    /// Whether a placement, which keeps two, leaves descriptors for the answers of later calls:
    /// without these the tool could not even be given what the kernel places.
    [[nodiscard]] bool has_descriptors() const;
    /// Places the event's probe; "" or the reason's name.
    std::string place_event(const Event& event, const UniqueFd& program, std::uint64_t cookie,
                            std::optional<Probe>& probe) const;
    /// One of our event fds that stands for a link.
    struct Link {
        std::uint64_t event;      ///< the number of the fd
        std::uint64_t placement;  ///< of the ledger's
    };
    [[nodiscard]] std::optional<Link> find_link(const ToolTask& task, int fd) const;
    /// Gives the tool the event fd of a link, and keeps the placement, whose number is `kept` then.
    Answer give_link(Placement placement, std::uint64_t* kept = nullptr);
    /// What the kernel would tell of the link, with addresses only if they are to be `shown`.
    std::variant<MultiFacts, EventFacts> facts_of(const Placement& link, bool shown);
    /// Where the kernel's own probe of an event would be, 0: not shown to probeload itself.
    std::uint64_t address_of(const SiteSpec& site);
    /// Where the kernel finds a function of a link.
    std::uint64_t start_of(const SiteSpec& function);
    /// A link's functions, each with its address, as the kernel keeps them.
    std::vector<MultiTarget> in_kernels_order(const MultiRequest& multi);
    Shares share_out(const MultiRequest& request);
    std::optional<Probe> place_shares(Shares& shares, const UniqueFd& program) const;

    /// Leaves an event to the kernel, if it takes it.
    Answer leave_event(const Notification& call, const ToolTask& task, const EventRequest& request,
                       const EventArguments& arguments, const std::string& reason);
    /// The same for a link of many functions.
    Answer leave_multi(const Notification& call, const ToolTask& task, const LinkAttributes& link,
                       const std::string& reason);
    /// The call goes on to the kernel, which places the probe; with --strict it is an error.
    Answer leave(const Notification& call, const std::string& reason, std::size_t probes = 1);
    /// The same for an event of a task that may not open it, or has no program for it.
    Answer leave_unpermitted(const Notification& call, const ToolTask& task);
    std::optional<Answer> forbid_member(const Notification& call, const ToolTask& task,
                                        const perf_event_attr& attr,
                                        const EventArguments& arguments);
    /// What --strict forbids: EACCES, unless the kernel refuses the program or the event, too.
    Answer forbid(const Notification& call, const Event& event, const UniqueFd& program,
                  const std::string& reason, bool by_link);
    /// Says that --strict forbids what the kernel is to place, if it does.
    bool forbids(const Notification& call, const std::string& reason) const;

    const Device& device_;
    const RunOptions& options_;
    Ledger& ledger_;
    HeadStart head_start_;
    Placer placer_;
    std::optional<KprobePmu> pmu_;
    FunctionNames names_;
    HeldPlaces held_;
    std::optional<LinkInfoSizes> info_sizes_;       // none: no tool has asked yet
    std::map<std::uint64_t, Event> events_;         // by the number of the event fd
    std::map<std::uint64_t, std::uint64_t> links_;  // placements, by the same
};

}  // namespace djprobe::loader
