#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print a stripped vmlinux's own symbol table in /proc/kallsyms' format.

Distributions strip vmlinux, but the kernel carries its names in rodata (kernel/kallsyms.c):
num_syms, names, markers, token_table, token_index, and offsets relative to a base, which stand
before num_syms up to Linux 6.8 and behind token_index since. The tokens of the digits, which are
rarely joined, give the place away; everything else is found from there and checked.
"""
import struct
import sys

DIGITS = b"0\x001\x002\x003\x004\x005\x006\x007\x008\x009\x00"


def align8(offset):
    return (offset + 7) & ~7


def find_tokens(data):
    """Offsets of token_table and token_index, and the tokens."""
    at = data.find(DIGITS)
    while at >= 0:
        start = at
        for _ in range(ord("0") + 1):
            start = data.rfind(b"\0", 0, start)
        # Padding may precede: the first token begins behind the last NUL that is not a token's.
        for begin in range(start + 1, start + 9):
            tokens = data[begin : begin + 16384].split(b"\0", 256)[:256]
            index = align8(begin + sum(len(token) + 1 for token in tokens))
            expected, position = [], 0
            for token in tokens:
                expected.append(position)
                position += len(token) + 1
            if struct.unpack_from("<256H", data, index) == tuple(expected):
                return begin, index, tokens
        at = data.find(DIGITS, at + 1)
    sys.exit("kallsyms.py: no token table: is this an uncompressed vmlinux with CONFIG_KALLSYMS?")


def find_markers(data, end):
    """The marker of every 256th name: rising from 0. Other things may follow before `end`."""
    while struct.unpack_from("<I", data, end - 4)[0] == 0:
        end -= 4
    begin = end - 4
    while struct.unpack_from("<I", data, begin)[0] != 0:
        begin -= 4
    markers = struct.unpack_from(f"<{(end - begin) // 4}I", data, begin)
    rising = 1
    while rising < len(markers) and markers[rising] > markers[rising - 1]:
        rising += 1
    return begin, markers[:rising]


def expand(data, at, count, tokens):
    """The names from `at` on, and where they end."""
    names = []
    for _ in range(count):
        length = data[at]
        at += 1
        if length & 0x80:
            length = (length & 0x7F) | data[at] << 7
            at += 1
        names.append(b"".join(map(tokens.__getitem__, data[at : at + length])))
        at += length
    return names, at


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: kallsyms.py VMLINUX")
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    table, index, tokens = find_tokens(data)
    markers_at, markers = find_markers(data, table)
    # Names are at most 512 bytes long.
    for start in range(markers_at & ~7, max(8, markers_at - markers[-1] - 256 * 514), -8):
        count = struct.unpack_from("<Q", data, start - 8)[0]
        last = (count + 255) // 256 - 1
        if not 0 <= last < len(markers):
            continue
        if not markers[last] < markers_at - start <= markers[last] + 256 * 514:
            continue
        names, end = expand(data, start, count, tokens)
        if align8(end) == markers_at:
            break
    else:
        sys.exit("kallsyms.py: no names before the markers")
    size = align8(4 * count)
    for offsets, base_at in ((start - 16 - size, start - 16),
                             (index + 512, index + 512 + size)):
        base = struct.unpack_from("<Q", data, base_at)[0]
        if base >> 31 == 0x1FFFFFFFF:
            break
    else:
        sys.exit("kallsyms.py: no base of the offsets")
    for offset, name in zip(struct.unpack_from(f"<{count}i", data, offsets), names):
        address = offset if offset >= 0 else base - 1 - offset
        name = name.decode()
        print(f"{address:016x} {name[0]} {name[1:]}")


main()
