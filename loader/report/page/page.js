// SPDX-License-Identifier: GPL-2.0
// The page: what the data has is shown, and nothing else.

const data = JSON.parse(document.getElementById("data").textContent);
const part = id => document.getElementById(id);
const hasEvents = Boolean(data.events);
const columns = hasEvents ? data.events.columns : [];
const moments = data.moments;
const lastResults = moments.length ? moments[moments.length - 1].results : [];
const end = data.seconds;
const redraws = [];  // at another width or theme
let range = null;    // seconds that are brushed

function open(id, title, small) {
  const card = part(id);
  card.hidden = false;
  const head = card.querySelector("h2");
  head.textContent = title;
  if (small) head.append(Object.assign(document.createElement("small"), {textContent: small}));
  return {card, body: card.querySelector(".chart, .table"), tools: card.querySelector(".tools")};
}

function keep(draw) {
  redraws.push(draw);
  draw();
}

function choice(tools, label, names, act) {
  const select = document.createElement("select");
  select.setAttribute("aria-label", label);
  for (const name of names) select.append(new Option(name));
  select.onchange = () => act(select.selectedIndex);
  tools.append(select);
}

function tile(number, words, mood) {
  const box = document.createElement("div");
  box.className = "tile " + (mood || "");
  box.append(Object.assign(document.createElement("b"), {textContent: number}),
             Object.assign(document.createElement("span"), {textContent: words}));
  part("tiles").append(box);
}

// ---- who, where, when

part("place").textContent = data.place;
part("command").textContent = "# " + data.command;
for (const fact of [`Linux ${data.machine.kernel}`, `${data.machine.cpus} CPUs`, data.machine.host,
                    new Date(data.began).toLocaleString(), `${seconds(end)}`])
  part("facts").append(Object.assign(document.createElement("span"), {textContent: fact}));

// ---- numbers

const probes = data.summary.probes || [];
const sumOf = missed => d3.sum(Object.values(missed || {}));
const hits = d3.sum(probes, probe => probe.hits);
const missed = d3.sum(probes, probe => sumOf(probe.missed));
const lost = data.summary.events ? data.summary.events.lost ?? data.summary.events.lost_at_most ?? 0 : 0;

tile(short(hits), "hits");
if (end) tile(short(Math.round(hits / end)), "hits per second");
if (hasEvents) tile(short(data.events.total), "events");
else if (lastResults.length) tile(short(lastResults.length), lastResults.length === 1 ? "result" : "results");
if (data.summary.events) tile(short(lost), "events lost", lost ? "bad" : "good");
tile(short(missed), "hits missed", missed ? "bad" : "good");
const byJump = probes.every(probe => probe.mechanism ? probe.mechanism === "jump" : probe.mechanisms && !probe.mechanisms.int3);
if (probes.length) tile(byJump ? "jump" : "int3", byJump ? "how hits are taken" : "how some hits are taken", byJump ? "good" : "");

const rows = hasEvents ? data.events.rows : [];
const warnings = [];
if (lost) warnings.push(`${counted(lost)} events found no room in the buffer and are not shown: --buffer makes it larger.`);
if (missed) warnings.push(`${counted(missed)} hits did not run the program.`);
if (hasEvents && rows.length < data.events.total)
  warnings.push(`Each of the ${counted(data.events.total)} events is in the chart over time; all else is of the first ${counted(rows.length)}.`);
if (warnings.length) {
  part("loss").hidden = false;
  part("loss").textContent = warnings.join(" ");
}

const inRange = row => !range || (row[0] >= range[0] && row[0] <= range[1]);

// ---- events over time

