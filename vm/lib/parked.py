# SPDX-License-Identifier: GPL-2.0
"""A vCPU stands still at an instruction of the DCR, the detour or the int3 path while another one
attaches or detaches, phase by phase; then it goes on.

    parked.py TOP KERNEL [--seconds S] [--seed N] [--stride N] [--sites N]
              [--only REGEX] [--rounds N]

A cell is (site, operation, parked instruction, phase). Phases are the writes and core syncs of the
patch protocol, in the order in which the operation makes them, and the operation's end. In each
cell the parked CPU continues while the patcher stands at that phase. It must behave as if nobody
had patched: same live registers behind the DCR, same result of the call; the handler's count must be
right; nothing in the detour may change under it; and where it stands with interrupts off, no core
sync may end before it has gone on.
"""

import argparse
import itertools
import random
import re
import sys
import time
import typing

from gdbstub import REGISTERS
from parked_guest import (ATTACH, AUTO, DETACH, EXPLAIN, INT3, PATCHER, QUERY, SETTLE, VICTIM,
                          PATIENCE, Failure, Guest)  # fmt: skip

PHASES = ("djprobe:djk_text_write", "djprobe:djk_text_sync")
# Only the victim comes by here.
FUNCTIONS = (
    "__x64_sys_getpgid do_getpgid __x64_sys_getsid __x64_sys_getpriority __do_sys_getpriority "
    "__x64_sys_sched_getscheduler __x64_sys_sched_getparam __x64_sys_getrlimit "
    "__do_sys_getrlimit do_prlimit"
).split()
RCU = ("__rcu_read_lock", "__rcu_read_unlock")
CALLS = 6
TACTICS = ("window", "slide", "springboard")
FLAGS = 0xCC5  # of, df, sf, zf, pf, cf
INTERRUPTS = 0x200
OPTIMIZED, JUMP, BRANCH_INTO_REGION = 3, 2, 66  # of uapi/
PUSHF = 0x9C
NEXT = 6  # bytes of what runs next that certainly belong to the slot; behind it may be another's
DETOUR = 768  # bytes: more than any slot


class Site:
    def __init__(self, name, call, trace, at, guest):
        self.name, self.call = name, call
        self.address = trace[at]
        self.tactic = TACTICS[guest["tactic"]]
        self.anchor, self.length = guest["anchor"], guest["region_len"]
        region = range(self.anchor, self.anchor + self.length)
        self.inside = [pc for pc in trace if pc in region]
        # Behind a call: what it calls, others call, too.
        own = [pc for pc in trace[at:] if guest.function_of(pc) in FUNCTIONS and pc not in region]
        self.landmark = own[0] if own else None
        self.locks = tuple(guest.symbols.get(name, (0,))[0] for name in RCU)
        self.before = trace[:at]
        # A loop would come by twice.
        self.usable = (
            bool(own)
            and trace.count(self.landmark) == 1
            and all(trace.count(pc) == 1 for pc in self.inside)
        )
        self.reference = {}
        self.paths = {}

    def reads(self, steps):
        """Is who has come so far an RCU reader, for whom operations wait?"""
        lock, unlock = self.locks
        way = self.before + steps
        return way.count(lock) > way.count(unlock)


class Station(typing.NamedTuple):
    """An instruction to be parked at. Slots move from attach to attach: what lies in one is found
    from the last instruction before, whose address is known."""

    label: str
    rip: int
    rsp: int  # None: any
    steps: int
    handled: bool  # the handler has certainly run
    interrupts: bool
    reader: bool


