// SPDX-License-Identifier: GPL-2.0
// Charts over time and over values. Each draws into an element, at its width.

const tip = document.getElementById("tip");

function showTip(event, lines) {
  tip.textContent = lines;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.min(event.clientX + 14, innerWidth - box.width - 8) + "px";
  tip.style.top = Math.max(8, event.clientY - box.height - 12) + "px";
}

// words(datum): what the pointer shows over it.
function tipped(selection, words) {
  return selection
    .each(function (datum) {
      this.addEventListener("pointermove", event => showTip(event, words(datum)));
      this.addEventListener("pointerleave", () => { tip.hidden = true; });
    });
}

const counted = d3.format(",");
const short = value => value < 10000 ? counted(value) : d3.format(".3~s")(value);

function duration(nanoseconds) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [size, name] of units)
    if (Math.abs(nanoseconds) >= size) return d3.format(".3~r")(nanoseconds / size) + " " + name;
  return nanoseconds + " ns";
}

const plainValue = value => Math.abs(value) < 1e6 ? counted(value) : d3.format(".4~s")(value);
const valueFormat = unit => unit === "nanoseconds" ? duration : plainValue;
const seconds = value => d3.format(value < 10 ? ".3~f" : ".4~r")(value) + " s";

function canvas(element, height, margin) {
  element.textContent = "";
  const width = Math.max(280, element.clientWidth);
  const svg = d3.select(element).append("svg").attr("width", width).attr("height", height)
    .attr("viewBox", [0, 0, width, height]).attr("role", "img");
  return {svg, left: margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom};
}

function timeAxis(box, x) {
  box.svg.append("g").attr("class", "axis").attr("transform", `translate(0,${box.bottom})`)
    .call(d3.axisBottom(x).ticks(Math.max(2, (box.right - box.left) / 110)).tickSizeOuter(0).tickFormat(seconds));
}

function countAxis(box, y) {
  box.svg.append("g").attr("class", "axis").attr("transform", `translate(${box.left},0)`)
    .call(d3.axisLeft(y).ticks(4).tickSize(box.left - box.right).tickFormat(value => Number.isInteger(value) ? short(value) : ""));
}

// steps: [{from, to, count}], in seconds. chosen(range or null) is told what is brushed.
function drawTime(element, steps, end, chosen) {
  const box = canvas(element, 170, {left: 52, right: 16, top: 10, bottom: 24});
  const x = d3.scaleLinear([0, end || 1], [box.left, box.right]);
  const rate = step => step.count / (step.to - step.from);
  const y = d3.scaleLinear([0, d3.max(steps, rate) || 1], [box.bottom, box.top]).nice(4);
  countAxis(box, y);
  timeAxis(box, x);
  const points = steps.flatMap(step => [[step.from, rate(step)], [step.to, rate(step)]]);
  box.svg.append("path").attr("class", "area")
    .attr("d", d3.area().x(p => x(p[0])).y0(box.bottom).y1(p => y(p[1]))(points));
  box.svg.append("path").attr("class", "edge")
    .attr("d", d3.line().x(p => x(p[0])).y(p => y(p[1]))(points));
  box.svg.node().addEventListener("pointermove", event => {
    const at = x.invert(event.clientX - box.svg.node().getBoundingClientRect().left);
    const step = steps.find(one => at >= one.from && at < one.to);
    if (step) showTip(event, `${seconds(step.from)}: ${counted(step.count)}, ${short(Math.round(rate(step)))} per second`);
  });
  box.svg.node().addEventListener("pointerleave", () => { tip.hidden = true; });
  if (!chosen) return;
  const brush = d3.brushX().extent([[box.left, box.top], [box.right, box.bottom]]);
  // D3 6 hands the event over, and 5 keeps it.
  brush.on("end", event => {
    const selection = (event && event.type ? event : d3.event).selection;
    chosen(selection ? selection.map(x.invert) : null);
  });
  box.svg.append("g").attr("class", "brush").call(brush);
}

