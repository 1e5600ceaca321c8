// SPDX-License-Identifier: GPL-2.0
#include "plan.h"

#include "decide.h"
#include "local_arrivals.h"

namespace djprobe::x86 {
namespace {

/// One site's surroundings, found by decoding the snapshot's functions as far as asked.
class SnapshotSurroundings {
  public:
    explicit SnapshotSurroundings(const Snapshot& snapshot) : snapshot_(snapshot) {}

    const Code& function() const { return snapshot_.function; }

    Refusal boundary(u64 address, Boundary& out) const {
        return find_boundary(function(), address, out);
    }

    u64 end() const { return real_end(function()); }

    bool is_past_end(u64 address) const { return x86::is_past_end(function(), address); }

    const Reserved* reserved(Range range) const {
        for (const Reserved& reserved : snapshot_.reserved)
            if (reserved.range.overlaps(range)) return &reserved;
        return nullptr;
    }

    Refusal arrival(Range range) const {
        for (const Landing& landing : snapshot_.landings)
            if (range.contains(landing.target))
                return Refusal{landing.reason, landing.source, landing.target};
        const FunctionMemo* const memo = snapshot_.memo;
        if (!memo || !memo->excludes(function().range(), range))
            if (const Refusal refusal = find_branch_into(function(), range)) return refusal;
        for (const Code& neighbour : snapshot_.neighbours)
            if (const Refusal refusal = find_branch_into(neighbour, range)) return refusal;
        return {};
    }

    Refusal indirect_jump() const {
        FunctionMemo* const memo = snapshot_.memo;
        if (!memo) return find_indirect_jump(snapshot_);
        if (!memo->knows_indirect_jump || memo->no_jump_tables != snapshot_.no_jump_tables)
            memo->indirect_jump = find_indirect_jump(snapshot_);
        memo->knows_indirect_jump = true;
        memo->no_jump_tables = snapshot_.no_jump_tables;
        return memo->indirect_jump;
    }

    u64 find_board(Range reach, u8* bytes) const {
        if (const u64 board =
                find_board_in(*this, function(), dead_padding(function()), reach, bytes))
            return board;
        for (const Code& neighbour : snapshot_.neighbours)
            if (const u64 board =
                    find_board_in(*this, neighbour, dead_padding(neighbour), reach, bytes))
                return board;
        return 0;
    }

    u8 tactics() const { return snapshot_.tactics; }

  private:
    const Snapshot& snapshot_;
};

}  // namespace

Refusal make_plan(const Snapshot& snapshot, Plan& out) {
    return decide(SnapshotSurroundings(snapshot), snapshot.site, out);
}

}  // namespace djprobe::x86
