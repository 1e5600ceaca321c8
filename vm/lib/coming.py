# SPDX-License-Identifier: GPL-2.0
"""A CPU that comes up is not online yet, but hits probes: no core sync reaches it.

    coming.py TOP KERNEL

vCPU 2 stands in the breakpoint's handler on its way up, while vCPU 1 detaches that probe. The int3
must stay until the CPU is online: its handler looks at what it was hit by.
"""

import sys

from parked_guest import ATTACH, DETACH, INT3, PATCHER, VICTIM, Failure, run

HANDLER = "exc_int3"
# Of a CPU that comes, before it counts as online: the first that the kernel has.
FUNCTIONS = ("smp_store_cpu_info", "identify_secondary_cpu")
COMING = 2  # the vCPU
GO, COME = 6, 7  # calls of the victim
WRITTEN = 1  # byte
NEAR = 16  # bytes from the entry, with the probe's


def put(guest, call):
    guest.call(call)
    guest.finish(guest.called, f"call {call}")
    if guest["victim_result"] != WRITTEN:
        raise Failure(f"the CPU does not {'come' if call == COME else 'go'}")


def park(guest, function):
    """vCPU 2 stands at the first instruction of the handler."""
    handler = guest.symbols[HANDLER][0]
    put(guest, GO)
    guest.patch(ATTACH, slot=0, address=function, mode=INT3)
    guest.stub.set_breakpoint(handler)
    guest.call(COME)
    met = guest.stub.run(seconds=60, until=guest.called)
    guest.stub.clear_breakpoint(handler)
    if met != COMING:
        raise Failure(f"vCPU {met} came to {HANDLER}, not {COMING}")


def test(guest):
    stub = guest.stub
    name = next((name for name in FUNCTIONS if name in guest.symbols), None)
    if name is None or HANDLER not in guest.symbols:
        raise Failure(f"the kernel has no {HANDLER}, or none of {' '.join(FUNCTIONS)}")
    function = guest.symbols[name][0]
    text = stub.read(PATCHER, function, NEAR)
    before = guest.count()
    park(guest, function)
    armed = stub.read(PATCHER, function, NEAR)
    if b"\xcc" in text or b"\xcc" not in armed:
        raise Failure(f"{name} begins with {text.hex()}, then {armed.hex()}: no int3")
    guest.ask(DETACH, slot=0)
    for _ in range(100):
        stub.run(PATCHER, 0.01, guest.answered)
        stub.run(VICTIM, 0.01)
    if stub.read(PATCHER, function, NEAR) != armed:
        raise Failure("the int3 is gone while a CPU stands in its handler")
    if guest.answered():
        raise Failure("the probe is gone while a CPU stands in its handler")
    guest.finish(guest.called, "the CPU that comes")
    guest.finish(guest.answered, "the detach")
    if stub.read(PATCHER, function, NEAR) != text:
        raise Failure("the text is not what it was")
    # The probe may have been on its way out before its handler began.
    if guest.count() - before not in (0, 1):
        raise Failure(f"counted {guest.count() - before}, not 0 or 1")
    put(guest, GO)
    put(guest, COME)
    print("the detach waited for the CPU that came")
    return 0


top, kernel = sys.argv[1:]
sys.exit(run("coming", kernel, [HANDLER, *FUNCTIONS], top, test, cpus=3))