class Torture:
    def __init__(self, guest, stride):
        self.guest, self.stub = guest, guest.stub
        self.stride = stride
        self.phases = {guest.symbols[name][0]: name.rsplit("_", 1)[1] for name in PHASES}
        self.outcomes = {}
        self.failures = []

    # Driving the victim.

    def to(self, address, number, what):
        """The victim makes its call up to `address`."""
        self.guest.call(number)
        self.stub.set_breakpoint(address)
        try:
            self.reach(address, what)
        finally:
            self.stub.clear_breakpoint(address)

    def reach(self, address, what, sp=None):
        """Only the victim's vCPU runs, until it is at `address`. Should it have to wait for the
        patcher's, that one takes its interrupts: at a phase it goes no further."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            met = self.stub.run(VICTIM, 0.3, self.guest.called)
            if met is None and not self.guest.called():
                self.stub.run(PATCHER, 0.01)
            elif met == VICTIM:
                registers = self.stub.registers(VICTIM)
                if registers["rip"] == address and sp in (None, registers["rsp"]):
                    return registers
                self.stub.step(VICTIM)
            if self.guest.called():
                raise Failure(f"{what}: the call has ended elsewhere")
        raise Failure(f"{what}: not reached")

    def return_from_call(self):
        """The victim's vCPU alone, then, if it needs the others, all."""
        if self.stub.run(VICTIM, 0.3, self.guest.called) is not None:
            raise Failure("a breakpoint that nobody expects")
        if not self.guest.called():
            self.guest.finish(self.guest.called, "the parked call")

    def trace(self, end, limit=30000):
        """Where the victim goes from here to `end`: (rip, rsp, interrupts on)."""
        steps = []
        while len(steps) < limit:
            registers = self.stub.registers(VICTIM)
            if end(registers):
                return steps
            steps.append((registers["rip"], registers["rsp"], registers["eflags"] & INTERRUPTS))
            self.stub.step(VICTIM)
        raise Failure(f"{limit} steps, and no end")

    # Choosing sites.

    def find_sites(self, per_tactic):
        guest = self.guest
        found = {}
        for number in range(CALLS):
            start = self.entry_of(number)
            if start is None or all(len(found.get(tactic, ())) == per_tactic for tactic in TACTICS):
                continue
            self.to(start, number, f"call {number}")
            trace = [rip for rip, _, _ in self.trace(lambda r: r["rip"] < 1 << 63)]
            self.return_from_call()
            for at, pc in enumerate(trace):
                name = guest.function_of(pc)
                if name not in FUNCTIONS or trace.count(pc) != 1:
                    continue
                guest.ask(EXPLAIN, address=pc)
                guest.finish(guest.answered, "explain")
                if guest["error"] or guest["verdict"] != JUMP:
                    continue
                start = guest.symbols[name][0]
                site = Site(f"{name}+{pc - start:#x}", number, trace, at, guest)
                known = found.setdefault(site.tactic, {})
                if pc not in site.inside:  # a function's first byte stands for its entry
                    continue
                # Regions of one, two and more instructions are different cases.
                kind = (min(len(site.inside), 3), site.inside.index(pc))
                if site.usable and kind not in known and len(known) < per_tactic:
                    known[kind] = site
        sites = [site for known in found.values() for site in known.values()]
        for site in sites:
            self.learn_registers(site)
        return sites

    def entry_of(self, number):
        names = ("__x64_sys_getpgid", "__x64_sys_getsid", "__x64_sys_getpriority",
                 "__x64_sys_sched_getscheduler", "__x64_sys_sched_getparam",
                 "__x64_sys_getrlimit")  # fmt: skip
        return self.guest.symbols.get(names[number], (None,))[0]

    def learn_registers(self, site):
        """What the registers hold behind the DCR when nobody has patched anything."""
        seen = []
        for _ in range(3):
            self.to(site.landmark, site.call, site.name)
            seen.append(self.stub.registers(VICTIM))
            self.return_from_call()
            site.result = self.guest["victim_result"]
        site.reference = {
            name: seen[0][name]
            for name in REGISTERS
            if all(registers[name] == seen[0][name] for registers in seen)
        }
        site.flags = seen[0]["eflags"] & FLAGS

    # The operations: what must be there before, what the patcher does, where to park.

    def prepare(self, operation, site):
        if operation in ("hold", "detach"):
            self.optimize(site)
        elif operation == "disarm":
            self.guest.patch(ATTACH, slot=0, address=site.address, mode=INT3)
        elif operation == "optimize":
            self.guest.patch(ATTACH, slot=0, address=site.address, mode=AUTO)
            self.guest.patch(ATTACH, slot=1, address=site.address, mode=INT3)

    def optimize(self, site):
        """A springboard is free again only some time after the detach."""
        for _ in range(20):
            self.guest.patch(ATTACH, slot=0, address=site.address, mode=AUTO)
            self.guest.patch(SETTLE, slot=0)
            if self.guest["state"] == OPTIMIZED:
                return
            self.guest.patch(DETACH, slot=0)
            self.stub.run(seconds=0.3)
        raise Failure(f"{site.name}: no jump, reason {self.guest['reason']}")

    def begin(self, operation, site):
        if operation == "attach":
            self.guest.ask(ATTACH, slot=0, address=site.address, mode=AUTO)
        elif operation == "hold":
            self.guest.ask(ATTACH, slot=1, address=site.address, mode=INT3)
        elif operation in ("detach", "disarm"):
            self.guest.ask(DETACH, slot=0)
        else:
            self.guest.ask(DETACH, slot=1)

    def clean(self):
        for slot in (0, 1):
            self.guest.patch(DETACH, slot=slot)

    def stations(self, operation, site):
        """Where the victim may be parked."""
        if operation == "attach":
            return [Station(f"dcr+{pc - site.anchor:#x}", pc, None, 0, False, True, site.reads([]))
                    for pc in site.inside]  # fmt: skip
        jump = operation in ("hold", "detach")
        steps = self.path(site, jump)
        if jump:
            # A springboard is a stop on the way, and moves, too.
            entry = next(rip for rip, _, _ in steps[1:] if abs(rip - site.address) > 4096)
            moving = [abs(rip - entry) < DETOUR for rip, _, _ in steps]
            moving[1 : moving.index(True)] = [True] * (moving.index(True) - 1)
        else:
            # Behind the iret: the instruction out of line.
            last = max(i for i, step in enumerate(steps) if not step[2])
            moving = [i > last for i in range(len(steps))]
        handled = len(moving) - moving[::-1].index(False) if jump else len(steps)
        stations = []
        base = 0
        for at, (rip, rsp, on) in enumerate(steps):
            if not moving[at]:
                base = at
            if not jump:
                label = f"out-of-line[{at - last}]" if moving[at] else f"int3[{at}]"
                chosen = moving[at] or at < 2 or at == last or at % (self.stride or 300) == 0
            elif moving[at]:
                near = abs(rip - entry) < DETOUR
                label, chosen = f"detour+{rip - entry:#x}" if near else "board", True
            else:
                label, chosen = f"handler[{at}]", self.stride and at % self.stride == 0
            if chosen:
                reader = site.reads([pc for pc, _, _ in steps[: at + 1]])
                stations.append(Station(label, *steps[base][:2], at - base, jump and at >= handled,
                                        bool(on), reader))  # fmt: skip
        return stations

    def path(self, site, jump):
        """All that a CPU runs from the site to the landmark, by jump or by int3."""
        if jump not in site.paths:
            self.prepare("detach" if jump else "disarm", site)
            first = site.anchor if jump and site.tactic != "springboard" else site.address
            self.to(first, site.call, site.name)
            steps = site.paths[jump] = self.trace(lambda r: r["rip"] == site.landmark)
            if jump:
                # What is dead behind the DCR a detour need not keep.
                after = self.stub.registers(VICTIM)
                site.kept = [n for n, value in site.reference.items() if after[n] == value]
                slot = next(rip for rip, _, _ in steps[1:] if abs(rip - site.address) > 4096)
                site.keeps_flags = any(
                    self.stub.read(VICTIM, rip, 1)[0] == PUSHF
                    for rip, _, _ in steps
                    if abs(rip - slot) < DETOUR
                )
            self.return_from_call()
            self.clean()
        return site.paths[jump]

    # One cell.

    def drive(self, wanted, patience):
        """The patcher runs up to its `wanted`th phase (0: to the end); the parked vCPU only takes
        its interrupts. The phase's name, "end", or None: the patcher waits for the parked CPU."""
        seen, idle = 0, 0
        while idle < patience:
            met = self.stub.run(PATCHER, 0.004, self.guest.answered)
            if met == PATCHER:
                name = self.phases.get(self.stub.registers(PATCHER)["rip"])
                if name:
                    seen += 1
                    idle = 0
                    if seen == wanted:
                        return name
                self.stub.step(PATCHER)
                continue
            if self.guest.answered():
                return "end"
            idle += 1
            self.stub.run(VICTIM, 0.01)
        return None

    def wait_for_optimizer(self):
        """It gets its chance, and must not use it."""
        for _ in range(6):
            self.stub.run(PATCHER, 0.01)
            self.stub.run(VICTIM, 0.01)

    def cell(self, operation, site, station, wanted):
        guest, stub = self.guest, self.stub
        where = cell_name(operation, site, station, wanted)
        self.prepare(operation, site)
        before = guest.count()
        guest.call(site.call)
        stub.set_breakpoint(station.rip)
        self.reach(station.rip, where, station.rsp)
        stub.clear_breakpoint(station.rip)
        for _ in range(station.steps):
            stub.step(VICTIM)
        rip = stub.registers(VICTIM)["rip"]
        stub.set_breakpoint(rip)
        here = stub.read(VICTIM, rip, NEXT)
        for address in self.phases:
            stub.set_breakpoint(address)
        self.begin(operation, site)
        waits = not station.interrupts or station.reader
        phase = self.drive(wanted, 20 if waits else 600)
        if operation in ("attach", "optimize") and phase == "end":
            self.wait_for_optimizer()
        problems = []
        if phase == "end" and operation in ("detach", "disarm", "hold") and not station.interrupts:
            problems.append("the operation has ended though a CPU in the int3 path did not answer")
        if phase is None and not waits:
            problems.append("the patcher waits for a CPU that takes its interrupts")
        if station.label.startswith(("detour", "out")) and stub.read(VICTIM, rip, NEXT) != here:
            problems.append("the detour has changed under the parked CPU")
        if operation in ("attach", "optimize") and stub.read(PATCHER, site.anchor, 1)[0] in (0xE9, 0xEB):
            problems.append("there is a jump although a task stands inside")
        armed = stub.read(PATCHER, site.address, 1)[0] == 0xCC
        # It goes on, the patcher still stands.
        stub.clear_breakpoint(rip)
        if rip != site.landmark:
            stub.set_breakpoint(site.landmark)
            registers = self.reach(site.landmark, f"{where}: behind the DCR")
            stub.clear_breakpoint(site.landmark)
            jump = operation in ("hold", "detach")
            names = site.kept if jump else site.reference
            different = [n for n in names if registers[n] != site.reference[n]]
            flags = registers["eflags"] & FLAGS
            if flags != site.flags and (site.keeps_flags or not jump):
                different.append("eflags")
            if different:
                problems.append("registers behind the DCR differ: " + " ".join(different))
        for address in self.phases:
            stub.clear_breakpoint(address)
        self.return_from_call()
        guest.finish(guest.answered, f"{where}: the operation")
        if guest["error"]:
            problems.append(f"the operation failed: errno {-guest['error']}")
        if guest["victim_result"] != site.result or guest["wrong"]:
            problems.append(f"the call returned {guest['victim_result']}, not {site.result}")
        counted = guest.count() - before
        if operation == "attach":
            right = {1} if armed and rip <= site.address else {0}
        elif operation == "hold":
            right = {1, 2}  # the second probe may already have come
        elif operation == "optimize":
            right = {1, 2}  # the second probe may already have gone
        else:
            right = {1} if station.handled else {0, 1}
        if counted not in right:
            problems.append(f"counted {counted}, not {sorted(right)}")
        self.check_after(operation, site, problems)
        self.clean()
        return ("ok" if phase else "ok, waits") if not problems else "; ".join(problems)

    def check_after(self, operation, site, problems):
        """Whoever comes later is counted as if nothing had been."""
        guest = self.guest
        live = operation in ("attach", "hold", "optimize")
        if operation in ("attach", "optimize"):
            guest.patch(SETTLE, slot=0)
            # The board of the probe before this one may not be free yet.
            taken = site.tactic == "springboard" and guest["reason"] == BRANCH_INTO_REGION
            if guest["state"] != OPTIMIZED and not taken:
                problems.append(f"no jump in the end: state {guest['state']}, reason {guest['reason']}")
        before = guest.count()
        for _ in range(2):
            guest.call(site.call)
            guest.finish(guest.called, "a call afterwards")
            if guest["victim_result"] != site.result or guest["wrong"]:
                problems.append("a later call went wrong")
        right = 0 if not live else 4 if operation == "hold" else 2
        if guest.count() - before != right:
            problems.append(f"2 later calls counted {guest.count() - before}")
        if live:
            guest.patch(QUERY, slot=0)
            if guest["missed"]:
                problems.append(f"missed {guest['missed']}")

    def phases_of(self, operation, site):
        """How many phases the operation has when nobody is in its way."""
        self.prepare(operation, site)
        for address in self.phases:
            self.stub.set_breakpoint(address)
        self.begin(operation, site)
        names = []
        while not self.guest.answered():
            cpu = self.stub.run(seconds=5, until=self.guest.answered)
            if cpu is not None:
                names.append(self.phases[self.stub.registers(cpu)["rip"]])
                self.stub.step(cpu)
        for address in self.phases:
            self.stub.clear_breakpoint(address)
        self.clean()
        return names


