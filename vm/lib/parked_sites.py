# SPDX-License-Identifier: GPL-2.0
"""The sites of a parked-CPU run, taken from what the victim's calls really run, and the instructions
of each at which it may be parked."""

import typing

from gdbstub import REGISTERS
from parked_guest import EXPLAIN, VICTIM

# Only the victim comes by here.
FUNCTIONS = (
    "__x64_sys_getpgid do_getpgid __x64_sys_getsid __x64_sys_getpriority __do_sys_getpriority "
    "__x64_sys_sched_getscheduler __x64_sys_sched_getparam __x64_sys_getrlimit "
    "__do_sys_getrlimit do_prlimit"
).split()
# Where call 0, 1, ... of the victim begins.
ENTRIES = (
    "__x64_sys_getpgid __x64_sys_getsid __x64_sys_getpriority __x64_sys_sched_getscheduler "
    "__x64_sys_sched_getparam __x64_sys_getrlimit"
).split()
RCU = ("__rcu_read_lock", "__rcu_read_unlock")
TACTICS = ("window", "slide", "springboard")
FLAGS = 0xCC5  # of, df, sf, zf, pf, cf
JUMP = 2  # of uapi/
PUSHF = 0x9C
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


class Sites:
    def __init__(self, victim, operations, stride):
        self.victim, self.operations, self.stride = victim, operations, stride
        self.guest, self.stub = victim.guest, victim.stub

    def find(self, per_tactic):
        guest = self.guest
        found = {}
        for number, entry in enumerate(ENTRIES):
            start = guest.symbols.get(entry, (None,))[0]
            if start is None or all(len(found.get(tactic, ())) == per_tactic for tactic in TACTICS):
                continue
            self.victim.to(start, number, f"call {number}")
            trace = [rip for rip, _, _ in self.victim.trace(lambda r: r["rip"] < 1 << 63)]
            self.victim.return_from_call()
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

    def learn_registers(self, site):
        """What the registers hold behind the DCR when no patch is in the text."""
        seen = []
        for _ in range(3):
            self.victim.to(site.landmark, site.call, site.name)
            seen.append(self.stub.registers(VICTIM))
            self.victim.return_from_call()
            site.result = self.guest["victim_result"]
        site.reference = {
            name: seen[0][name]
            for name in REGISTERS
            if all(registers[name] == seen[0][name] for registers in seen)
        }
        site.flags = seen[0]["eflags"] & FLAGS

    def path(self, site, jump):
        """All that a CPU runs from the site to the landmark, by jump or by int3."""
        if jump not in site.paths:
            self.operations.prepare("detach" if jump else "disarm", site)
            first = site.anchor if jump and site.tactic != "springboard" else site.address
            self.victim.to(first, site.call, site.name)
            steps = site.paths[jump] = self.victim.trace(lambda r: r["rip"] == site.landmark)
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
            self.victim.return_from_call()
            self.operations.clean()
        return site.paths[jump]

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
