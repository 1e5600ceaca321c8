// SPDX-License-Identifier: GPL-2.0
// The few types that freestanding code needs: no libc, no libstdc++ header, no Linux header.
#pragma once

namespace djprobe {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
using i8 = signed char;
using i32 = int;
using i64 = long;
using size_t = decltype(sizeof(0));

static_assert(sizeof(u32) == 4 && sizeof(u64) == 8);

/// A view of `size` consecutive objects, which it does not own.
template <class T>
class Span {
  public:
    constexpr Span() = default;
    constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
    template <size_t N>
    constexpr Span(T (&array)[N]) : data_(array), size_(N) {}
    /// A read-only view of a writable one.
    constexpr operator Span<const T>() const { return {data_, size_}; }

    constexpr T* data() const { return data_; }
    constexpr size_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr T& operator[](size_t index) const { return data_[index]; }
    constexpr T* begin() const { return data_; }
    constexpr T* end() const { return data_ + size_; }
    /// The part from `offset` on, empty when that is past the end.
    constexpr Span from(size_t offset) const {
        return offset < size_ ? Span{data_ + offset, size_ - offset} : Span{};
    }
    constexpr Span first(size_t count) const { return {data_, count < size_ ? count : size_}; }

  private:
    T* data_ = nullptr;
    size_t size_ = 0;
};

/// The index of the first of `all`, whose keys ascend, with a key of at least `least`.
template <class T, class KeyOf>
constexpr size_t first_from(Span<T> all, u64 least, KeyOf&& key_of) {
    size_t first = 0;
    for (size_t end = all.size(); first < end;) {
        const size_t middle = first + (end - first) / 2;
        if (key_of(all[middle]) < least)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

// Always inline: the kernel's build has no room for a function that several objects hold.
[[gnu::always_inline]] inline void copy_bytes(u8* to, Span<const u8> from) {
    for (size_t i = 0; i < from.size(); ++i)
        to[i] = from[i];
}

/// Addresses [begin, end).
struct Range {
    u64 begin = 0;
    u64 end = 0;

    constexpr u64 size() const { return end - begin; }
    constexpr bool contains(u64 address) const { return address >= begin && address < end; }
    constexpr bool overlaps(Range other) const { return begin < other.end && other.begin < end; }
};

namespace x86 {
struct KnownInsns;
}

/// Bytes of code and the address they run at (which need not be where they lie now).
struct Code {
    u64 address = 0;
    Span<const u8> bytes;
    /// Its first instructions, so that they are decoded once. May be null.
    x86::KnownInsns* known = nullptr;

    constexpr Range range() const { return {address, address + bytes.size()}; }
    /// The bytes from `at` on, empty outside.
    constexpr Span<const u8> from(u64 at) const {
        return range().contains(at) ? bytes.from(at - address) : Span<const u8>{};
    }
};

/// True when `value` is what a sign-extended 32-bit immediate can hold.
constexpr bool fits_i32(i64 value) {
    return value == static_cast<i32>(value);
}

}  // namespace djprobe
