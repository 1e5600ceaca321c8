// SPDX-License-Identifier: GPL-2.0
// Owning memory in a module without libstdc++: every allocation may fail and says so.
#pragma once

#include "../../arch/x86/insn/types.h"
#include "../glue/kernel.h"

// Placement new, which a freestanding build without headers does not have.
inline void* operator new(djprobe::size_t, void* place) noexcept {
    return place;
}

namespace djprobe::kmod {

/// A zero-filled array of trivial objects. Empty when out of memory.
template <class T>
class Array {
  public:
    Array() = default;
    explicit Array(size_t count)
        // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
        : data_(static_cast<T*>(djk_alloc_large(count * sizeof(T)))), size_(data_ ? count : 0) {}
    Array(Array&& other) noexcept { *this = static_cast<Array&&>(other); }
    Array& operator=(Array&& other) noexcept {
        djk_free_large(data_);
        data_ = other.data_;
        size_ = other.size_;
        other.data_ = nullptr;
        other.size_ = 0;
        return *this;
    }
    ~Array() { djk_free_large(data_); }

    explicit operator bool() const { return data_ != nullptr; }
    /// From here on the caller owns the memory, and frees it by djk_free_large().
    T* release() {
        T* const data = data_;
        data_ = nullptr;
        size_ = 0;
        return data;
    }
    /// Nothing behind the first `size` counts any more.
    void shrink(size_t size) { size_ = size; }
    T* data() const { return data_; }
    size_t size() const { return size_; }
    T& operator[](size_t index) const { return data_[index]; }
    Span<T> all() const { return {data_, size_}; }

  private:
    T* data_ = nullptr;
    size_t size_ = 0;
};

/// Where objects lie. A kind of which there may be very many has a cache of its own.
template <class T>
struct Room {
    static void* take() { return djk_alloc(sizeof(T)); }
    static void give_back(T& object) {
        object.~T();
        djk_free(&object);
    }
};

/// Owns one object.
template <class T>
class Box {
  public:
    Box() = default;
    Box(Box&& other) noexcept { *this = static_cast<Box&&>(other); }
    Box& operator=(Box&& other) noexcept {
        reset();
        object_ = other.release();
        return *this;
    }
    ~Box() { reset(); }

    /// Empty when out of memory. `which`: see the room.
    template <class... Which>
    static Box create(Which... which) {
        Box box;
        if (void* memory = Room<T>::take(which...)) box.object_ = new (memory) T(which...);
        return box;
    }
    /// Empty sooner than create(): before the kernel kills a task for it.
    template <class... Which>
    static Box attempt(Which... which) {
        Box box;
        if (void* memory = Room<T>::attempt(which...)) box.object_ = new (memory) T(which...);
        return box;
    }
    /// Never empty: it waits until there is memory. For what has a cache of its own.
    template <class... Which>
    static Box insist(Which... which) {
        Box box;
        box.object_ = new (Room<T>::insist(which...)) T(which...);
        return box;
    }
    /// Own an object again that release() has given away.
    static Box adopt(T* object) {
        Box box;
        box.object_ = object;
        return box;
    }

    explicit operator bool() const { return object_ != nullptr; }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }
    T* get() const { return object_; }
    T* release() {
        T* object = object_;
        object_ = nullptr;
        return object;
    }
    void reset() {
        if (object_) Room<T>::give_back(*object_);
        object_ = nullptr;
    }

  private:
    T* object_ = nullptr;
};

}  // namespace djprobe::kmod
