# SPDX-License-Identifier: GPL-2.0
"""A cell of a parked-CPU run: the patcher goes on to its phase while the victim stands at a station;
then the victim goes on."""

import time

from parked_guest import PATCHER, PATIENCE, QUERY, SETTLE, VICTIM
from parked_operations import OPTIMIZED
from parked_sites import FLAGS

BRANCH_INTO_REGION = 66  # of uapi/
ROUNDS = 20  # without a step of the patcher: it waits
NEXT = 6  # bytes of what runs next that certainly belong to the slot; behind it may be another's


def cell_name(operation, site, station, wanted):
    return f"{site.name} {operation} {station.label} phase {wanted}"


class Cells:
    def __init__(self, victim, operations):
        self.victim, self.operations = victim, operations
        self.guest, self.stub = victim.guest, victim.stub
        self.phases = operations.phases

    def drive(self, wanted, waits):
        """The patcher runs up to its `wanted`th phase (0: to the end); the parked vCPU only takes
        its interrupts. The phase's name, "end", or None: the patcher waits for the parked CPU,
        which it may (`waits`) or may not."""
        seen, idle = 0, 0
        # Who may not wait is given what anything may take on a machine that has other work.
        deadline = time.monotonic() + PATIENCE
        while idle < ROUNDS if waits else time.monotonic() < deadline:
            met = self.stub.run(PATCHER, 0.004 * self.guest.pace, self.guest.answered)
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
            self.stub.run(VICTIM, 0.01 * self.guest.pace)
        return None

    def wait_for_optimizer(self):
        """It gets its chance, and must not use it."""
        for _ in range(6):
            self.stub.run(PATCHER, 0.01)
            self.stub.run(VICTIM, 0.01 * self.guest.pace)

    def run(self, operation, site, station, wanted):
        guest, stub, operations = self.guest, self.stub, self.operations
        where = cell_name(operation, site, station, wanted)
        operations.prepare(operation, site)
        before = guest.count()
        guest.call(site.call)
        stub.set_breakpoint(station.rip)
        self.victim.reach(station.rip, where, station.rsp)
        stub.clear_breakpoint(station.rip)
        for _ in range(station.steps):
            stub.step(VICTIM)
        rip = stub.registers(VICTIM)["rip"]
        stub.set_breakpoint(rip)
        here = stub.read(VICTIM, rip, NEXT)
        for address in self.phases:
            stub.set_breakpoint(address)
        operations.begin(operation, site)
        waits = not station.interrupts or station.reader
        phase = self.drive(wanted, waits)
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
            registers = self.victim.reach(site.landmark, f"{where}: behind the DCR")
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
        self.victim.return_from_call()
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
        operations.clean()
        return ("ok" if phase else "ok, waits") if not problems else "; ".join(problems)

    def check_after(self, operation, site, problems):
        """A later hit is counted as if nothing had been."""
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
