#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The BPF objects that programs carry in themselves (libbpf's skeletons), each as a file NAME.bpf.o
in a directory:

    bpf_objects.py DIRECTORY PROGRAM...
"""
import pathlib
import struct
import sys

MAGIC = b"\x7fELF\x02\x01"
EM_BPF = 247


def objects_in(data):
    """The section headers come last in what clang writes: they end the object."""
    at = data.find(MAGIC)
    while at >= 0:
        if struct.unpack_from("<H", data, at + 18)[0] == EM_BPF:
            headers, = struct.unpack_from("<Q", data, at + 40)
            size, count = struct.unpack_from("<HH", data, at + 58)
            yield data[at:at + headers + size * count]
        at = data.find(MAGIC, at + 1)


def main():
    directory = pathlib.Path(sys.argv[1])
    for program in map(pathlib.Path, sys.argv[2:]):
        for number, data in enumerate(objects_in(program.read_bytes())):
            name = program.name + (f".{number}" if number else "")
            (directory / f"{name}.bpf.o").write_bytes(data)


main()
