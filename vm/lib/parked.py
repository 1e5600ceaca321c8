# SPDX-License-Identifier: GPL-2.0
"""A vCPU stands still at an instruction of the DCR, the detour or the int3 path while another one
attaches or detaches, phase by phase; then it goes on.

    parked.py TOP KERNEL [--seconds S] [--seed N] [--stride N] [--sites N]
              [--only REGEX] [--rounds N]

A cell is (site, operation, parked instruction, phase). Phases are the writes and core syncs of the
patch protocol, in the order in which the operation makes them, and the operation's end. In each
cell the parked CPU continues while the patcher stands at that phase. It must behave as if the
text had no patch: same live registers behind the DCR, same result of the call; the handler's count must be
right; nothing in the detour may change under it; and where it stands with interrupts off, no core
sync may end before it has gone on.
"""

import argparse
import itertools
import random
import re
import sys
import time

from parked_cell import Cells, cell_name
from parked_guest import Failure, run
from parked_operations import OPERATIONS, PHASES, Operations
from parked_sites import FUNCTIONS, RCU, TACTICS, Sites
from parked_victim import Victim


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("top")
    parser.add_argument("kernel")
    parser.add_argument("--seconds", type=float, default=0, help="of cells, some of each at least; 0: all of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stride", type=int, default=0, help="every Nth instruction of the handler's path; 0: few")
    parser.add_argument("--sites", type=int, default=3, help="of each tactic")
    parser.add_argument("--only", default="", help="regular expression: SITE OPERATION INSTRUCTION")
    parser.add_argument("--rounds", type=int, default=1, help="so often the same cells")
    return parser.parse_args()


def choose(places, operations, options):
    """The cells, in the order in which they are to be run, and how many of them are one of each
    site and operation."""
    groups = []
    sites = places.find(options.sites)
    # KASAN's code has no springboard in these functions.
    expected = TACTICS[:2] if options.kernel == "debug" else TACTICS
    missing = set(expected) - {site.tactic for site in sites}
    if missing:
        raise Failure(f"no site with a {' and no '.join(sorted(missing))} among what the victim calls")
    for site in sites:
        print(f"site {site.name}: {site.tactic}, {len(site.inside)} instructions, DCR {site.length} bytes")
        for operation in OPERATIONS:
            names = operations.phases_of(operation, site)
            # The jump's writes come after the quiescence, which waits for the parked task.
            wanted = range(1, len(names) + 1) if operation != "optimize" else ()
            if operation == "attach":
                wanted = range(1, 3)
            groups.append([(operation, site, station, phase, names)
                           for station in places.stations(operation, site)
                           for phase in (*wanted, 0)])  # fmt: skip
    # Whatever the time allows, it is some of each.
    dice = random.Random(options.seed)
    for group in groups:
        dice.shuffle(group)
    only = re.compile(options.only)
    groups = [[c for c in group if only.search(f"{c[1].name} {c[0]} {c[2].label}")] for group in groups]
    groups = [group for group in groups if group]
    cells = [cell for row in itertools.zip_longest(*groups) for cell in row if cell]
    return cells * options.rounds, len(groups)


def test(guest, options):
    sys.stdout.reconfigure(line_buffering=True)
    missing = [name for name in PHASES if name not in guest.symbols]
    if missing:
        raise Failure(f"no function {' '.join(missing)} in the module: see PHASES")
    victim, operations = Victim(guest), Operations(guest)
    cells, least = choose(Sites(victim, operations, options.stride), operations, options)
    runner = Cells(victim, operations)
    deadline = time.monotonic() + options.seconds if options.seconds else None
    table, done, failed = {}, 0, 0
    for operation, site, station, phase, names in cells:
        if deadline and time.monotonic() > deadline and done >= least:
            break
        guest.doing = f"cell {done} ({cell_name(operation, site, station, phase)})"
        outcome = runner.run(operation, site, station, phase)
        done += 1
        failed += not outcome.startswith("ok")
        row = table.setdefault((site.name, operation, station.label), {})
        row[phase] = f"{names[phase - 1]}{phase}" if phase else "end", outcome
    for (site, operation, label), row in sorted(table.items()):
        text = ", ".join(f"{row[p][0]}: {row[p][1]}" for p in sorted(row, key=lambda p: p or 99))
        print(f"{site} {operation} {label}: {text}")
    print(f"{done} of {len(cells)} cells, seed {options.seed}, {failed} failed")
    return 1 if failed or not done else 0


wishes = parse()
sys.exit(run("parked", wishes.kernel, [*PHASES, *FUNCTIONS, *RCU], wishes.top, lambda guest: test(guest, wishes)))
