// SPDX-License-Identifier: GPL-2.0
// What lies near an address.
#pragma once

#include "../border/memory.h"

namespace djprobe::kmod {

// Powers of two: lists of lines, which many lines share.
inline constexpr size_t kFewLines = 4096, kMostLines = 1 << 18;

/// Objects by the line of text in which their IA is, on a link of their own: ia_of(const T&) and
/// next_near(T&) find both. Under the registry lock.
template <class T>
class NearLines {
  public:
    NearLines() = default;
    NearLines(const NearLines&) = delete;
    NearLines& operator=(const NearLines&) = delete;

    void enter(T& object) {
        // Where memory is short, not at each further one.
        if (++object_count_ > line_count_ && object_count_ % (line_count_ / 4) == 0) add_lines();
        link(object);
    }
    void leave(T& object) {
        T** at = &lines_[line(ia_of(object)) % line_count_];
        while (*at != &object)
            at = &next_near(**at);
        *at = next_near(object);
        --object_count_;
    }
    bool is_empty() const { return !object_count_; }
    size_t count() const { return object_count_; }

    /// Calls use(T&) for all in the lines of `range`. `use` must not let any leave.
    template <class Use>
    void for_each(Range range, Use&& use) const {
        if (is_empty()) return;
        for (u64 at = line(range.begin); at <= line(range.end); ++at)
            for (T* object = lines_[at % line_count_]; object; object = next_near(*object))
                if (line(ia_of(*object)) == at) use(*object);
    }
    /// The same for all objects in the lists from number `list` on, until use(T&) says false. Then
    /// `list` is that object's.
    template <class Use>
    void for_all_from(size_t& list, Use&& use) const {
        for (; list < line_count_; ++list)
            for (T* object = lines_[list]; object; object = next_near(*object))
                if (!use(*object)) return;
    }

  private:
    // No tactic reaches farther than two lines.
    static constexpr u64 line(u64 address) { return address / 128; }

    void link(T& object) {
        T*& near = lines_[line(ia_of(object)) % line_count_];
        next_near(object) = near;
        near = &object;
    }

    /// With more lists they are shorter. Without memory they stay as long as they are.
    void add_lines() {
        if (line_count_ == kMostLines) return;
        Array<T*> more(4 * line_count_);
        if (!more) return;
        T* const* const before = lines_;
        const size_t count = line_count_;
        lines_ = more.data();
        line_count_ = more.size();
        for (size_t i = 0; i < count; ++i)
            for (T* object = before[i]; object;) {
                T* const next = next_near(*object);
                link(*object);
                object = next;
            }
        more_lines_ = static_cast<Array<T*>&&>(more);
    }

    T* few_lines_[kFewLines] = {};
    Array<T*> more_lines_;  ///< instead of these, once there are many objects
    T** lines_ = few_lines_;
    size_t line_count_ = kFewLines;
    size_t object_count_ = 0;
};

}  // namespace djprobe::kmod
