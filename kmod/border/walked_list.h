// SPDX-License-Identifier: GPL-2.0
// A list that other requests may change while one walks over it.
#pragma once

namespace djprobe::kmod {

/// Objects by their own links `next` and `previous`, newest first. Under the registry lock, which a
/// walk may pause: an object that leaves the list moves the cursors that stand on it.
template <class T>
class WalkedList {
  public:
    using Link = T* T::*;

    /// A walk. Made and destroyed under the registry lock.
    class Cursor {
      public:
        /// From the newest one on with &T::next, from the oldest one on with &T::previous.
        Cursor(WalkedList& list, Link way)
            : list_(list), way_(way), at_(way == &T::next ? list.first_ : list.last_) {
            next_ = list.cursors_;
            list.cursors_ = this;
        }
        ~Cursor() {
            Cursor** link = &list_.cursors_;
            while (*link != this)
                link = &(*link)->next_;
            *link = next_;
        }
        /// One more walk, from where the other one stands.
        Cursor(const Cursor& other)
            : list_(other.list_), way_(other.way_), at_(other.at_), next_(other.list_.cursors_) {
            list_.cursors_ = this;
        }
        Cursor& operator=(const Cursor&) = delete;

        bool at_end() const { return !at_; }
        T* peek() const { return at_; }
        void go_back_to(const Cursor& earlier) { at_ = earlier.at_; }
        /// The object that the cursor stands on, which may then leave the list; nullptr: the end.
        T* take() {
            T* const taken = at_;
            if (taken) at_ = taken->*way_;
            return taken;
        }

      private:
        friend class WalkedList;
        WalkedList& list_;
        Link way_;
        T* at_;
        Cursor* next_;
    };

    void add(T& object) {
        object.previous = nullptr;
        object.next = first_;
        (first_ ? first_->previous : last_) = &object;
        first_ = &object;
    }
    void remove(T& object) {
        for (Cursor* cursor = cursors_; cursor; cursor = cursor->next_)
            if (cursor->at_ == &object) (void)cursor->take();
        (object.previous ? object.previous->next : first_) = object.next;
        (object.next ? object.next->previous : last_) = object.previous;
        object.next = nullptr;
    }
    T* first() const { return first_; }

  private:
    T* first_ = nullptr;
    T* last_ = nullptr;
    Cursor* cursors_ = nullptr;
};

}  // namespace djprobe::kmod