// By powers of two where values are far apart, else equal: [{from, to}], whole numbers.
function slotsFor(values) {
  const least = d3.min(values), most = d3.max(values);
  const slots = [];
  if (least >= 0 && most >= 64 && most > 16 * Math.max(1, d3.quantile(values.slice().sort(d3.ascending), 0.1))) {
    const first = least < 1 ? -1 : Math.floor(Math.log2(least));
    for (let power = first; power < 0 || 2 ** power <= most; ++power)
      slots.push(power < 0 ? {from: 0, to: 0} : {from: 2 ** power, to: 2 ** (power + 1) - 1});
    return slots;
  }
  const step = Math.max(1, Math.ceil((most - least + 1) / 32));
  for (let from = least; from <= most; from += step) slots.push({from, to: from + step - 1});
  return slots;
}

function slotOf(slots, value) {
  return Math.max(0, d3.bisector(slot => slot.from).right(slots, value) - 1);
}

const rangeText = (slot, format) => slot.name || (slot.from === slot.to ? format(slot.from) : `${format(slot.from)} to ${format(slot.to)}`);

// bars: [{from, to, count}]
function drawHistogram(element, bars, format) {
  const box = canvas(element, 260, {left: 52, right: 8, top: 10, bottom: 40});
  const x = d3.scaleBand(d3.range(bars.length), [box.left, box.right]).paddingInner(0.12);
  const y = d3.scaleLinear([0, d3.max(bars, bar => bar.count) || 1], [box.bottom, box.top]).nice(4);
  countAxis(box, y);
  const all = d3.sum(bars, bar => bar.count);
  tipped(box.svg.append("g").selectAll("rect").data(bars).join("rect").attr("class", "column")
    .attr("x", (bar, i) => x(i)).attr("width", x.bandwidth()).attr("rx", Math.min(2, x.bandwidth() / 4))
    .attr("y", bar => bar.count ? Math.min(y(bar.count), box.bottom - 1) : box.bottom)
    .attr("height", bar => bar.count ? Math.max(1, box.bottom - y(bar.count)) : 0),
  bar => `${rangeText(bar, format)}: ${counted(bar.count)} (${d3.format(".1%")(bar.count / all)})`);
  const every = Math.ceil(bars.length / Math.max(1, Math.floor((box.right - box.left) / 62)));
  box.svg.append("g").selectAll("text").data(bars.filter((bar, i) => i % every === 0)).join("text")
    .attr("x", (bar, i) => x(i * every) + x.bandwidth() / 2).attr("y", box.bottom + 16)
    .attr("text-anchor", "middle").text(bar => bar.name || format(bar.from));
}

// cells: [{x0, x1, slot, count}], in seconds and numbers of slots.
function drawHeat(element, cells, slots, end, format) {
  const box = canvas(element, 260, {left: 74, right: 16, top: 10, bottom: 24});
  const x = d3.scaleLinear([0, end || 1], [box.left, box.right]);
  const y = d3.scaleBand(d3.range(slots.length), [box.bottom, box.top]);
  const dark = document.documentElement.dataset.theme === "dark";
  const most = d3.max(cells, cell => cell.count) || 1;
  const colour = d3.scaleSequential(t => dark ? d3.interpolateInferno(0.2 + 0.8 * t) : d3.interpolateYlGnBu(0.15 + 0.85 * t))
    .domain([0, Math.log1p(most)]);
  tipped(box.svg.append("g").selectAll("rect").data(cells).join("rect").attr("class", "cell")
    .attr("x", cell => x(cell.x0)).attr("width", cell => Math.max(1, x(cell.x1) - x(cell.x0) + 0.3))
    .attr("y", cell => y(cell.slot)).attr("height", y.bandwidth() + 0.3)
    .attr("fill", cell => colour(Math.log1p(cell.count))),
  cell => `${seconds(cell.x0)}, ${rangeText(slots[cell.slot], format)}: ${counted(cell.count)}`);
  const every = Math.ceil(slots.length / 9);
  box.svg.append("g").selectAll("text").data(slots.filter((slot, i) => i % every === 0)).join("text")
    .attr("x", box.left - 8).attr("y", (slot, i) => y(i * every) + y.bandwidth() / 2 + 4)
    .attr("text-anchor", "end").text(slot => slot.name || format(slot.from));
  timeAxis(box, x);
}
