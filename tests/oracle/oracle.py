#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Check every claim of the analysis about a kernel by brute force.

    oracle.py VMLINUX KALLSYMS CLAIMS [DISASSEMBLY]

Knows nothing of the analysis: instruction boundaries, branches and calls come from objdump, tables
from the ELF file. One byte of a map per byte of text says what is there; a claim holds when its
bytes are clean. CLAIMS has lines "TACTIC IA ANCHOR LENGTH BOARD" (tests/oracle/claims.cc).
DISASSEMBLY is the output of `objdump -d -w --no-show-raw-insn VMLINUX`, which is run when it is not
given. Prints totals and the first violations of each kind; exit status 1 if there are any.
"""
import collections
import re
import struct
import subprocess
import sys

SHOWN = 5
INT3 = 0xCC
ALWAYS_LEAVES = ("jmp", "ret", "jmpq", "retq")
NOT_MOVABLE = ("endbr64", "endbr32", "ud0", "ud1", "ud2", "int", "int1", "int3", "hlt", "iret",
               "iretq", "sysret", "sysretq", "sysretl", "syscall", "sysenter", "sysexit", "swapgs",
               "mwait", "xbegin", "xend", "xabort", "lret", "lcall", "ljmp", "vmlaunch", "vmresume",
               "encls", "enclu", "enclv", "rsm", "(bad)")

# Pointers to calls that boot replaces, once and before there are probes: no code jumps there.
BOOT_PATCHES = (".parainstructions",)


class Elf:
    """What is needed of an ELF64 file: sections by name, bytes by address."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        offset, = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<3H", self.data, 0x3A)
        raw = [struct.unpack_from("<IIQQQQ", self.data, offset + i * size) for i in range(count)]
        strings = raw[names][4]
        self.sections = []
        for name, kind, flags, address, at, length in raw:
            end = self.data.index(b"\0", strings + name)
            self.sections.append(
                (self.data[strings + name : end].decode(), kind, flags, address, at, length))

    def section(self, wanted):
        """Address and bytes, or None."""
        for name, kind, _, address, at, length in self.sections:
            if name == wanted and kind != 8:
                return address, self.data[at : at + length]
        return None

    def read(self, begin, end):
        for _, kind, flags, address, at, length in self.sections:
            if flags & 2 and kind != 8 and address <= begin and end <= address + length:
                return self.data[at + begin - address : at + end - address]
        sys.exit(f"oracle.py: the file does not hold {begin:#x}..{end:#x}")


class Text:
    """Maps over [_stext, _etext): one byte per byte."""

    def __init__(self, begin, end):
        self.begin, self.end = begin, end
        size = end - begin + 64
        self.start = bytearray(size)     # an instruction begins
        self.arrival = bytearray(size)   # control may arrive other than by falling through
        self.owned = bytearray(size)     # a table names the instruction, or it cannot move
        self.call_end = bytearray(size)  # where a call returns to
        self.leave_end = bytearray(size) # behind an instruction that never continues
        self.symbol = bytearray(size)    # a symbol begins
        self.dead = bytearray(size)      # padding behind an instruction that never continues
        self.no_site = bytearray(size)   # nothing may be probed
        self.why = {}                    # arrivals and owners, to tell the reader

    def inside(self, address):
        return self.begin <= address < self.end

    def arrive(self, target, why):
        if self.begin <= target < self.end:
            self.arrival[target - self.begin] = 1
            self.why[target] = why

    def own(self, begin, end, why):
        if self.begin <= begin < self.end:
            for at in range(begin - self.begin, end - self.begin):
                self.owned[at] = 1
            self.why[begin] = why


def read_symbols(path, text_of):
    symbols, starts = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if len(fields) == 3:
                address = int(fields[0], 16)
                symbols.setdefault(fields[2], address)
                starts.append(address)
    text = text_of(symbols)
    for address in starts:
        if text.inside(address):
            text.symbol[address - text.begin] = 1
    return symbols, text


