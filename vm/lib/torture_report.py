# SPDX-License-Identifier: GPL-2.0
"""torture_report.py DIR: report.md and report.html from the records and logs of vm/torture."""

import collections
import html
import pathlib
import re
import sys

# What is counted in a test's output: (pattern of its name, pattern with one number, what it is).
FIGURES = [
    ("storm", r"^storm .* calls (\d+)", "calls by the load, each counted by a probe"),
    ("storm", r" attached (\d+)", "probes attached in storms"),
    ("storm", r" many (\d+)", "batches attached in storms"),
    ("storm", r" refused (\d+)", "attach requests refused in storms"),
    ("storm", r" detached (\d+)", "probes detached in storms, beside those of killed loaders"),
    ("storm", r" toggled (\d+)", "enable and disable calls in storms"),
    ("storm", r" kills (\d+)", "loaders killed by SIGKILL in storms"),
    ("storm", r" ftrace (\d+)", "function tracer on and off"),
    ("storm", r" kprobes (\d+)", "kprobes of the kernel, registered to removed"),
    ("storm", r" labels (\d+)", "jump labels and static calls flipped, rounds"),
    ("storm", r" hotplug (\d+)", "CPUs offline and online"),
    ("storm", r" module (\d+)", "target module loaded and unloaded"),
    ("storm", r" memory (\d+)", "rounds of memory pressure"),
    ("storm", r"^reloads (\d+)", "rmmod and insmod of djprobe"),
    ("nmi", r"^storm .* calls (\d+)", "calls by the load under NMIs"),
    ("nmi", r"^NMIs (\d+)", "NMIs"),
    ("abifuzz", r"^calls (\d+)", "ioctl calls of the fuzzer"),
    ("abifuzz", r" refused (\d+)", "of them refused"),
    ("abifuzz", r" racing (\d+)", "of them with arguments that another thread changed"),
    ("parked", r"^(\d+) of \d+ cells", "cells of (parked instruction x phase)"),
    ("fault", r"(\d+) allocations failed", "allocations that failed once each"),
    ("everywhere", r"^(\d+) sites:", "functions probed at once, in all modes"),
    ("everywhere", r"; (\d+) hits, missed", "hits of those"),
    ("storm", r" perf (\d+)", "perf events on every CPU, with stacks, rounds"),
    ("storm", r" livepatch (\d+)", "live patches applied and taken back"),
    ("protocol", r"^(\d+) rounds", "patched and unpatched on the real CPU"),
    ("protocol", r" (\d+) calls,", "calls meanwhile, each counted"),
    ("policy", r"(\d+) operations", "operations of the policy, in random histories"),
    ("fuzz_.*", r"number_of_executed_units: (\d+)", "inputs of the fuzzers here"),
]  # fmt: skip


def records(folder):
    for line in (folder / "records").read_text().splitlines():
        number, seed, kernel, name, verdict, seconds = line.split()
        log = folder / "logs" / number / f"{kernel}.{name}"
        text = log.read_text(errors="replace") if log.exists() else ""
        yield {"round": number, "seed": seed, "kernel": kernel, "test": name, "verdict": verdict,
               "seconds": int(seconds), "text": text, "log": log}  # fmt: skip


def figures(done):
    """Figure -> kernel -> sum."""
    sums = collections.defaultdict(collections.Counter)
    for record in done:
        for test, pattern, what in FIGURES:
            if re.fullmatch(test, record["test"]):
                for number in re.findall(pattern, record["text"], re.M):
                    sums[what][record["kernel"]] += int(number)
    return sums


def tables(folder):
    """(heading, header row, rows) of each."""
    done = list(records(folder))
    hours, seed, spent, kernels = (folder / "plan").read_text().split()
    kernels = kernels.split(",")
    verdicts = collections.Counter(record["verdict"] for record in done)
    rounds = len({record["round"] for record in done})
    versions = dict.fromkeys((folder / "versions").read_text().splitlines())
    yield "The run", ["", ""], [
        ["asked for", f"{hours} hours, seed {seed}"],
        ["so far", f"{int(spent) / 3600:.2f} hours, {rounds} round{'s'[: rounds != 1]}"],
        ["tests", f"{verdicts['ok']} passed, {verdicts['FAIL']} failed, "
                  f"{verdicts['skip']} did not apply"],
        *(version.split(" ", 1) for version in versions),
    ]  # fmt: skip
    sums = figures(done)
    kernels.append("host")
    yield "What was done", ["", *kernels], [
        [what, *(f"{sums[what][kernel]:,}" if sums[what][kernel] else "" for kernel in kernels)]
        for _, _, what in FIGURES if what in sums
    ]  # fmt: skip
    names = list(dict.fromkeys(record["test"] for record in done))
    yield "Verdicts", ["test", *kernels], [
        [name, *(" ".join(f"{n} {verdict}" for verdict, n in collections.Counter(
            r["verdict"] for r in done if r["test"] == name and r["kernel"] == kernel).items())
            for kernel in kernels)]
        for name in names
    ]  # fmt: skip
    yield "Failures", ["round", "seed", "kernel", "test", "its output"], [
        [r["round"], r["seed"], r["kernel"], r["test"], str(r["log"].relative_to(folder))]
        for r in done if r["verdict"] not in ("ok", "skip")
    ] or [["none", "", "", "", ""]]  # fmt: skip


INTRODUCTION = (
    "Each test ends in the oracle: the kernel's text equals its image from before, no splat in the "
    "console, no probe, program or module reference left, hits and misses equal the calls, the "
    "workload's results are those of an unprobed run. Wherever a test passed, nothing was lost."
)


def main():
    folder = pathlib.Path(sys.argv[1])
    markdown = ["# Torture report", "", INTRODUCTION, ""]
    page = ["<!doctype html><meta charset='utf-8'><title>Torture report</title><style>"
            "body{font:15px sans-serif;max-width:70em;margin:2em auto}"
            "td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:left}</style>",
            "<h1>Torture report</h1>", f"<p>{html.escape(INTRODUCTION)}</p>"]  # fmt: skip
    for heading, header, rows in tables(folder):
        markdown += [f"## {heading}", "", "| " + " | ".join(header) + " |",
                     "|" + "---|" * len(header)]  # fmt: skip
        markdown += ["| " + " | ".join(row) + " |" for row in rows] + [""]
        page.append(f"<h2>{heading}</h2><table>")
        for tag, row in [("th", header), *(("td", row) for row in rows)]:
            page.append("<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in row) + "</tr>")
        page.append("</table>")
    (folder / "report.md").write_text("\n".join(markdown))
    (folder / "report.html").write_text("\n".join(page) + "\n")


main()
