// SPDX-License-Identifier: GPL-2.0
// A flame graph of stacks: [{frames: [outermost, ...], count}].

function treeOf(stacks) {
  const root = {name: "all", count: 0, children: new Map()};
  for (const stack of stacks) {
    let node = root;
    for (const name of stack.frames) {
      if (!node.children.has(name)) node.children.set(name, {name, count: 0, children: new Map()});
      node = node.children.get(name);
    }
    node.count += stack.count;
  }
  return root;
}

// Warm colours, one for each name.
function flameColour(name) {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return `hsl(${10 + hash % 42}, ${70 + (hash >> 8) % 20}%, ${60 + (hash >> 16) % 10}%)`;
}

const kFrameHeight = 19;

class FlameGraph {
  constructor(element, stacks) {
    this.element = element;
    this.word = "";
    this.root = d3.hierarchy(treeOf(stacks), node => [...node.children.values()])
      .sum(node => node.count)
      .sort((a, b) => d3.ascending(a.data.name, b.data.name));
    d3.partition()(this.root);
    this.top = this.root;
  }

  search(word) {
    this.word = word.toLowerCase();
    this.draw();
  }

  draw() {
    const height = (this.root.height + 1) * kFrameHeight + 4;
    const box = canvas(this.element, height, {left: 0, right: 0, top: 0, bottom: 0});
    const x = d3.scaleLinear([this.top.x0, this.top.x1], [0, box.right]);
    const above = new Set(this.top.ancestors());
    const shown = this.root.descendants().filter(node =>
      above.has(node) || (node.x0 >= this.top.x0 && node.x1 <= this.top.x1 && x(node.x1) - x(node.x0) > 0.4));
    const left = node => above.has(node) ? 0 : x(node.x0);
    const width = node => above.has(node) ? box.right : x(node.x1) - x(node.x0);
    const frames = box.svg.selectAll("g").data(shown).join("g").attr("class", "frame")
      .attr("transform", node => `translate(${left(node)},${height - (node.depth + 1) * kFrameHeight - 2})`)
      .classed("faded", node => above.has(node) && node !== this.top);
    frames.append("rect").attr("width", width).attr("height", kFrameHeight - 1).attr("rx", 2)
      .attr("fill", node => this.colour(node));
    frames.filter(node => width(node) > 34).append("text").attr("x", 5).attr("y", 13)
      .text(node => this.fitting(node.data.name, width(node) - 8));
    tipped(frames, node => `${node.data.name}: ${counted(node.value)} (${d3.format(".1%")(node.value / this.root.value)})`);
    frames.on("click", null).each((node, i, nodes) =>
      nodes[i].addEventListener("click", () => { this.top = node; tip.hidden = true; this.draw(); }));
  }

  colour(node) {
    if (this.word && node.data.name.toLowerCase().includes(this.word)) return "#b57bff";
    return node.depth === 0 ? "#c9ced6" : flameColour(node.data.name);
  }

  fitting(name, width) {
    const letters = Math.floor(width / 7);
    return name.length <= letters ? name : name.slice(0, Math.max(1, letters - 1)) + "…";
  }
}