def read_code(lines, text, data):
    """Boundaries, branches and kinds of instructions, in the order of addresses."""
    begin, end = text.begin, text.end
    # A ud2 with a signature behind it asks Xen or KVM to emulate what follows: for them one
    # instruction, for objdump several.
    swallowed = {begin + found.start() + i
                 for found in re.finditer(rb"\x0f\x0b(xen|kvm)", data) for i in range(1, 6)}
    previous = None  # address and text of the last instruction, whose end is the next one's start
    dead = False     # control does not come here from before
    padding = False
    count = 0

    def finish(at, words, stop):
        nonlocal dead, padding
        name = words.partition(" ")[0]
        offset = at - begin
        inside = 0 <= offset and at < end
        if inside:
            text.start[offset] = 1
            if text.symbol[offset]:
                dead = padding = False
        while name in ("bnd", "notrack", "data16", "cs", "ds", "es", "ss", "fs", "gs", "lock",
                       "rep", "repz", "repnz", "addr32") or name.startswith("rex"):
            rest = words.partition(" ")[2].lstrip()
            if not rest or name == "lock":
                break
            words, name = rest, rest.partition(" ")[0]
        operand = words[len(name):].strip()
        if name[0] == "j" or name[:4] in ("call", "loop") or name == "xbegin":
            if operand[0] not in "*":
                text.arrive(int(operand.split()[0], 16), f"{name} at {at:#x}")
            if inside and name[:4] == "call":
                text.call_end[offset + stop - at] = 1
        elif name[:3] == "lea" and "# " in operand:
            text.arrive(int(operand.rpartition("# ")[2].split()[0], 16), f"lea at {at:#x}")
        elif "$0x" in operand:
            value = int(operand[operand.index("$0x") + 1:].split(",")[0].split()[0], 16)
            # A 32-bit operand's constant is no address: the upper half becomes zero.
            text.arrive(value, f"constant at {at:#x}")
        if not inside:
            return
        leaves = name in ALWAYS_LEAVES
        if leaves:
            text.leave_end[offset + stop - at] = 1
        is_nop = name.startswith("nop") or words.startswith("xchg   %ax,%ax")
        if name in NOT_MOVABLE:
            text.owned[offset] = 1
        if name == "int3" or (is_nop and stop - at > 1):
            if dead:
                text.dead[offset : offset + stop - at] = b"\1" * (stop - at)
        else:
            dead = leaves or name.startswith("ud")

    for line in lines:
        # "ffffffff81000000:\tmov    %rax,%rbx"
        address, tab, words = line.partition(":\t")
        if not tab:
            if line.startswith("Disassembly"):
                if previous:
                    finish(*previous, previous[0] + 1)
                previous, dead = None, False
            continue
        at = int(address, 16)
        if at in swallowed:
            continue
        if previous:
            finish(*previous, at)
        previous = at, words.rstrip()
        count += 1
    if previous:
        finish(*previous, previous[0] + 1)
    return count


def read_tables(elf, symbols, text):
    counts = collections.Counter()

    def entries(kind, first, last, form):
        size = struct.calcsize(form)
        if first not in symbols or last not in symbols:
            sys.exit(f"oracle.py: no symbol {first}")
        begin, end = symbols[first], symbols[last]
        table = elf.read(begin, end)
        for at in range(0, len(table) - size + 1, size):
            counts[kind] += 1
            yield begin + at, struct.unpack_from(form, table, at)

    def length_at(address):
        """Of objdump's instruction there."""
        return text.start.index(1, address - text.begin + 1) + text.begin - address

    for at, (insn, fixup, _) in entries("exception entries", "__start___ex_table",
                                        "__stop___ex_table", "<iii"):
        text.own(at + insn, at + insn + 1, "exception table")
        text.arrive(at + 4 + fixup, "fixup")
    for at, (code, target, _) in entries("jump labels", "__start___jump_table",
                                         "__stop___jump_table", "<iiq"):
        if text.inside(at + code):
            text.own(at + code, at + code + length_at(at + code), "jump label")
        text.arrive(at + 4 + target, "jump label's target")
    for at, (call, _) in entries("static calls", "__start_static_call_sites",
                                 "__stop_static_call_sites", "<ii"):
        text.own(at + call, at + call + 5, "static call")
    for _, (call,) in entries("ftrace calls", "__start_mcount_loc", "__stop_mcount_loc", "<Q"):
        text.own(call, call + 5, "ftrace")
    for at, (address,) in entries("blacklisted functions", "__start_kprobe_blacklist",
                                  "__stop_kprobe_blacklist", "<Q"):
        if text.inside(address):
            mark = text.symbol.index(1, address - text.begin + 1)
            text.no_site[address - text.begin : mark] = b"\1" * (mark - address + text.begin)
    for name in ("noinstr", "entry", "kprobes", "cpuidle"):
        first = symbols.get(f"__{name}_text_start")
        last = symbols.get(f"__{name}_text_end")
        if first and last:
            text.no_site[first - text.begin : last - text.begin] = b"\1" * (last - first)
    # Lock prefixes, which a kernel that boots on one CPU rewrites.
    for at, (prefix,) in entries("lock prefixes", "__smp_locks", "__smp_locks_end", "<i"):
        text.own(at + prefix, at + prefix + 1, "smp lock")
    section = elf.section(".altinstructions")
    if section:
        address, table = section
        # Linux 6.3 widened the flags from 2 bytes to 4.
        version = re.search(rb"Linux version (\d+)\.(\d+)", elf.data)
        size = 14 if version and tuple(map(int, version.groups())) >= (6, 3) else 12
        for at in range(0, len(table), size):
            insn, = struct.unpack_from("<i", table, at)
            counts["alternatives"] += 1
            insn += address + at
            text.own(insn, insn + table[at + size - 2], "alternative")
    # Jump tables and stored labels, wherever they are: any aligned word that points into the text.
    for name, kind, flags, _, at, length in elf.sections:
        if not flags & 2 or flags & 4 or kind == 8 or name in BOOT_PATCHES:
            continue
        aligned = elf.data[at : at + (length & ~7)]
        high = struct.pack("<Q", text.begin)[5:]
        for i in range(0, len(aligned), 8):
            if aligned[i + 5 : i + 8] == high:
                value, = struct.unpack_from("<Q", aligned, i)
                if text.inside(value):
                    counts["pointers"] += 1
                    text.arrive(value, f"pointer in {name}")
    return counts


