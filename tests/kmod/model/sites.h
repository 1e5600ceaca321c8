// SPDX-License-Identifier: GPL-2.0
// Sites for the tests, found in made kernels, and what the policy says of them.
#pragma once

#include <functional>
#include <vector>

#include "session.h"
#include "uapi/djprobe.h"

namespace djprobe::model {

constexpr auto kForeign = static_cast<unsigned>(DJPROBE_REASON_FOREIGN_PATCH);

/// Every place with a jump by this tactic, over the first images; use(seed, place, verdict) ->
/// enough. The test fails when there is never enough. No session lives meanwhile.
void for_each_jump(unsigned int tactic, bool in_module,
                   const std::function<bool(u64 seed, u64 site, const djp_verdict& verdict)>& use);

/// Such a place, and the sites behind it that its jump covers, too.
struct Found {
    u64 seed = 0, address = 0;
    std::vector<u64> inside;
};

/// In the first image that has one with at least so many of them behind it.
Found find_image(bool in_module, unsigned int tactic, size_t inside);

unsigned int state_of(Session& session, const Probe& probe);

/// The kernel takes no kprobe on an int3, nor behind one that is none of its own: let the padding
/// with the springboard, which begins behind an int3, be a long nop. Returns where the springboard
/// of `site` lies then; 0: this one does not serve.
u64 pad_with_nop(TextImage& image, u64 site, u64 board);

/// Where the jump at `site` leads.
u64 code_of(Session& session, u64 site);

/// A counter's jump in a function, the places of kprobes behind it, and some elsewhere.
struct Crowded {
    u64 seed = 0, site = 0;
    std::vector<u64> behind, elsewhere;
};
Crowded find_crowded();

/// Whether the jump of a probe at `site` would overwrite `place` and not begin there.
bool covers(Session& session, u64 site, u64 place);

/// No probe's jump may cover `place`, where the instruction at `from` leads.
void expect_no_jump_over(Session& session, u64 place, const char* when, u64 seed, u64 from);

}  // namespace djprobe::model