def cell_name(operation, site, station, wanted):
    return f"{site.name} {operation} {station.label} phase {wanted}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("top")
    parser.add_argument("kernel")
    parser.add_argument("--seconds", type=float, default=0, help="of cells; 0: all of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stride", type=int, default=0, help="every Nth instruction of the handler's path; 0: few")
    parser.add_argument("--sites", type=int, default=3, help="of each tactic")
    parser.add_argument("--only", default="", help="regular expression: SITE OPERATION INSTRUCTION")
    parser.add_argument("--rounds", type=int, default=1, help="so often the same cells")
    options = parser.parse_args()

    guest = None
    current, done = "none yet", 0
    try:
        guest = Guest(options.kernel, [*PHASES, *FUNCTIONS, *RCU], options.top)
        sys.stdout.reconfigure(line_buffering=True)
        missing = [name for name in PHASES if name not in guest.symbols]
        if missing:
            raise Failure(f"no function {' '.join(missing)} in the module: see PHASES")
        torture = Torture(guest, options.stride)
        sites = torture.find_sites(options.sites)
        groups = []
        for site in sites:
            print(f"site {site.name}: {site.tactic}, {len(site.inside)} instructions, DCR {site.length} bytes")
            for operation in ("attach", "hold", "detach", "disarm", "optimize"):
                names = torture.phases_of(operation, site)
                # The jump's writes come after the quiescence, which waits for the parked task.
                wanted = range(1, len(names) + 1) if operation != "optimize" else ()
                if operation == "attach":
                    wanted = range(1, 3)
                groups.append([(operation, site, station, phase, names)
                               for station in torture.stations(operation, site)
                               for phase in (*wanted, 0)])  # fmt: skip
        # Whatever the time allows, it is some of each.
        dice = random.Random(options.seed)
        for group in groups:
            dice.shuffle(group)
        cells = [cell for row in itertools.zip_longest(*groups) for cell in row if cell]
        only = re.compile(options.only)
        cells = [c for c in cells if only.search(f"{c[1].name} {c[0]} {c[2].label}")] * options.rounds
        deadline = time.monotonic() + options.seconds if options.seconds else None
        table, failed = {}, 0
        for operation, site, station, phase, names in cells:
            if deadline and time.monotonic() > deadline:
                break
            current = cell_name(operation, site, station, phase)
            outcome = torture.cell(operation, site, station, phase)
            done += 1
            failed += not outcome.startswith("ok")
            row = table.setdefault((site.name, operation, station.label), {})
            row[phase] = f"{names[phase - 1]}{phase}" if phase else "end", outcome
        for (site, operation, label), row in sorted(table.items()):
            text = ", ".join(f"{row[p][0]}: {row[p][1]}" for p in sorted(row, key=lambda p: p or 99))
            print(f"{site} {operation} {label}: {text}")
        print(f"{done} of {len(cells)} cells, seed {options.seed}, {failed} failed")
        return 1 if failed or not done else 0
    except Failure as failure:
        print(f"parked: {failure}", file=sys.stderr)
        return 1
    except (EOFError, ConnectionError) as lost:
        print(f"parked: {lost} in cell {done} ({current})", file=sys.stderr)
        guest.last_words()
        return 1
    finally:
        if guest:
            guest.close()


sys.exit(main())
