// SPDX-License-Identifier: GPL-2.0
// The real policy on the model kernel, next to the simplest picture of it: a set of probes.
#pragma once

#include <functional>
#include <list>
#include <set>
#include <vector>

#include "kernel_model.h"

namespace djprobe::model {

/// What a user asks for.
struct Wish {
    u64 address = 0;
    bool int3_only = false;
    int program = Kernel::kCFunction;  ///< or which kind of program, or Kernel::kCounter
    unsigned int wants = 0;
    bool by_symbol = false;
    bool once = false;
};

/// What is expected of one attached probe.
struct Probe {
    djp_probe* probe = nullptr;
    Handler* handler = nullptr;
    u64 address = 0, cookie = 0;
    bool int3_only = false;
    bool enabled = true;
    bool refused = false;  ///< it could not come back when all were enabled
    bool gone = false;
    unsigned long hits = 0;
};

using Group = std::vector<Probe*>;

class Session {
  public:
    /// `change` is what is different about its text when the policy starts.
    explicit Session(u64 seed, const std::function<void(TextImage&)>& change = {});
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Kernel kernel;

    // Operations; each ends with check(). A reason number, and who was refused.
    struct Answer {
        unsigned int reason = 0;
        size_t index = 0;
        Group probes;
        std::vector<size_t> left_out;  ///< attach() without those that are refused: the others
    };
    /// All or none; `skip`: without those that are refused.
    Answer attach(const std::vector<Wish>& wishes, bool skip = false);
    /// nullptr: refused.
    Probe* attach_one(const Wish& wish);
    void detach(Group group);
    Answer enable(const Group& group);
    void disable(const Group& group);
    /// The worker looks for probes that count once: these have been hit, as all are that are
    /// attached when check() looks. Whether it looks again.
    bool end_once(const Group& hit);
    void set_enabled(bool enabled);
    void set_optimization(bool optimization);
    /// The verdict (enum djprobe_verdict), and that it says the same twice.
    djp_verdict explain(u64 address, unsigned int* reason = nullptr);
    void run_optimizer();
    /// Let the optimizer finish, then expect all that may be jumps to be jumps.
    void settle();
    void module_leaves();
    /// It may not be asked for now: one call at a time switches all.
    bool is_switching() const { return switching_; }
    /// A kprobe of the kernel's own came or went there.
    void disturbed(u64 address) { disturbed_.insert(address); }

    /// Text, handlers and answers are what was asked for.
    void check();
    djp_status query(const Probe& probe);
    const std::list<Probe>& probes() const { return probes_; }
    std::list<Probe>& probes() { return probes_; }
    bool is_enabled() const { return enabled_; }
    bool is_optimizing() const { return optimizing_; }
    bool is_active(const Probe& probe) const {
        return enabled_ && probe.enabled && !probe.refused && !probe.gone;
    }
    /// Detach all, and expect nothing to be left.
    void finish();
    /// The module goes. Otherwise it does so at the session's end.
    void stop();

  private:
    class Busy;
    struct Pristine {
        unsigned int verdict, reason;
    };
    djp_verdict explain_surely(u64 address, unsigned int* reason);
    Pristine pristine(u64 address);
    void check_status(const Probe& probe);
    Group without_busy(const Group& group) const;
    void check_settled(const Probe& probe);
    bool overlaps_another(u64 address);
    void check_shown(Range text);
    void check_refusal(const char* what, u64 address, unsigned int wants, unsigned int reason,
                       int failed);
    bool is_disturbed(u64 address) const;
    void may_have_failed(u64 address, int failed);

    std::list<Probe> probes_;
    bool enabled_ = true, optimizing_ = true;
    u64 next_cookie_ = 1;
    std::set<u64> disturbed_;
    std::set<u64> boards_;  ///< sites that have had a springboard
    std::map<u64, Pristine> pristine_;
    size_t objects_at_start_ = 0;
    /// Calls are under way for these: the handlers may run, the probes may be in any state.
    std::multiset<const Handler*> busy_;
    bool switching_ = false;  ///< of any probe
    bool is_busy(const Handler* handler) const { return switching_ || busy_.contains(handler); }
    /// What may come between two portions of a call.
    struct Events {
        size_t switches = 0, leaves = 0;
    };
    Events events_;
    void look_if_refused(Probe& probe, int failed);
    bool stopped_ = false;
};

}  // namespace djprobe::model
