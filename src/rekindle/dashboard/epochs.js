// The epochs of a job: how long they take, what they bring, and for how long slots work in them.

import { chart, speeds } from "./charts.js";
import { h, panel, show, table, tiles } from "./dom.js";
import * as formats from "./formats.js";

const SHOWN = 60;

export function epochsPage() {
  const time = chart("The last epochs", [
    { name: "Duration", format: formats.duration },
    { name: "Records", format: formats.count },
  ]);
  const run = chart("Over the whole run", [
    { name: "Records per second", format: formats.rate },
    { name: "Average duration", format: formats.duration },
  ]);
  const [facts, list] = [h("div"), h("div")];
  const element = h("div", {}, facts, h("div", { class: "grid" }, panel("Last epochs", time.element), panel("Whole run", run.element)), list);
  const columns = [
    { name: "Epoch", cell: (row) => formats.count(row.epoch) },
    { name: "Attempt", kind: "num", cell: (row) => String(row.attempt + 1) },
    { name: "Ended", kind: "when", cell: (row) => formats.moment(row["end-time"]) },
    { name: "Duration", kind: "num", cell: (row) => formats.duration(row.duration) },
    { name: "Slots at work", kind: "num", cell: (row) => formats.duration(row["busy-time"]) },
    { name: "Records", kind: "num", cell: (row) => formats.count(row.records) },
    { name: "Watermark", kind: "when", cell: (row) => formats.watermark(row.watermark) },
  ];

  function update({ epochs }) {
    const recent = epochs.recent.slice(0, SHOWN);
    const average = recent.reduce((sum, row) => sum + row.duration, 0) / Math.max(recent.length, 1);
    show(
      facts,
      tiles([
        ["Epochs", formats.count(epochs.epochs), "over all attempts"],
        ["Average duration", recent.length ? formats.duration(average) : "–", `of the last ${recent.length}`],
        ["Records from sources", formats.count(epochs.records), formats.rate(epochs["records-per-second"])],
        ["Watermark", formats.watermark(epochs.watermark)],
      ]),
    );
    const oldestFirst = [...recent].reverse();
    time.update(oldestFirst.map((row) => row["end-time"]), oldestFirst.map((row) => row.duration), oldestFirst.map((row) => row.records));
    run.update(...speeds(epochs.timeline));
    show(list, panel("Epochs", table("The last epochs, the newest first. Slots at work: how long the busiest one was.", columns, recent, { empty: "No epoch has ended." })));
  }
  return { element, update };
}
