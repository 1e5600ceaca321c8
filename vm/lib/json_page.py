#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Lines of `probeload -j` on stdin against docs/json.md, the argument: each type and field is on the
page, and each field that the page does not call absent is in the line."""
import json
import re
import sys

NAME = r"`(\w+)`"


def fields_of(text):
    """`a`, `b` and `c` (absent where ...): which there are, and whether they must be there."""
    text = re.sub(r"(as for|the fields of a|the fields of|those of) `\w+`", "", text)
    fields = {}
    pattern = r"((?:`\w+`(?: and )?)+) ?(\((?:[^()]|\([^()]*\))*\))?"
    for match in re.finditer(pattern, text):
        for name in re.findall(NAME, match[1]):
            fields[name] = "absent" not in (match[2] or "")
    return fields


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            whole = file.read()
        parts = re.split(r"^## (.*)\n", whole, flags=re.M)
        self.types = set(re.findall(r"^\| `(\w+)` \|", parts[0], re.M))
        self.sections = dict(zip(parts[1::2], parts[2::2]))

    def rows(self, section):
        """The cells of a section's tables."""
        return [line.strip("| ").split(" | ") for line in self.sections[section].splitlines()
                if re.match(r"\| .*\|$", line) and "---" not in line]

    def by_row(self, section):
        """Fields of a section's first table, which has one or more in each row."""
        fields = {}
        table = self.sections[section].strip().split("\n\n")[0]
        for cells in [line.strip("| ").split(" | ") for line in table.splitlines()]:
            for name in re.findall(NAME, cells[0]):
                fields[name] = "absent" not in cells[-1]
        return fields

    def of(self, section, key):
        """Fields of the row that begins so, in its last cell."""
        for cells in self.rows(section):
            if cells[0] == key:
                return fields_of(cells[-1])
        raise KeyError(f"docs/json.md: no row {key} in {section}")


