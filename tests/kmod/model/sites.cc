// SPDX-License-Identifier: GPL-2.0
#include "sites.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace djprobe::model {
namespace {

constexpr u64 kImages = 64;

/// Whether the policy gives `place`, in the kernel's text or the module's, a jump by `tactic`.
bool is_jump_by(unsigned int tactic, bool in_module, Session& session, const Place& place,
                djp_verdict& verdict) {
    const Function& function = session.kernel.image.functions[place.function];
    // Its first byte stands for another place.
    if (function.in_module != in_module || place.start() == function.start) return false;
    verdict = session.explain(place.start());
    return verdict.verdict == DJPROBE_VERDICT_JUMP && verdict.tactic == tactic;
}

bool find_site(Session& session, bool in_module, unsigned int tactic, size_t inside, Found& found) {
    TextImage& image = session.kernel.image;
    for (const Place& place : image.places) {
        djp_verdict verdict = {};
        if (!is_jump_by(tactic, in_module, session, place, verdict)) continue;
        found.address = place.start();
        found.inside.clear();
        for (u64 at = place.end(); at < verdict.anchor + verdict.region_len; ++at)
            if (image.place_at(at) && session.explain(at).verdict != DJPROBE_VERDICT_REFUSED)
                found.inside.push_back(at);
        if (found.inside.size() >= inside) return true;
    }
    return false;
}

}  // namespace

void for_each_jump(unsigned int tactic, bool in_module,
                   const std::function<bool(u64 seed, u64 site, const djp_verdict& verdict)>& use) {
    for (u64 seed = 0; seed < kImages; ++seed) {
        std::vector<std::pair<u64, djp_verdict>> sites;
        {
            Session session(seed);
            djp_verdict verdict = {};
            for (const Place& place : session.kernel.image.places)
                if (is_jump_by(tactic, in_module, session, place, verdict))
                    sites.push_back({place.start(), verdict});
        }
        for (const auto& [address, verdict] : sites)
            if (use(seed, address, verdict)) return;
    }
    ADD_FAILURE() << "no image has enough sites for tactic " << tactic;
}

Found find_image(bool in_module, unsigned int tactic, size_t inside) {
    for (u64 seed = 0; seed < kImages; ++seed) {
        Session session(seed);
        Found found;
        if (!find_site(session, in_module, tactic, inside, found)) continue;
        found.seed = seed;
        return found;
    }
    ADD_FAILURE() << "no image has a site for tactic " << tactic;
    return {};
}

unsigned int state_of(Session& session, const Probe& probe) {
    return session.query(probe).state;
}

u64 pad_with_nop(TextImage& image, u64 site, u64 board) {
    const u8 nop[] = {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    const u64 padding = board - 1;
    // Nor in a function with an int3 of ours.
    if (image.function_at(board) == image.function_at(site)) return 0;
    if (image.place_of(padding) || !image.place_of(padding - 1)) return 0;
    memcpy(image.text(padding), nop, sizeof nop);
    memcpy(const_cast<u8*>(image.original(padding)), nop, sizeof nop);
    return padding;
}

bool covers(Session& session, u64 site, u64 place) {
    const djp_verdict verdict = session.explain(site);
    return verdict.verdict == DJPROBE_VERDICT_JUMP && verdict.anchor < place &&
           place < verdict.anchor + verdict.region_len;
}

void expect_no_jump_over(Session& session, u64 place, const char* when, u64 seed, u64 from) {
    for (u64 site = place - x86::kMaxInsnLength; site < place; ++site)
        if (session.kernel.image.place_at(site)) {
            EXPECT_FALSE(covers(session, site, place))
                << when << ", image " << seed << ": " << std::hex << site << " over " << place
                << ", to which " << from << " leads";
        }
}

u64 code_of(Session& session, u64 site) {
    std::int32_t distance = 0;
    EXPECT_EQ(*session.kernel.image.text(site), 0xe9);
    std::memcpy(&distance, session.kernel.image.text(site + 1), sizeof(distance));
    return site + x86::kJumpLength + static_cast<u64>(std::int64_t{distance});
}

Crowded find_crowded() {
    Crowded found;
    for_each_jump(DJPROBE_TACTIC_WINDOW, false,
                  [&](u64 seed, u64 site, const djp_verdict& verdict) {
                      Session session(seed);
                      const TextImage& image = session.kernel.image;
                      const Function& function = *image.function_at(site);
                      if (site == function.entry || !function.compiled) return false;
                      found = {seed, site, {}, {}};
                      for (const Place& place : image.places) {
                          const bool inside = image.function_at(place.start()) == &function;
                          if (inside && place.start() < verdict.anchor + verdict.region_len)
                              continue;
                          if (session.kernel.kprobes.add(place.start(), false))
                              (inside ? found.behind : found.elsewhere).push_back(place.start());
                      }
                      for (const auto* places : {&found.behind, &found.elsewhere})
                          for (const u64 place : *places)
                              session.kernel.kprobes.remove(place);
                      return found.behind.size() > 1 && found.elsewhere.size() > DJK_NEW_KPROBES;
                  });
    return found;
}

}  // namespace djprobe::model
