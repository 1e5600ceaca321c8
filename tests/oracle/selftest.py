#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""oracle.py must accept right claims and name what is wrong with each wrong one.

    selftest.py ORACLE SOURCE DIRECTORY
"""
import subprocess
import sys

# Claim (anchors as symbol+offset), and what is wrong with it.
CLAIMS = [
    ("W good+0 good+0 5 0", None),
    ("W good+5 good+5 5 0", None),
    ("W looped+6 looped+6 5 0", None),
    ("B looped+0 looped+0 2 looped+8", None),
    ("S tail+3 tail+0 5 0", None),
    ("W good+1 good+1 5 0", "starts within an instruction"),
    ("W good+0 good+0 6 0", "ends within an instruction"),
    ("W good+0 good+0 2 0", "length"),
    ("S good+5 good+5 5 0", "anchor"),
    ("W good+5 good+0 8 0", "anchor"),
    ("S good+0 good+5 5 0", "not a region"),
    ("W looped+0 looped+0 6 0", "arrival"),
    ("S looped+2 looped+0 6 0", "arrival"),
    ("W fixed+0 fixed+0 6 0", "owned"),
    ("W fixed+3 fixed+3 6 0", "arrival"),
    ("W label+0 label+0 5 0", "owned"),
    ("W label+5 label+5 6 0", "arrival"),
    ("W traced+0 traced+0 5 0", "owned"),
    ("W static+0 static+0 5 0", "owned"),
    ("W changing+0 changing+0 6 0", "owned"),
    ("W locked+0 locked+0 6 0", "owned"),
    ("W pointed+0 pointed+0 6 0", "arrival"),
    ("W taken+0 taken+0 6 0", "arrival"),
    ("W trap+0 trap+0 5 0", "owned"),
    ("W emulated+8 emulated+8 5 0", "starts within an instruction"),
    ("W emulated+a emulated+a 5 0", None),
    ("W emulated+0 emulated+0 a 0", "owned"),
    ("W called+0 called+0 6 0", "call within"),
    ("W leaving+0 leaving+0 7 0", "code behind a leave"),
    ("S leaving+4 leaving+0 7 0", "site behind a leave"),
    ("W forbidden+0 forbidden+0 5 0", "blacklisted"),
    ("W quiet+0 quiet+0 5 0", "blacklisted"),
    ("W tail+0 tail+0 a 0", "beyond the function"),
    ("B looped+0 looped+0 2 looped+2", "board not dead"),
    ("B looped+0 looped+0 2 looped+7", "board on the int3 that stops speculation"),
    ("B live+0 live+0 2 live+7", "board not dead"),
    ("B looped+0 looped+0 2 looped+b", "board not dead"),
    ("B looped+6 looped+6 2 looped+7", "board in the region"),
    ("B quiet+0 looped+0 2 looped+7", "not a region"),
    ("B distant+0 distant+0 5 looped+7", "board out of reach"),
]


def main():
    oracle, source, directory = sys.argv[1:]
    elf, kallsyms, claims = (f"{directory}/selftest.{kind}" for kind in ("elf", "syms", "claims"))
    subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,--build-id=none,-Ttext=0xffffffff81000000",
                    "-Wl,-Tdata=0xffffffff81100000,--section-start=.altinstructions="
                    "0xffffffff81200000", "-Wl,-e,0", source, "-o", elf], check=True)
    symbols = {}
    with open(kallsyms, "w", encoding="utf-8") as file:
        for line in subprocess.run(["nm", elf], check=True, stdout=subprocess.PIPE,
                                   text=True).stdout.splitlines():
            address, kind, name = line.split()
            symbols[name] = int(address, 16)
            # These are places in functions, which kallsyms would not list.
            if name not in ("label_target", "fixup", "pointer", "place"):
                print(address, kind, name, file=file)

    def number(word):
        name, plus, offset = word.partition("+")
        return f"{symbols[name] + int(offset, 16):x}" if plus else word

    failed = 0
    for claim, wrong in CLAIMS:
        with open(claims, "w", encoding="utf-8") as file:
            print(*map(number, claim.split()), file=file)
        run = subprocess.run([oracle, elf, kallsyms, claims], check=False, stdout=subprocess.PIPE,
                             text=True)
        found = [line for line in run.stdout.splitlines() if line.startswith("VIOLATION")]
        expected = [f"VIOLATION {wrong}: 1"] if wrong else []
        if found != expected or run.returncode != bool(wrong):
            failed += 1
            print(f"{claim}: expected {expected}, got {found}, exit {run.returncode}")
    # An empty list of claims proves nothing.
    with open(claims, "w", encoding="utf-8"):
        pass
    if subprocess.run([oracle, elf, kallsyms, claims], check=False,
                      stdout=subprocess.DEVNULL).returncode != 1:
        failed += 1
        print("no claims: accepted")
    print(f"{len(CLAIMS) + 1} cases, {failed} failed")
    sys.exit(bool(failed))


main()