class Lines:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.whole = file.read()
        self.page = Page(path)
        self.wrong, self.seen = [], set()

    def check(self, what, line, fields, also=()):
        """`fields` by name: whether they must be there; `also`: those that every such line has."""
        fields = {**fields, **{name: True for name in also}}
        for name in line:
            self.seen.add((what, name))
            if name not in fields:
                self.wrong.append(f"{what}: {name} is not in docs/json.md")
        for name, must in fields.items():
            if must and name not in line:
                self.wrong.append(f"{what}: {name} is missing: {json.dumps(line)[:300]}")

    def on_page(self, what, names):
        for name in names:
            if not re.search(rf"[`\"]{re.escape(name)}[`\"]", self.whole):
                self.wrong.append(f"{what}: {name} is not in docs/json.md")

    def site(self, what, probe, also=()):
        self.check(what, probe, self.page.of("attach: summary", "`site`"), also)
        self.missed(probe)

    def missed(self, probe):
        listed = re.search(r"always with all of\s+(.*?) \(", self.page.sections["attach: summary"], re.S)
        if list(probe["missed"]) != re.findall(r"`([\w-]+)`", listed[1]):
            self.wrong.append(f"missed: {probe['missed']}")

    def probe(self, probe):
        kind = probe["kind"]
        if kind == "site":
            self.site("a probe", probe, ["kind"])
            return
        self.check(f"a probe ({kind})", probe, self.page.of("attach: summary", f"`{kind}`"), ["kind"])
        self.missed(probe)
        if not {"jump", "int3"} <= probe["mechanisms"].keys() <= {"jump", "int3", "none"}:
            self.wrong.append(f"mechanisms: {probe['mechanisms']}")
        for site in probe.get("sites", []) + probe.get("top", []):
            self.site(f"a site of a {kind}", site, ["kind"])

    def attach_summary(self, line, what="summary of attach", also=("type",), without=()):
        fields = {name: must for name, must in self.page.by_row("attach: summary").items()
                  if name not in without}
        self.check(what, line, fields, also)
        for probe in line["probes"]:
            self.probe(probe)
        self.on_page("events", line.get("events", {}))
        self.on_page("command", line.get("command", {}))
        for entries in line.get("maps", {}).values():
            for entry in entries:
                self.on_page("maps", entry)
        for entry in line.get("maps_left_out", {}).values():
            self.on_page("maps_left_out", entry)

    def explain(self, line):
        self.check("explain", line, self.page.by_row("explain"), ["type"])
        rows = {re.findall(NAME, name)[0]: text for cells in self.page.rows("explain")
                for name, text in [(cells[0], " | ".join(cells[1:]))] if re.findall(NAME, name)}
        for name, row in [("module", "module"), ("mainline", "mainline")]:
            if line[name] is not None:
                self.check(name, line[name], {field: True for field in line[name]
                                              if f"`{field}`" in rows[row]})
        for name in ["checks", "tactics"]:
            for entry in line[name]:
                self.check(name, entry, fields_of(rows["checks"]))
        for name in ["code", "detour"]:
            for entry in line[name]:
                without = {"address", "bytes"} if entry["part"] == "none" else set()
                self.check(name, entry, {field: field not in without
                                         for field in ["address", "bytes", "text", "part"]})

    def line(self, line):
        kind = line["type"]
        self.seen.add(("type", kind))
        if kind not in self.page.types:
            self.wrong.append(f"type: {kind} is not in docs/json.md")
        elif kind == "event":
            self.on_page("event", line)
            self.check("event", line, {"type": True, "name": True, "data": True})
        elif kind == "raw":
            self.on_page("raw", line)
            self.check("raw", line, {name: True for name in ["type", "map", "size", "hex"]})
        elif kind == "probe":
            prose = self.page.sections["list"].split("A line is a `probe`:")[1]
            own = fields_of(prose)
            rest = {name: value for name, value in line.items() if name not in own and name != "type"}
            self.check("list", {name: line[name] for name in line if name in own}, own)
            self.site("a site of list", rest, ["kind"])
        elif kind == "counts":
            fields = fields_of(self.page.sections["count"].split("With `-i` a line of `counts`")[1])
            counter = {name: fields.pop(name) for name in ["site", "address", "count", "new"]}
            self.check("counts", line, {name: fields[name] for name in ["seconds", "total", "top"]},
                       ["type"])
            for entry in line["top"]:
                self.check("a counter of counts", entry, counter)
        elif kind == "histogram":
            fields = fields_of(self.page.sections["hist"].split("a line of `histogram`")[1])
            slot = {name: fields.pop(name) for name in ["from", "to", "count"]}
            extremes = ["min", "max", "uncompared"] if line["total"] else []
            self.check("histogram", line,
                       {name: fields[name] for name in ["seconds", "total", "slots", *extremes]},
                       ["type"])
            for entry in line["slots"]:
                self.check("a slot of histogram", entry, slot)
        elif kind == "latency":
            times = self.page.of("latency", "times")
            self.check("latency", line, {**self.page.of("latency", "`latency`"), **times,
                                         **self.page.of("latency", "unpaired")}, ["type"])
            for part in line.get("by", []):
                self.check("a part", part, {**self.page.of("latency", "a part"), **times})
            for part in [line, *line.get("by", [])]:
                for slot in part["slots"]:
                    self.check("a slot of latency", slot, self.page.of("latency", "a slot"))
        elif kind == "blocks":
            self.check("blocks", line, self.page.of("count", "`blocks`"), ["type"])
            for block in line["blocks"]:
                self.check("a block", block, self.page.of("count", "a block"))
                for way in block["next"]:
                    self.check("a successor", way, self.page.of("count", "a successor"))
        elif kind == "lines":
            self.check("lines", line, self.page.of("count", "`lines`"), ["type"])
            for entry in line["lines"]:
                self.check("a line", entry, self.page.of("count", "a line"))
        elif kind == "coverage":
            self.check("coverage", line, self.page.of("cover", "`coverage`"), ["type"])
            for share in (line["blocks"], line.get("lines", line["blocks"])):
                self.check("a share", share, self.page.of("cover", "a share"))
        elif kind == "results":
            self.check("results", line, {"type": True, "results": True})
            for entry in line["results"]:
                self.on_page("a result of trace", entry)
                for slot in entry.get("slots", []):
                    self.check("a slot", slot, {"from": True, "to": True, "count": True})
                    self.on_page("a slot", slot)
        elif kind == "prototype":
            prose = self.page.sections["functions"].split("A line is a `prototype`:")[1]
            self.check("functions", line, fields_of(prose), ["type"])
        elif kind == "line":
            prose = self.page.sections["lines"].split("A line is a `line`:")[1]
            of_line, of_site = prose.split("A site has")
            self.check("lines", line, fields_of(of_line), ["type"])
            for site in line["sites"]:
                self.check("a site of lines", site, fields_of(of_site))
        elif kind == "finding":
            prose = self.page.sections["doctor"].split("A line is a `finding`:")[1]
            self.check("doctor", line, fields_of(prose), ["type"])
        elif kind == "run":
            self.check("run", line, self.page.by_row("run"), ["type"])
            self.missed(line)
        elif kind == "run_bench":
            self.check("run --bench", line, self.page.by_row("run --bench"), ["type"])
            self.line(line["probes"])
        elif kind == "snapshot":
            self.attach_summary(line, "snapshot of attach", ["type", "seconds"], ["command"])
        elif kind == "explain":
            self.explain(line)
        elif kind in ("site", "function"):
            self.check(f"survey: {kind}", line, self.page.of("survey", f"`{kind}`"), ["type"])
        elif kind == "result":
            text = next(cells[-1] for cells in self.page.rows("bench") if cells[0] == "`result`")
            always, otherwise = text.split("or else")
            fields = fields_of(always)
            measured = "unavailable" not in line
            fields["unavailable"] = not measured
            self.check("bench: result", line,
                       {**fields, **({name: must for name, must in fields_of(otherwise).items()}
                                     if measured else {})}, ["type"])
        elif kind == "attach":
            self.check("bench: attach", line, self.page.of("bench", "`attach`"), ["type"])
        elif "probes" in line:
            self.attach_summary(line)
        elif "covered" in line:
            self.check("cover: summary", line, self.page.of("cover", "`summary`"), ["type"])
        elif "exact" in line:
            self.check("survey: summary of --ret", line,
                       self.page.of("survey", "`summary` of `--ret`"), ["type"])
        elif "sites" in line:
            self.check("survey: summary", line, self.page.of("survey", "`summary`"), ["type"])
        else:
            self.check("bench: summary", line, self.page.of("bench", "`summary`"), ["type"])


def main():
    lines = Lines(sys.argv[1])
    count = 0
    for text in sys.stdin:
        try:
            lines.line(json.loads(text))
        except (ValueError, KeyError) as error:
            lines.wrong.append(f"{error!r}: {text[:200]}")
        count += 1
    # What no command of the guest has shown was not compared with anything.
    shown = {name for what, name in lines.seen if what == "type"}
    for kind in sorted(lines.page.types - shown):
        lines.wrong.append(f"type: no line is a {kind}")
    for wrong in list(dict.fromkeys(lines.wrong))[:40]:
        print(wrong, file=sys.stderr)
    print(f"{count} lines, {len(lines.seen)} different fields")
    return 1 if lines.wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
