// The graph of operators: laid out from left to right, levels as bands, what crosses a level as a thick line.

import { s, tone } from "./dom.js";
import * as formats from "./formats.js";

const CARD = { width: 190, height: 108 };
const NAME = { letters: 21, line: 16 }; // so many fit beside the circle
const GAP = { x: 60, y: 22 };
const SMALLEST = 0.75; // smaller than that, letters cannot be read
const SIDEWAYS = 0.9; // then the graph is moved sideways, and may be larger
const MARGIN = { x: 14, top: 34, bottom: 14 };

/** Give every operator a column, the number of operators on the longest way to it, and a row. Pure. */
export function layout(nodes, cardHeight = CARD.height) {
  const columns = new Map();
  const known = new Map(nodes.map((node) => [node.id, node]));
  const columnOf = (node) => {
    if (!columns.has(node.id)) {
      columns.set(node.id, 0); // so that a loop ends
      const before = (node.inputs ?? []).map((input) => known.get(input.id)).filter(Boolean).map(columnOf);
      columns.set(node.id, before.length ? Math.max(...before) + 1 : 0);
    }
    return columns.get(node.id);
  };
  nodes.forEach(columnOf);
  const byColumn = [];
  for (const node of nodes) (byColumn[columns.get(node.id)] ??= []).push(node);
  const rows = new Map();
  for (const column of byColumn) {
    const wish = (node) => {
      const before = (node.inputs ?? []).map((input) => rows.get(input.id)).filter((row) => row !== undefined);
      return before.length ? before.reduce((sum, row) => sum + row, 0) / before.length : 0;
    };
    const wanted = column.map((node) => ({ node, row: wish(node) })).sort((one, other) => one.row - other.row);
    let free = 0;
    for (const { node, row } of wanted) {
      free = Math.max(free, row);
      rows.set(node.id, free);
      free += 1;
    }
  }
  return nodes.map((node) => ({
    node,
    x: MARGIN.x + columns.get(node.id) * (CARD.width + GAP.x),
    y: MARGIN.top + rows.get(node.id) * (cardHeight + GAP.y),
  }));
}

/** Break a name into lines that fit a card: between words, and within one that is longer than a line. Pure. */
export function lines(name, most = NAME.letters) {
  const found = [""];
  for (const word of name.split(/(?<=[ \-–_/.])/)) {
    for (let rest = word; rest; ) {
      const line = found[found.length - 1];
      if (line && line.length + rest.trimEnd().length > most) {
        found.push("");
        continue;
      }
      found[found.length - 1] = line + rest.slice(0, most);
      rest = rest.slice(most);
    }
  }
  return found.map((line) => line.trim()).filter((line, at) => line || !at);
}

function card({ node, x, y }, vertex, link, chosen, height) {
  const named = lines(node.name);
  const down = height - CARD.height; // names take more than one line
  const rates = vertex?.rates;
  const busy = Math.round(rates?.["busy-time-ms-per-second"] ?? 0);
  const held = Math.round(rates?.["backpressured-time-ms-per-second"] ?? 0);
  const width = CARD.width - 24;
  const line = (dy, text, kind = "") => s("text", { x: 12, y: dy, class: kind }, text);
  const right = (dy, text, kind) => s("text", { x: 12 + width, y: dy, class: `${kind} right` }, text);
  const written = vertex && `in ${formats.rate(rates["records-in-per-second"])} · out ${formats.rate(rates["records-out-per-second"])}`;
  const state = vertex?.["state-size"] ? ` · state ${formats.size(vertex["state-size"])}` : "";
  const label = `${node.name}, parallelism ${node.parallelism}, ${vertex?.status ?? ""}, busy ${formats.percent(busy)}, back-pressured ${formats.percent(held)}`;
  return s(
    "a",
    { href: link(node.id), transform: `translate(${x} ${y})`, "aria-label": label, "data-chosen": chosen === node.id ? "" : null },
    s("title", {}, node.description || node.name),
    s("rect", { class: "card", width: CARD.width, height, rx: 8 }),
    s("circle", { class: "tone", cx: CARD.width - 16, cy: 17, r: 4, "data-tone": tone(vertex?.status) === "run" ? "good" : tone(vertex?.status) }),
    named.map((text, at) => line(21 + at * NAME.line, text, "name")),
    line(37 + down, `× ${node.parallelism}${state}`, "soft"),
    line(54 + down, written ?? ""),
    line(70 + down, `watermark ${formats.shortWatermark(rates?.watermark)}`, "soft"),
    s("rect", { class: "fill-idle", x: 12, y: 79 + down, width, height: 6, rx: 3 }),
    s("rect", { class: "fill-busy", x: 12, y: 79 + down, width: (width * busy) / 1000, height: 6, rx: 3 }),
    s("rect", { class: "fill-held", x: 12 + (width * busy) / 1000, y: 79 + down, width: (width * held) / 1000, height: 6, rx: 3 }),
    line(99 + down, `busy ${formats.percent(busy)}`, "soft"),
    right(99 + down, `held up ${formats.percent(held)}`, "soft"),
  );
}

function edge(from, to, input, height) {
  const exchange = input.exchange === "pipelined_bounded";
  const start = { x: from.x + CARD.width, y: from.y + height / 2 };
  const end = { x: to.x - 7, y: to.y + height / 2 };
  const bend = Math.max(30, (end.x - start.x) / 2);
  const middle = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 - 7 };
  return [
    s("path", { class: exchange ? "edge exchange" : "edge", d: `M${start.x} ${start.y} C${start.x + bend} ${start.y} ${end.x - bend} ${end.y} ${end.x} ${end.y}` }),
    s("path", { class: "arrow", d: `M${end.x} ${end.y - 4} l7 4 l-7 4 z` }),
    s("text", { class: "edge-name", x: middle.x, y: middle.y }, input.ship_strategy.toLowerCase()),
  ];
}

function bands(placed, height) {
  const levels = new Map();
  for (const { node, x } of placed) {
    const known = levels.get(node.level) ?? { from: x, to: x };
    levels.set(node.level, { from: Math.min(known.from, x), to: Math.max(known.to, x) });
  }
  return [...levels].sort(([one], [other]) => one - other).map(([level, { from, to }]) => [
    s("rect", { class: "band", x: from - 12, y: 4, width: to - from + CARD.width + 24, height: height - 8, rx: 10 }),
    s("text", { class: "band-name", x: from, y: 22 }, `Level ${level}`),
  ]);
}

/** Draw the plan. Vertices are what is known of the operators, by id; `link` gives the address of an operator. */
export function drawGraph(plan, vertices, link, chosen, room) {
  const cardHeight = CARD.height + (Math.max(1, ...plan.nodes.map((node) => lines(node.name).length)) - 1) * NAME.line;
  const placed = layout(plan.nodes, cardHeight);
  const places = new Map(placed.map((each) => [each.node.id, each]));
  const width = Math.max(...placed.map(({ x }) => x)) + CARD.width + MARGIN.x;
  const height = Math.max(...placed.map(({ y }) => y)) + cardHeight + MARGIN.bottom;
  const fitting = Math.min(1, (room || width) / width);
  const scale = fitting < SMALLEST ? SIDEWAYS : fitting;
  const edges = placed.map((to) => (to.node.inputs ?? []).map((input) => places.has(input.id) && edge(places.get(input.id), to, input, cardHeight)));
  return s(
    "svg",
    { width: Math.round(width * scale), height: Math.round(height * scale), viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Graph of operators; the table below says the same" },
    bands(placed, height),
    edges,
    placed.map((each) => card(each, vertices.get(each.node.id), link, chosen, cardHeight)),
  );
}
