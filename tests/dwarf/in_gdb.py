# SPDX-License-Identifier: GPL-2.0
"""Runs in gdb: the value of each variable that is in scope at the addresses in $ADDRESSES, a line
of JSON for each, to $ANSWERS."""
import json
import os

import gdb  # pylint: disable=import-error

STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


def symbols_at(address):
    """The innermost of each name."""
    block = gdb.block_for_pc(address)
    found = {}
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if symbol.is_variable or symbol.is_argument:
                found.setdefault(symbol.name, symbol)
        if block.function is not None and not is_inlined(block):
            break
        block = block.superblock
    return found


def is_inlined(block):
    outer = block.superblock
    while outer is not None and not outer.is_global and not outer.is_static:
        if outer.function is not None:
            return True
        outer = outer.superblock
    return False


def leaves(value, bit, found):
    """The numbers of a struct that is in no memory: [bit, bits, value]."""
    kind = value.type.strip_typedefs()
    if kind.code in STRUCTS:
        for field in kind.fields():
            if not hasattr(field, "bitpos"):
                continue
            size = field.bitsize or field.type.sizeof * 8
            if field.bitsize:
                found.append([bit + field.bitpos, size, int(value[field])])
            else:
                leaves(value[field], bit + field.bitpos, found)
    elif kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        for i in range(low, high + 1):
            leaves(value[i], bit + 8 * kind.target().sizeof * (i - low), found)
    else:
        found.append([bit, kind.sizeof * 8, int(value)])
    return found


def answer(symbol, frame):
    value = symbol.value(frame)
    kind = value.type.strip_typedefs()
    if value.is_optimized_out:
        return {"none": "optimized out"}
    if value.address is not None:
        return {"address": int(value.address)}
    if kind.code in STRUCTS or kind.code == gdb.TYPE_CODE_ARRAY:
        return {"leaves": leaves(value, 0, [])}
    return {"value": int(value), "size": kind.sizeof}


def main():
    with open(os.environ["ADDRESSES"], encoding="ascii") as file:
        addresses = [int(line) for line in file]
    with open(os.environ["ANSWERS"], "w", encoding="ascii") as out:
        for address in addresses:
            gdb.execute(f"monitor {address:#x}", to_string=True)
            gdb.execute("maintenance flush register-cache", to_string=True)
            frame = gdb.newest_frame()
            assert frame.pc() == address
            for name, symbol in symbols_at(address).items():
                # Should gdb crash, this is what it crashed at.
                crashed = json.dumps({"at": address, "name": name, "none": "gdb crashed"})
                at = out.tell()
                out.write(crashed + "\n")
                out.flush()
                try:
                    line = answer(symbol, frame)
                except gdb.error as error:
                    line = {"none": str(error)}
                out.seek(at)
                out.truncate()
                out.write(json.dumps({"at": address, "name": name, **line}) + "\n")


main()
