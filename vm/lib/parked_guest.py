# SPDX-License-Identifier: GPL-2.0
"""The VM of parked.py and coming.py: the guest's program, its shared page, its symbols."""

import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time

from gdbstub import Stub

VICTIM, PATCHER = 0, 1  # vCPUs
ATTACH, DETACH, QUERY, SETTLE, EXPLAIN, COUNT, END = range(1, 8)
AUTO, INT3 = 0, 1
MEMORY = 1024  # MiB
PATIENCE = 120  # seconds for what takes milliseconds, on a machine that has other work

# Offset and format in struct ParkedControl, see guest/torture/parked.h.
FIELDS = {
    "magic": (0, "Q"), "victim_go": (8, "I"), "victim_done": (12, "I"), "call": (16, "I"),
    "wrong": (20, "I"), "victim_result": (24, "q"), "patcher_go": (32, "I"),
    "patcher_done": (36, "I"), "op": (40, "I"), "slot": (44, "I"), "mode": (48, "I"),
    "error": (52, "i"), "address": (56, "Q"), "count": (64, "Q"), "hits": (72, "Q"),
    "missed": (80, "Q"), "state": (88, "I"), "mechanism": (92, "I"), "reason": (96, "I"),
    "tactic": (100, "I"), "anchor": (104, "Q"), "region_len": (112, "I"), "verdict": (116, "I"),
}  # fmt: skip
MAGIC = 0x64656B7261706A64


class Failure(Exception):
    pass


def run(name, kernel, symbols, folder, test, cpus=2):
    """test(guest) in a guest of its own: the process' exit status."""
    guest = None
    try:
        guest = Guest(kernel, symbols, folder, cpus)
        status = test(guest)
        guest.end()
        return status
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        return 1
    except (EOFError, ConnectionError) as lost:
        print(f"{name}: {lost} in {guest.doing}", file=sys.stderr)
        guest.last_words()
        return 1
    finally:
        if guest:
            guest.close()


class Guest:
    def __init__(self, kernel, symbols, folder, cpus=2):
        self.folder = tempfile.TemporaryDirectory()
        self.doing = "the beginning"  # for the message, should QEMU go away
        # How long a vCPU's turn is. Within a shorter one an interrupt does not end there.
        self.pace = 20 if kernel == "debug" else 1
        ram = os.path.join(self.folder.name, "ram")
        gdb = os.path.join(self.folder.name, "gdb")
        command = [os.path.join(folder, "vm", "run"), "--kernel", kernel, "--accel",
                   "tcg,thread=single", "--cpus", str(cpus), "--mem", str(MEMORY), "--timeout", "14400"]  # fmt: skip
        # The stubs' breakpoints are QEMU's own: no byte of the text changes.
        for arg in ("-gdb", f"unix:{gdb},server=on,wait=off",
                    "-object", f"memory-backend-file,id=ram,size={MEMORY}M,mem-path={ram},share=on",
                    "-machine", "memory-backend=ram"):  # fmt: skip
            command += ["--qemu", arg]
        # The stack's depth is compared from call to call; a vCPU that stands still is no lockup.
        command += ["--append", "randomize_kstack_offset=off nowatchdog rcupdate.rcu_expedited=1",
                    "--add", os.path.join(folder, "build/vm/parked"), "--",
                    "sh", "-c",
                    "echo 2 >/sys/devices/virtual/workqueue/cpumask; exec ./parked \"$@\"",
                    "parked", *symbols]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.symbols = {}
        page = None
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "control":
                page = int(words[1], 16)
            elif words[0] == "symbol":
                self.symbols[words[1]] = (int(words[2], 16), int(words[3], 16))
            elif words[0] == "ready":
                break
        else:
            raise Failure(f"the guest did not come up: vm/run ended with {self.process.wait()}")
        with open(ram, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 4096, offset=page)
        if self["magic"] != MAGIC:
            raise Failure("the shared page is not where the guest says")
        self.stub = Stub(gdb)

    def end(self):
        """As any guest's command does, for vm/run to look at the console."""
        self.doing = "the end"
        self.ask(END)
        self.stub.detach()
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure("the guest does not end") from None
        if status:
            raise Failure(f"vm/run ended with {status}")

    def close(self):
        self.process.terminate()
        self.process.wait()

    def last_words(self):
        """QEMU has gone: vm/run says why, with the console, and so ends."""
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            print("parked: QEMU has closed its gdbstub and goes on", file=sys.stderr)

    def __getitem__(self, field):
        offset, kind = FIELDS[field]
        return struct.unpack_from("<" + kind, self.memory, offset)[0]

    def __setitem__(self, field, value):
        offset, kind = FIELDS[field]
        struct.pack_into("<" + kind, self.memory, offset, value)

    def function_of(self, address):
        for name, (start, end) in self.symbols.items():
            if start <= address < end:
                return name
        return None

    # The two threads.

    def call(self, number):
        """Lets the victim begin a call; it runs when its vCPU does."""
        self["call"] = number
        self["victim_go"] += 1

    def called(self):
        return self["victim_done"] == self["victim_go"]

    def ask(self, operation, **fields):
        """Lets the patcher begin an operation."""
        for name, value in {**fields, "op": operation}.items():
            self[name] = value
        self["patcher_go"] += 1

    def answered(self):
        return self["patcher_done"] == self["patcher_go"]

    def finish(self, done, what, seconds=PATIENCE):
        """All vCPUs run until `done()`."""
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                raise Failure(f"{what}: no end")
            if self.stub.run(seconds=1, until=done) is not None:
                raise Failure(f"{what}: an unexpected breakpoint")

    def patch(self, operation, **fields):
        """A whole operation of the patcher."""
        self.ask(operation, **fields)
        self.finish(self.answered, f"operation {operation}")
        if self["error"]:
            raise Failure(f"operation {operation} {fields}: errno {-self['error']}, "
                          f"reason {self['reason']}")  # fmt: skip

    def count(self):
        self.patch(COUNT)
        return self["count"]