function timeSteps(width) {
  if (!hasEvents) {
    let before = 0, at = 0;
    return moments.map(moment => {
      const total = d3.sum(moment.results, result => result.count);
      const step = {from: at, to: Math.max(moment.at, at + 1e-3), count: Math.max(0, total - before)};
      before = total, at = step.to;
      return step;
    });
  }
  const step = data.events.step;
  const together = Math.max(1, Math.ceil((end || step) / step / (width / 4)));
  const sums = new Map();
  for (const [at, count] of data.events.by_time)
    sums.set(Math.floor(at / together), (sums.get(Math.floor(at / together)) || 0) + count);
  const size = step * together;
  const last = Math.max(Math.ceil(end / size), d3.max([...sums.keys()], at => at + 1) || 0);
  return d3.range(last).map(i => ({from: i * size, to: (i + 1) * size, count: sums.get(i) || 0}));
}

function brushed(chosen) {
  range = chosen;
  for (const draw of filtered) draw();
}
const filtered = [];  // what shows only the brushed part

if ((hasEvents && data.events.total) || moments.length > 1) {
  const {body} = open("time", hasEvents ? "Events over time" : "Calls over time",
                      hasEvents ? "per second; drag to choose a part" : "per second");
  keep(() => drawTime(body, timeSteps(body.clientWidth), end, hasEvents ? brushed : null));
}

// ---- values of events

const numberColumns = columns.map((column, i) => ({...column, at: i + 1})).filter(column =>
  column.kind === "number" && !["time", "cpu", "pid", "tid", "uid"].includes(column.name) &&
  rows.some(row => typeof row[column.at] === "number"));
numberColumns.sort((a, b) => (b.name === "latency") - (a.name === "latency"));

function drawValues(column) {
  const format = valueFormat(column.name === "latency" ? "nanoseconds" : "");
  const all = rows.map(row => row[column.at]).filter(Number.isFinite);
  const slots = slotsFor(all);
  const heat = part("heat").querySelector(".chart"), hist = part("hist").querySelector(".chart");
  const bars = slots.map(slot => ({...slot, count: 0}));
  for (const row of rows)
    if (inRange(row)) ++bars[slotOf(slots, row[column.at])].count;
  drawHistogram(hist, bars, format);
  const from = range ? range[0] : 0, to = range ? range[1] : end;
  const steps = Math.max(10, Math.floor(heat.clientWidth / 9)), size = (to - from) / steps || 1;
  const cells = new Map();
  for (const row of rows) {
    if (!inRange(row)) continue;
    const i = Math.min(steps - 1, Math.floor((row[0] - from) / size)), slot = slotOf(slots, row[column.at]);
    const key = i * 4096 + slot;
    if (!cells.has(key)) cells.set(key, {x0: i * size, x1: (i + 1) * size, slot, count: 0});
    ++cells.get(key).count;
  }
  drawHeat(heat, [...cells.values()], slots, to - from, format);
}

if (numberColumns.length) {
  let column = numberColumns[0];
  const name = () => column.name === "latency" ? "Latency" : column.name;
  const draw = () => drawValues(column);
  const title = () => {
    open("heat", `${name()} over time`);
    open("hist", `${name()}`, "how often");
  };
  title();
  if (numberColumns.length > 1)
    choice(part("heat").querySelector(".tools"), "Value", numberColumns.map(one => one.name),
           i => { column = numberColumns[i]; title(); draw(); });
  filtered.push(draw);
  keep(draw);
}

// ---- histograms that the kernel kept

const keyText = result => Object.values(result.key).map(value => Array.isArray(value) ? value[0] : String(value)).join(", ");

function slotsOfResults(results) {
  const all = new Map();
  for (const result of results) {
    if (result.negative) all.set(-Infinity, {from: -Infinity, to: 0, name: "below"});
    for (const {from, to} of result.slots) all.set(from, {from, to});
    if (result.above) all.set(Infinity, {from: Infinity, to: Infinity, name: "above"});
  }
  const slots = d3.sort ? d3.sort(all.values(), slot => slot.from) : [...all.values()].sort((a, b) => d3.ascending(a.from, b.from));
  // Empty ones between, by the power of two that is missing.
  const whole = [];
  for (const slot of slots) {
    for (let last = whole[whole.length - 1]; last && Number.isFinite(last.to) && Number.isFinite(slot.from) && last.to + 1 < slot.from && whole.length < 128; last = whole[whole.length - 1]) {
      const size = last.to - last.from + 1, from = last.to + 1;
      const doubled = last.from > 0 && from === 2 * last.from ? 2 * size : last.from === 0 && size === 2 ? size : size;
      whole.push({from, to: from + doubled - 1});
    }
    whole.push(slot);
  }
  return whole;
}

