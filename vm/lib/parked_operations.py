# SPDX-License-Identifier: GPL-2.0
"""What the patcher of a parked-CPU run does to a site: what must be there before, the operation,
and how many phases it has when no CPU is in its way."""

from parked_guest import ATTACH, AUTO, DETACH, INT3, SETTLE, Failure

OPERATIONS = ("attach", "hold", "detach", "disarm", "optimize")
PHASES = ("djprobe:djk_text_write", "djprobe:djk_text_sync")
OPTIMIZED = 3  # of uapi/


class Operations:
    def __init__(self, guest):
        self.guest, self.stub = guest, guest.stub
        self.phases = {guest.symbols[name][0]: name.rsplit("_", 1)[1] for name in PHASES}

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

    def phases_of(self, operation, site):
        """How many phases the operation has when no CPU is in its way."""
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