def check(claim, text, data):
    """What is wrong with a claim, or None. Offsets are within the text."""
    tactic, site, anchor, length, board = claim
    end = anchor + length
    if not (0 <= anchor <= site < end <= text.end - text.begin):
        return "not a region"
    if length > 32 or length < (2 if tactic == "B" else 5):
        return "length"
    if (anchor != site) != (tactic == "S"):
        return "anchor"
    if not text.start[anchor] or not text.start[site]:
        return "starts within an instruction"
    if not text.start[end]:
        return "ends within an instruction"
    if text.no_site[site]:
        return "blacklisted"
    if text.symbol.find(1, anchor + 1, end) >= 0:
        return "beyond the function"
    if text.arrival.find(1, anchor + 1, end) >= 0:
        return "arrival"
    last = end
    left = text.leave_end.find(1, anchor + 1, end)
    if left >= 0:
        if left <= site:
            return "site behind a leave"
        if data.count(INT3, left, end) != end - left:
            return "code behind a leave"
        last = left
    if text.owned.find(1, anchor, last) >= 0:
        return "owned"
    if text.call_end.find(1, anchor + 1, end) >= 0:
        return "call within"
    if tactic == "B":
        if not -128 <= board - (anchor + 2) <= 127:
            return "board out of reach"
        if board < end and anchor < board + 5:
            return "board in the region"
        if text.dead.find(0, board, board + 5) >= 0:
            return "board not dead"
        if data[board] == INT3 and text.leave_end[board]:
            return "board on the int3 that stops speculation"
        if text.arrival.find(1, board, board + 5) >= 0:
            return "board with arrival"
        # int3 is in `owned` as an instruction that cannot move; tables' entries tell why.
        if any(text.begin + at in text.why for at in range(board, board + 5)):
            return "board owned"
        if text.symbol.find(1, board, board + 5) >= 0:
            return "board beyond the function"
    return None


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__.split("\n\n")[1].strip())
    elf = Elf(sys.argv[1])
    symbols, text = read_symbols(
        sys.argv[2], lambda known: Text(known["_stext"], known["_etext"]))
    data = elf.read(text.begin, text.end)
    if len(sys.argv) == 5:
        with open(sys.argv[4], encoding="utf-8") as lines:
            count = read_code(lines, text, data)
    else:
        command = ["objdump", "-d", "-w", "--no-show-raw-insn", sys.argv[1]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as dump:
            count = read_code(dump.stdout, text, data)
    print(f"{count} instructions")
    for kind, number in read_tables(elf, symbols, text).items():
        print(f"{number} {kind}")

    claims, wrong = collections.Counter(), collections.defaultdict(list)
    with open(sys.argv[3], encoding="utf-8") as file:
        for line in file:
            tactic, site, anchor, length, board = line.split()
            claim = (tactic, int(site, 16) - text.begin, int(anchor, 16) - text.begin,
                     int(length, 16), int(board, 16) - text.begin)
            claims[tactic] += 1
            found = check(claim, text, data)
            if found:
                wrong[found].append((line.strip(), claim))
    print(f"{sum(claims.values())} claims: " +
          ", ".join(f"{claims[t]} {n}" for t, n in
                    (("W", "windows"), ("S", "slides"), ("B", "springboards"))))
    for kind, bad in sorted(wrong.items()):
        print(f"VIOLATION {kind}: {len(bad)}")
        for line, (_, _, anchor, length, _) in bad[:SHOWN]:
            notes = [f"+{i} {text.why[text.begin + anchor + i]}" for i in range(length)
                     if text.begin + anchor + i in text.why]
            print(f"  {line}  {'; '.join(notes)}")
    total = sum(map(len, wrong.values()))
    print(f"{total} violations")
    # No claims, no proof.
    sys.exit(1 if total or not claims else 0)


main()
