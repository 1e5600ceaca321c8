# SPDX-License-Identifier: GPL-2.0
"""QEMU's gdbstub: one vCPU runs while the others stand still.

The GDB remote protocol, as far as it is needed (packets g, m, Z0, vCont); vCPU n is thread n + 1.
"""

import select
import socket
import struct
import time

REGISTERS = ("rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split())
ALL = None


class Stub:
    def __init__(self, path, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        self.buffer = b""
        # The connection stops the machine, of which the stub may tell without being asked.
        self.send("?")
        while self.packet(0.5) is not None:
            pass

    # Packets.

    def send(self, text):
        data = text.encode()
        self.socket.sendall(b"$%s#%02x" % (data, sum(data) & 0xFF))

    def packet(self, timeout):
        """The next packet, or None after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            start = self.buffer.find(b"$")
            end = self.buffer.find(b"#", start)
            if start >= 0 and 0 <= end <= len(self.buffer) - 3:
                data = self.buffer[start + 1 : end]
                self.buffer = self.buffer[end + 3 :]
                self.socket.sendall(b"+")
                return data.decode()
            left = deadline - time.monotonic()
            if left < 0 or not select.select([self.socket], [], [], left)[0]:
                return None
            data = self.socket.recv(65536)
            if not data:
                raise EOFError("QEMU has closed the gdbstub")
            self.buffer += data

    def command(self, text):
        self.send(text)
        answer = self.packet(10)
        if answer is None or answer.startswith("E"):
            raise RuntimeError(f"gdbstub: {text}: {answer}")
        return answer

    # State; only while the machine stands still.

    def registers(self, cpu):
        self.command(f"Hg{cpu + 1:x}")
        data = bytes.fromhex(self.command("g"))
        values = dict(zip(REGISTERS, struct.unpack_from("<17Q", data)))
        values["eflags"] = struct.unpack_from("<I", data, 17 * 8)[0]
        return values

    def read(self, cpu, address, size):
        self.command(f"Hg{cpu + 1:x}")
        return bytes.fromhex(self.command(f"m{address:x},{size:x}"))

    def set_breakpoint(self, address):
        self.command(f"Z0,{address:x},1")

    def clear_breakpoint(self, address):
        self.command(f"z0,{address:x},1")

    # Running.

    def detach(self):
        """All of them go on, and the stub is not asked any more."""
        self.command("D")
        self.socket.close()

    def step(self, cpu):
        """One instruction of `cpu`, without interrupts."""
        self.send(f"vCont;s:{cpu + 1:x}")
        if self.packet(10) is None:
            raise RuntimeError("gdbstub: a step does not end")

    def run(self, cpu=ALL, seconds=0.005, until=None):
        """Run one vCPU or all of them: until a breakpoint (the vCPU that met it), or until
        `until()` or for so long (None)."""
        self.send("vCont;c" if cpu is ALL else f"vCont;c:{cpu + 1:x}")
        deadline = time.monotonic() + seconds
        answer = None
        while answer is None and time.monotonic() < deadline and not (until and until()):
            answer = self.packet(0.001 if until else seconds)
        if answer is None:
            self.socket.sendall(b"\x03")
            answer = self.packet(30)
            if answer is None:
                raise RuntimeError("gdbstub: the machine does not stop")
        if not answer.startswith("T05"):
            return None
        return int(answer.split("thread:")[1].split(";")[0], 16) - 1
