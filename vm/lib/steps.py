# SPDX-License-Identifier: GPL-2.0
"""Counts of blocks against each single instruction that the CPU executes.

    steps.py TOP KERNEL ROUNDS FUNCTION...

The guest runs a load under `probeload count --blocks`, then once more without any probe. The second
time QEMU executes one instruction at a time and tells the address of each. From these addresses
follows how often each block began, and how often control went from each block to each other. Of
djprobe's own this takes the blocks' addresses, and looks whether they are blocks: whether control
enters at their first byte only, and leaves at their end.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_right
from collections import Counter

LONGEST = 15  # bytes of an instruction
TIMEOUT = 1800
END = b"end of the trace\n"


class Function:
    """What the counters say of one, and what the trace says."""

    def __init__(self, line):
        self.name = line["function"]
        self.blocks = sorted(line["blocks"], key=lambda block: int(block["address"], 16))
        self.starts = [int(block["address"], 16) for block in self.blocks]
        self.ends = [int(block["end"], 16) for block in self.blocks]
        self.of_offset = {block["offset"]: at for at, block in enumerate(self.blocks)}
        self.entry = int(line["address"], 16)
        self.last = None  # address of the instruction before, in this function
        self.began = Counter()
        self.went = Counter()
        self.wrong = []

    def block_of(self, address):
        at = bisect_right(self.starts, address) - 1
        return at

    def step(self, address):
        """The function executes the instruction at this address."""
        last, self.last = self.last, address
        # A string instruction comes once for each turn; so does what a fault has interrupted.
        if address == last:
            return
        here = self.block_of(address)
        if address == self.starts[here]:
            self.began[here] += 1
        # Another call of the function has begun, by whomever.
        if last is None or address == self.entry:
            return
        before = self.block_of(last)
        if address == self.starts[here]:
            self.went[before, here] += 1
        elif here != before or not 0 < address - last <= LONGEST:
            self.wrong.append(f"from {last:#x} to {address:#x}, in the middle of a block")

    def compare(self):
        """(blocks, edges) that are the same; what differs is added to `wrong`."""
        blocks = edges = 0
        for at, block in enumerate(self.blocks):
            if block["count"] is None:
                continue
            blocks += 1
            if block["count"] != self.began[at]:
                self.wrong.append(
                    f"{block['offset']}: counted {block['count']}, executed {self.began[at]}"
                )
            edges += self.compare_edges(at, block)
        return blocks, edges

    def compare_edges(self, at, block):
        edges, known = 0, set()
        for successor in block["next"]:
            to = self.of_offset[successor["offset"]]
            known.add(to)
            if successor["count"] is None:
                continue
            edges += 1
            if successor["count"] != self.went[at, to]:
                self.wrong.append(
                    f"{block['offset']} to {successor['offset']}: counted {successor['count']}, "
                    f"executed {self.went[at, to]}"
                )
        for (source, to), count in self.went.items():
            if source == at and to not in known and not (
                block["leaves"] and self.blocks[to]["arrives"]
            ):
                self.wrong.append(
                    f"{block['offset']} to {self.blocks[to]['offset']}: not known, executed {count}"
                )
        return edges


class Machine:
    """A guest, the monitor of its QEMU, a line to its program, and the trace."""

    def __init__(self, top, kernel, folder, rounds, functions):
        self.trace = os.path.join(folder, "trace")
        self.paths = {name: os.path.join(folder, name) for name in ("monitor", "line")}
        os.mkfifo(self.trace)
        # The guest's clock counts instructions: at this pace a real one would tick all the time.
        command = [os.path.join(top, "vm/run"), "--kernel", kernel, "--icount",
                   "--timeout", str(TIMEOUT)]  # fmt: skip
        for option, name in (("-monitor", "monitor"), ("-serial", "line")):
            for word in (option, f"unix:{self.paths[name]},server=on,wait=off"):
                command += ["--qemu", word]
        for path in ("build/vm/known", "vm/guest/steps.sh"):
            command += ["--add", os.path.join(top, path)]
        command += ["--", "sh", "./steps.sh", rounds, *functions]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.sockets = {}

    def say(self, name, line):
        if name not in self.sockets:
            self.sockets[name] = socket.socket(socket.AF_UNIX)
            self.sockets[name].connect(self.paths[name])
        self.sockets[name].sendall(line.encode() + b"\n")

    def order(self, *lines):
        """To the monitor; back when it has done them all."""
        for line in lines:
            self.say("monitor", line)
        self.say("monitor", "info status")
        answer = b""
        while b"VM status" not in answer:
            answer += self.sockets["monitor"].recv(65536)

    def lines_until(self, last):
        for line in self.process.stdout:
            if line.rstrip("\n") == last:
                return
            yield line
        sys.exit(f"steps: the guest ended with {self.process.wait()} before it was {last}")


def follow(path, functions):
    """Reads the trace to its end."""
    spans = sorted((function.starts[i], function.ends[i], function)
                   for function in functions for i in range(len(function.blocks)))  # fmt: skip
    starts = [span[0] for span in spans]
    executed = 0
    pending = None

    def take(address):
        at = bisect_right(starts, address) - 1
        if at >= 0 and address < spans[at][1]:
            spans[at][2].step(address)

    with open(path, "rb") as trace:
        for line in trace:
            # An instruction is told before it runs; the next line may take it back.
            if line == END:
                break
            elif line.startswith(b"Stopped"):
                pending = None
            elif line.startswith(b"Trace"):
                if pending is not None:
                    take(pending)
                pending = int(line.split(b"/", 2)[1], 16)
                executed += 1
    if pending is not None:
        take(pending)
    return executed


def run(machine):
    functions = [Function(line) for line in map(json.loads, machine.lines_until("ready"))
                 if line["type"] == "blocks"]  # fmt: skip
    result = []
    reader = threading.Thread(target=lambda: result.append(follow(machine.trace, functions)))
    reader.start()
    # Its name since QEMU 8.1; each knows one of the two.
    one_by_one = "one-insn-per-tb", "singlestep"
    machine.order(f"logfile {machine.trace}", *(f"{name} on" for name in one_by_one),
                  "log exec,nochain")  # fmt: skip
    begin = time.monotonic()
    machine.say("line", "go")
    for _ in machine.lines_until("done"):
        pass
    machine.order("log none", *(f"{name} off" for name in one_by_one))
    # QEMU keeps the file open.
    with open(machine.trace, "wb") as trace:
        trace.write(END)
    reader.join()
    print(f"{result[0]} instructions in {time.monotonic() - begin:.0f} s")
    machine.say("line", "go")
    return functions


def report(functions):
    wrong = 0
    for function in functions:
        blocks, edges = function.compare()
        ran = sum(1 for count in function.began.values() if count)
        print(f"{function.name}: {len(function.blocks)} blocks, {ran} ran, {blocks} compared, "
              f"{edges} edges compared, {len(function.wrong)} differ")  # fmt: skip
        for line in function.wrong[:10]:
            print(f"    {line}")
        wrong += len(function.wrong) + (ran == 0)
    return wrong


def main(top, kernel, rounds, *names):
    # The machine must not outlive this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(top, kernel, folder, rounds, names)
        try:
            functions = run(machine)
            status = machine.process.wait(TIMEOUT)
        finally:
            machine.process.terminate()
    wrong = report(functions)
    sys.exit(1 if wrong or status or len(functions) != len(names) else 0)


main(*sys.argv[1:])