function countsBySlot(result, slots) {
  const counts = new Map(result.slots.map(slot => [slot.from, slot.count]));
  counts.set(-Infinity, result.negative || 0);
  counts.set(Infinity, result.above || 0);
  return slots.map(slot => counts.get(slot.from) || 0);
}

if (data.results === "hist" && lastResults.length) {
  let chosen = 0;
  const format = valueFormat(data.unit);
  const names = lastResults.map(keyText);
  const same = name => result => keyText(result) === name;
  const draw = () => {
    const result = lastResults[chosen], slots = slotsOfResults([result]);
    drawHistogram(part("hist").querySelector(".chart"),
                  slots.map((slot, i) => ({...slot, count: countsBySlot(result, slots)[i]})), format);
    if (moments.length < 2) return;
    let before = slots.map(() => 0), at = 0;
    const cells = [];
    for (const moment of moments) {
      const now = moment.results.find(same(names[chosen]));
      const counts = now ? countsBySlot(now, slots) : before;
      counts.forEach((count, slot) => {
        if (count > before[slot]) cells.push({x0: at, x1: moment.at, slot, count: count - before[slot]});
      });
      before = counts, at = moment.at;
    }
    drawHeat(part("heat").querySelector(".chart"), cells, slots, end, format);
  };
  const what = data.unit === "nanoseconds" ? "Latency" : "Values";
  const {tools} = open("hist", what, "how often");
  if (moments.length > 1) open("heat", `${what} over time`);
  if (names.length > 1) choice(tools, "Result", names.map(name => name || "all"), i => { chosen = i; draw(); });
  keep(draw);
}
for (const id of ["heat", "hist"])
  if (part(id === "heat" ? "hist" : "heat").hidden) part(id).classList.add("alone");

// ---- stacks

// "vfs_read+0x5" is a frame of vfs_read.
const frameName = frame => frame.replace(/\+0x[0-9a-f]+$/, "");

function stacksOfEvents() {
  const at = columns.findIndex(column => column.kind === "stack") + 1;
  const comm = columns.findIndex(column => column.name === "comm") + 1;
  return rows.filter(inRange).filter(row => Array.isArray(row[at]) && row[at].length).map(row => ({
    frames: [...(comm ? [row[comm]] : []), ...row[at].map(frameName).reverse()], count: 1}));
}

function stacksOfResults() {
  const weight = result => data.results === "sum" && result.sum > 0 ? result.sum : result.count;
  return lastResults.filter(result => Object.values(result.key).some(Array.isArray)).map(result => ({
    frames: Object.values(result.key).flatMap(value => Array.isArray(value) ? value.map(frameName).reverse() : [String(value)]),
    count: weight(result)}));
}

const stacksNow = () => hasEvents ? stacksOfEvents() : stacksOfResults();
if (stacksNow().length) {
  const {body, tools} = open("flame", "Flame graph", "by stack; click a frame to look closer");
  let graph = null;
  const fresh = () => { graph = new FlameGraph(body, stacksNow()); graph.draw(); };
  fresh();
  filtered.push(fresh);
  redraws.push(() => graph.draw());
  const back = Object.assign(document.createElement("button"), {type: "button", textContent: "Whole"});
  back.onclick = () => { graph.top = graph.root; graph.draw(); };
  const search = Object.assign(document.createElement("input"), {type: "search", placeholder: "Find a function"});
  search.oninput = () => graph.search(search.value);
  tools.append(search, back);
}

// ---- tables

