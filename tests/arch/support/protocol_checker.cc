// SPDX-License-Identifier: GPL-2.0
#include "support/protocol_checker.h"

#include <set>

namespace djprobe::test {

ProtocolChecker::ProtocolChecker(const x86::PatchSite& site, std::vector<size_t> inner)
    : site_(site),
      inner_(std::move(inner)),
      views_(site.length),
      text_(site.original, site.original + site.length) {
    for (size_t i = 0; i < site.length; ++i)
        views_[i] = {site.original[i]};
}

void ProtocolChecker::apply(const Step& step) {
    switch (step.kind) {
        case Step::Kind::Write:
            for (size_t i = 0; i < step.bytes.size(); ++i) {
                const u64 offset = step.address + i - site_.address;
                if (offset >= text_.size()) continue;
                text_[offset] = step.bytes[i];
                views_[offset].insert(step.bytes[i]);
            }
            break;
        case Step::Kind::Sync:
            for (size_t i = 0; i < text_.size(); ++i)
                views_[i] = {text_[i]};
            break;
        case Step::Kind::ResumeBehind:
            if (step.address == site_.address) resumes_behind_ = true;
            break;
        case Step::Kind::ResumeFirst:
            if (step.address == site_.address) resumes_behind_ = false;
            break;
        case Step::Kind::Quiescence:
            inner_empty_ = inner_empty_ || none_enters();
            break;
    }
    if (!none_enters()) inner_empty_ = false;
}

/// No task gets from the site to an inner instruction.
bool ProtocolChecker::none_enters() const {
    for (const u8 first : views_[0]) {
        const bool trapped = first == x86::kInt3 && resumes_behind_;
        const bool jumps = first == site_.jump[0] && !tail_may_be_other_than(site_.jump, 1);
        if (!trapped && !jumps) return false;
    }
    return true;
}

bool ProtocolChecker::tail_may_be_other_than(const u8* form, size_t from) const {
    for (size_t i = from; i < views_.size(); ++i)
        if (views_[i] != std::set<u8>{form[i]}) return true;
    return false;
}

std::string ProtocolChecker::violation() const {
    const bool original_tail = !tail_may_be_other_than(site_.original, 1);
    const bool jump_tail = !tail_may_be_other_than(site_.jump, 1);
    for (const u8 first : views_[0]) {
        if (first == x86::kInt3) {
            if (!original_tail && !resumes_behind_) return "int3 resumes in a tail that is changed";
            continue;
        }
        const bool original = first == site_.original[0] && original_tail;
        const bool jump = first == site_.jump[0] && jump_tail;
        if (!original && !jump) return "the site is neither int3 nor original nor jump";
    }
    if (!inner_empty_)
        for (const size_t offset : inner_)
            if (tail_may_be_other_than(site_.original, offset))
                return "a task may stand at +" + std::to_string(offset);
    return "";
}

std::string ProtocolChecker::check(const std::vector<Step>& steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
        apply(steps[i]);
        if (const std::string found = violation(); !found.empty())
            return "after step " + std::to_string(i + 1) + ": " + found;
    }
    for (const std::set<u8>& view : views_)
        if (view.size() != 1) return "at the end: CPUs disagree";
    return "";
}

}  // namespace djprobe::test
