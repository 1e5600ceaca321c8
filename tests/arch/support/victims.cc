// SPDX-License-Identifier: GPL-2.0
// Compiled as a kernel is: no vector registers, no red zone, and no
// caller knows which registers a callee spares.
#include "support/victims.h"

#include <initializer_list>

namespace djprobe::test {
namespace {

// noipa: no clones, which would have no name here.
#define VICTIM [[gnu::section("victims"), gnu::noipa]]

VICTIM u32 crc32(const u8* bytes, size_t size) {
    u32 crc = ~0u;
    while (size--) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

VICTIM u32 rotate(u32 value, u32 count) {
    return value << (count & 31) | value >> (-count & 31);
}

VICTIM void mix(u32* state, const u8* block) {
    u32 a = state[0], b = state[1], c = state[2], d = state[3];
    for (u32 i = 0; i < 64; ++i) {
        u32 f, g;
        if (i < 16) {
            f = (b & c) | (~b & d);
            g = i;
        } else if (i < 32) {
            f = (d & b) | (~d & c);
            g = 5 * i + 1;
        } else if (i < 48) {
            f = b ^ c ^ d;
            g = 3 * i + 5;
        } else {
            f = c ^ (b | ~d);
            g = 7 * i;
        }
        const u32 word = static_cast<u32>(block[size_t{4} * (g & 15)]) * 0x01010101u + i;
        const u32 next = b + rotate(a + f + word, (i & 3) * 5 + 7);
        a = d, d = c, c = b, b = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

VICTIM u64 multiply_high(u64 a, u64 b, u64& low) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    low = static_cast<u64>(product);
    return static_cast<u64>(product >> 64);
}

VICTIM size_t print_number(u8* out, i64 value, unsigned base) {
    u8 digits[64];
    size_t count = 0, size = 0;
    u64 rest = value < 0 ? 0 - static_cast<u64>(value) : static_cast<u64>(value);
    do {
        const u64 digit = rest % base;
        digits[count++] = static_cast<u8>(digit < 10 ? '0' + digit : 'a' + digit - 10);
        rest /= base;
    } while (rest);
    if (value < 0) out[size++] = '-';
    while (count)
        out[size++] = digits[--count];
    return size;
}

VICTIM i64 parse_number(const u8* text, size_t size, unsigned base, bool& good) {
    u64 value = 0;
    const bool negative = size && *text == '-';
    good = size > negative;
    for (size_t i = negative; i < size; ++i) {
        const u8 c = text[i];
        unsigned digit = 99;
        if (c >= '0' && c <= '9') digit = c - '0';
        if (c >= 'a' && c <= 'z') digit = c - 'a' + 10u;
        if (digit >= base || __builtin_mul_overflow(value, u64{base}, &value) ||
            __builtin_add_overflow(value, u64{digit}, &value))
            good = false;
    }
    return static_cast<i64>(negative ? 0 - value : value);
}

VICTIM bool is_less(u64 a, u64 b, int kind) {
    switch (kind) {
        case 0:
            return a < b;
        case 1:
            return static_cast<i64>(a) < static_cast<i64>(b);
        case 2:
            return __builtin_popcountl(a) < __builtin_popcountl(b);
        default:
            return (a & 0xff) < (b & 0xff);
    }
}

VICTIM void sort(u64* values, i64 low, i64 high, int kind) {
    while (low < high) {
        const u64 pivot = values[low + (high - low) / 2];
        i64 i = low, j = high;
        while (i <= j) {
            while (is_less(values[i], pivot, kind))
                ++i;
            while (is_less(pivot, values[j], kind))
                --j;
            if (i <= j) {
                const u64 swapped = values[i];
                values[i++] = values[j];
                values[j--] = swapped;
            }
        }
        sort(values, low, j, kind);
        low = i;
    }
}

VICTIM u64 many_arguments(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h) {
    const u64 x = a * 3 + (b ^ c) - (d << 2), y = (e | f) + (g & h);
    return x > y ? x - y : b > g ? y + a : x ^ y;
}

VICTIM u64 call_through(u64 (*function)(u64, u64, u64, u64, u64, u64, u64, u64),
                        const u64* values) {
    u64 sum = 0;
    for (int i = 0; i < 8; ++i)
        sum += function(values[i], values[i + 1], values[i + 2], sum, values[i + 3], 7, values[i],
                        static_cast<u64>(i)) >>
               (i & 7);
    return sum;
}

VICTIM u64 bits(u64 value) {
    u64 result = 0;
    while (value) {
        const int first = __builtin_ctzl(value), last = 63 - __builtin_clzl(value);
        result = result * 31 + static_cast<u64>(first * 64 + last);
        value &= value - 1;
        if (value & 1ul << last) value ^= 1ul << last;
    }
    return result;
}

VICTIM void copy(u8* to, const u8* from, size_t size) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size)::"memory");
}

VICTIM u64 compare_exchange(u64* word, u64 limit) {
    u64 old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (old < limit && !__atomic_compare_exchange_n(word, &old, old * 2 + 1, false,
                                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old + __atomic_fetch_add(word, 3, __ATOMIC_SEQ_CST);
}

VICTIM u64 add_wide(u64* sum, const u64* a, const u64* b, size_t words) {
    unsigned char carry = 0;
    for (size_t i = 0; i < words; ++i) {
        const unsigned __int128 whole = static_cast<unsigned __int128>(a[i]) + b[i] + carry;
        sum[i] = static_cast<u64>(whole);
        carry = static_cast<unsigned char>(whole >> 64);
    }
    return carry;
}

template <class Function>
u64 address_of(Function* function) {
    return reinterpret_cast<u64>(function);
}

}  // namespace

Span<const u64> victims() {
    static const u64 all[] = {
        address_of(crc32),
        address_of(rotate),
        address_of(mix),
        address_of(multiply_high),
        address_of(print_number),
        address_of(parse_number),
        address_of(is_less),
        address_of(sort),
        address_of(many_arguments),
        address_of(call_through),
        address_of(bits),
        address_of(copy),
        address_of(compare_exchange),
        address_of(add_wide),
    };
    return all;
}

u64 run_victims(u64 seed) {
    u64 values[32];
    u64 state = seed | 1;
    for (u64& value : values) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        value = state >> (state >> 60);
    }
    u64 digest = 0;
    const auto note = [&](u64 value) { digest = (digest ^ value) * 0x100000001b3ul + 1; };
    u8 bytes[256];
    copy(bytes, reinterpret_cast<const u8*>(values), sizeof(bytes));
    note(crc32(bytes, 100));
    u32 hash[4] = {1, 2, 3, 4};
    mix(hash, bytes);
    note(crc32(reinterpret_cast<const u8*>(hash), sizeof(hash)));
    u64 low;
    note(multiply_high(values[0], values[1], low));
    note(low);
    for (const unsigned base : {10u, 16u, 7u}) {
        u8 text[80];
        const size_t size = print_number(text, static_cast<i64>(values[base]), base);
        bool good;
        note(static_cast<u64>(parse_number(text, size, base, good)));
        note(good);
        parse_number(text, size, 5, good);
        note(good);
    }
    for (int kind = 0; kind < 4; ++kind) {
        sort(values, 0, 31, kind);
        note(crc32(reinterpret_cast<const u8*>(values), sizeof(values)));
    }
    note(call_through(many_arguments, values));
    note(bits(values[3]));
    u64 word = 1;
    note(compare_exchange(&word, 1000));
    note(word);
    u64 sum[8];
    note(add_wide(sum, values, values + 8, 8));
    note(crc32(reinterpret_cast<const u8*>(sum), sizeof(sum)));
    return digest;
}

}  // namespace djprobe::test
