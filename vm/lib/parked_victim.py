# SPDX-License-Identifier: GPL-2.0
"""The victim of a parked-CPU run: its calls, run by the debugger up to an address or step by step."""

import time

from parked_guest import PATCHER, PATIENCE, VICTIM, Failure

INTERRUPTS = 0x200


class Victim:
    def __init__(self, guest):
        self.guest, self.stub = guest, guest.stub

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
            raise Failure("an unexpected breakpoint")
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