function table(body, heads, lines) {
  body.textContent = "";
  const made = d3.select(body).append("table");
  made.append("thead").append("tr").selectAll("th").data(heads).join("th")
    .classed("number", head => head.number).text(head => head.name);
  made.append("tbody").selectAll("tr").data(lines).join("tr").selectAll("td").data(line => line).join("td")
    .classed("number", (value, i) => heads[i].number)
    .each(function (value) {
      if (value instanceof Node) this.append(value);
      else this.textContent = value;
    })
    .classed("share", (value, i) => heads[i].share);
}

function shown(value) {
  if (typeof value === "number") return counted(value);
  if (!Array.isArray(value)) return typeof value === "object" ? JSON.stringify(value) : String(value);
  if (value.length < 2) return value.join("");
  const details = document.createElement("details");
  details.append(Object.assign(document.createElement("summary"), {textContent: value[0]}));
  for (const line of value.slice(1)) details.append(Object.assign(document.createElement("div"), {textContent: line}));
  return details;
}

const kMostResults = 100;
if (lastResults.length && (data.results !== "hist" || lastResults.length > 1)) {
  const {body} = open("results", "Results", lastResults.length > kMostResults ? `the first ${kMostResults} of ${counted(lastResults.length)}` : "");
  const keys = Object.keys(lastResults[0].key), kind = data.results;
  const has = name => kind !== "count" && kind !== "hist" && name in lastResults[0];
  const heads = [{name: "COUNT", number: true}, ...(has(kind) ? [{name: kind.toUpperCase(), number: true}] : []),
                 {name: "", share: true}, ...keys.map(name => ({name: name.toUpperCase()}))];
  const size = result => has(kind) ? Math.abs(result[kind]) : result.count;
  const most = d3.max(lastResults, size) || 1;
  table(body, heads, lastResults.slice(0, kMostResults).map(result => {
    const bar = document.createElement("i");
    bar.style.width = 100 * size(result) / most + "%";
    return [counted(result.count), ...(has(kind) ? [counted(result[kind])] : []), bar, ...keys.map(name => shown(result.key[name]))];
  }));
}

const kPage = 50;
if (rows.length) {
  const {body, tools} = open("events", "Events");
  let page = 0;
  const heads = [{name: "SECONDS", number: true}, ...columns.map(column => ({name: column.name.toUpperCase(), number: column.kind === "number"}))];
  const label = document.createElement("span");
  const step = (text, by) => {
    const button = Object.assign(document.createElement("button"), {type: "button", textContent: text});
    button.onclick = () => { page += by; draw(); };
    return button;
  };
  const back = step("‹", -1), next = step("›", 1);
  back.setAttribute("aria-label", "Earlier");
  next.setAttribute("aria-label", "Later");
  function draw() {
    const all = rows.filter(inRange), pages = Math.max(1, Math.ceil(all.length / kPage));
    page = Math.min(page, pages - 1);
    back.disabled = page === 0, next.disabled = page === pages - 1;
    label.textContent = all.length ? `${counted(page * kPage + 1)} to ${counted(Math.min(all.length, (page + 1) * kPage))} of ${counted(all.length)}` : "none in this part";
    table(body, heads, all.slice(page * kPage, (page + 1) * kPage).map(row => row.map((value, i) =>
      i === 0 ? value.toFixed(6) : columns[i - 1].name === "time" ? (value / 1e9).toFixed(6) : ["pid", "tid"].includes(columns[i - 1].name) ? String(value) : shown(value))));
  }
  tools.append(label, back, next);
  filtered.push(() => { page = 0; draw(); });
  draw();
}

if (probes.length) {
  const {body} = open("sites", "Sites", "where it was looked");
  const lines = probes.flatMap(probe => probe.sites || probe.top || [probe]);
  table(body, [{name: "HITS", number: true}, {name: "MISSED", number: true}, {name: "BY"}, {name: "SITE"}, {name: ""}],
        lines.map(probe => [counted(probe.hits), counted(sumOf(probe.missed)), probe.mechanism || "", probe.site || probe.function || probe.glob, probe.reason_text || ""]));
}

// ---- theme and width

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  for (const draw of redraws) draw();
}
part("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { for (const draw of redraws) draw(); }, 120);
});
