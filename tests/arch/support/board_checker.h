// SPDX-License-Identifier: GPL-2.0
// What CPUs might run on a springboard after each step of a journal.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "support/journal_port.h"

namespace djprobe::test {

/// Replays a journal for one springboard and the site whose short jump leads to it.
///
/// As long as some CPU may see that jump, and from then on until a quiescence has passed since none
/// does, a task may stand on the board: it finds the whole long jump there, whichever value of each
/// byte its CPU fetches.
class BoardChecker {
  public:
    BoardChecker(const x86::PatchSite& site, const x86::PatchSite& board)
        : site_(site), board_(board), views_(board.length), first_{site.original[0]} {
        for (size_t i = 0; i < board.length; ++i)
            views_[i] = {board.original[i]};
        text_.assign(board.original, board.original + board.length);
    }

    /// The first violation, "" if there is none.
    std::string check(const std::vector<Step>& steps) {
        for (size_t i = 0; i < steps.size(); ++i) {
            apply(steps[i]);
            if (entered() || occupied_)
                for (size_t at = 0; at < views_.size(); ++at)
                    if (views_[at] != std::set<u8>{board_.jump[at]})
                        return "after step " + std::to_string(i + 1) +
                               ": a task may be on the board, which is no jump at +" +
                               std::to_string(at);
        }
        return "";
    }

  private:
    bool entered() const { return first_.contains(site_.jump[0]); }

    void apply(const Step& step) {
        switch (step.kind) {
            case Step::Kind::Write:
                for (size_t i = 0; i < step.bytes.size(); ++i) {
                    const u64 at = step.address + i;
                    if (at == site_.address) first_.insert(latest_ = step.bytes[i]);
                    if (at - board_.address < views_.size()) {
                        views_[at - board_.address].insert(step.bytes[i]);
                        text_[at - board_.address] = step.bytes[i];
                    }
                }
                break;
            case Step::Kind::Sync:
                for (size_t i = 0; i < views_.size(); ++i)
                    views_[i] = {text_[i]};
                first_ = {latest_};
                break;
            case Step::Kind::Quiescence:
                occupied_ = entered();
                break;
            default:
                break;
        }
        occupied_ = occupied_ || entered();
    }

    const x86::PatchSite& site_;
    const x86::PatchSite& board_;
    std::vector<std::set<u8>> views_;
    Bytes text_;
    std::set<u8> first_;
    u8 latest_ = site_.original[0];
    bool occupied_ = false;
};

}  // namespace djprobe::test
