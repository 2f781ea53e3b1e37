// Charts over time, each with a sentence that says the same.

import { h } from "./dom.js";
import * as formats from "./formats.js";
import uPlot from "./uplot.js";

const drawn = new Set();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * Make a chart. Series are {name, format}; the first two have a scale each, left and right.
 * Returns {element, update(times in ms, values of each series)}.
 */
export function chart(title, series) {
  const place = h("div", { class: "chart", "aria-hidden": "true" });
  const words = h("figcaption", {});
  const element = h("figure", { "data-keep": "" }, place, words);
  let data = [[], ...series.map(() => [])];
  let plot = null;

  function draw() {
    plot?.destroy();
    plot = null;
    if (!place.isConnected || data[0].length < 2) return;
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line-soft"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "11px system-ui, sans-serif" };
    plot = new uPlot(
      {
        width: place.clientWidth,
        height: 165,
        cursor: { drag: { x: false, y: false } },
        axes: [
          { ...axis, space: 80, values: (_, ticks) => ticks.map((tick) => formats.clock(tick * 1000)) },
          ...series.map((each, index) => ({ ...axis, scale: `y${index}`, side: index ? 1 : 3, size: 68, grid: index ? { show: false } : axis.grid, values: (_, ticks) => ticks.map((tick) => each.format(tick)) })),
        ],
        scales: Object.fromEntries(series.map((_, index) => [`y${index}`, { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] }])),
        series: [
          { value: (_, time) => (time === null ? "–" : formats.clock(time * 1000)) },
          ...series.map((each, index) => ({ label: each.name, scale: `y${index}`, stroke: colour(`--chart-${index + 1}`), width: 1.5, points: { show: data[0].length < 30, size: 5 }, value: (_, value) => (value === null ? "–" : each.format(value)) })),
        ],
      },
      data,
      place,
    );
  }

  function update(times, ...values) {
    const redraw = plot === null || data[0].length < 30;
    data = [times.map((time) => time / 1000), ...values];
    words.textContent = times.length < 2 ? `${title}: not enough to draw.` : `${title}: ${series.map((each, index) => described(each, values[index])).join("; ")}.`;
    if (redraw) draw();
    else plot.setData(data);
  }

  const known = { draw, place, width: 0 };
  drawn.add(known);
  return { element, update };
}

/** Return the speed of a run over time: times, records per second, average duration of epochs. Where none ended, it is 0. */
export function speeds({ step, points }) {
  const known = new Map(points.map((point) => [point.time, point]));
  const times = [];
  for (let time = points[0]?.time; time <= points.at(-1)?.time; time += step) times.push(time);
  return [
    times.map((time) => time + step),
    times.map((time) => ((known.get(time)?.records ?? 0) * 1000) / step),
    times.map((time) => (known.has(time) ? known.get(time).duration / known.get(time).epochs : null)),
  ];
}

function described({ name, format }, values) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return `no ${name.toLowerCase()}`;
  return `${name.toLowerCase()} last ${format(known.at(-1))}, lowest ${format(Math.min(...known))}, highest ${format(Math.max(...known))}`;
}

function redrawAll() {
  for (const known of [...drawn]) {
    if (known.place.isConnected) known.draw();
    else drawn.delete(known);
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
let resizing = null;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(redrawAll, 150);
});
