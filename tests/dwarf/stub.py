# SPDX-License-Identifier: GPL-2.0
"""A machine for gdb that stands still at any instruction, with registers and memory that follow
from the instruction's address: values of variables there are known without running anything.

gdb starts it by "target remote | python3 stub.py"; "monitor ADDRESS" stops it there."""
import sys

# In gdb's order.
REGISTERS = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12",
             "r13", "r14", "r15"]
MASK = (1 << 64) - 1


def mix(number):
    """64 bits that look random (splitmix64)."""
    number = (number + 0x9E3779B97F4A7C15) & MASK
    number = ((number ^ number >> 30) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ number >> 27) * 0x94D049BB133111EB) & MASK
    return number ^ number >> 31


def register(address, index):
    """What a register holds there. The stack pointer is aligned, as stack pointers are."""
    value = mix(mix(address) + index)
    return 0xFFFFC90000000000 | value & 0xFFFFFFF0 if REGISTERS[index] == "sp" else value


def memory(address, length):
    return bytes(mix(byte & MASK) & 0xFF for byte in range(address, address + length))


def packets(stream):
    while True:
        byte = stream.read(1)
        if not byte:
            return
        if byte != b"$":
            continue
        text = bytearray()
        while (byte := stream.read(1)) not in (b"#", b""):
            text += byte
        stream.read(2)
        yield text.decode("latin-1")


def registers(address):
    values = [register(address, i) for i in range(16)] + [address]
    # Flags and segments.
    return b"".join(value.to_bytes(8, "little") for value in values).hex() + "00" * 28


def main():
    address = 0
    out = sys.stdout.buffer
    for packet in packets(sys.stdin.buffer):
        if packet == "?":
            answer = "S05"
        elif packet == "g":
            answer = registers(address)
        elif packet.startswith("m"):
            begin, length = (int(part, 16) for part in packet[1:].split(","))
            answer = memory(begin, length).hex()
        elif packet.startswith("qRcmd,"):
            address = int(bytes.fromhex(packet[6:]).decode(), 0)
            answer = "OK"
        elif packet.startswith("H") or packet == "D":
            answer = "OK"
        elif packet == "qAttached":
            answer = "1"
        elif packet.startswith("qSupported"):
            answer = "PacketSize=1000"
        else:
            answer = ""
        data = answer.encode()
        out.write(b"+$" + data + b"#%02x" % (sum(data) & 0xFF))
        out.flush()


if __name__ == "__main__":
    main()
