// A job at a glance: its numbers, its graph, its operators, and the subtasks of one of them.

import { get } from "./api.js";
import { chart, speeds } from "./charts.js";
import { h, legend, panel, pill, share, show, table, tiles } from "./dom.js";
import * as formats from "./formats.js";
import { drawGraph } from "./graph.js";

/** Bytes are counted where records leave their slot; elsewhere they are handed on by a call. */
function bytes(plan, metrics, id, kind) {
  const counted = metrics[`${kind}-bytes`];
  if (counted || metrics[`${kind}-bytes-complete`]) return formats.size(counted);
  const node = plan.nodes.find((each) => each.id === id);
  const linked = kind === "read" ? node?.inputs?.length : plan.nodes.some((each) => each.inputs?.some((input) => input.id === id));
  return linked ? "by call" : "–";
}

const busyCell = ({ rates }) => [share(rates["busy-time-ms-per-second"], rates["backpressured-time-ms-per-second"]), formats.percent(rates["busy-time-ms-per-second"])];

const both = (count, rate) => [count, h("small", {}, rate)];

const numbers = (plan, idOf) => [
  { name: "Records in", kind: "num", cell: ({ metrics, rates }) => both(formats.count(metrics["read-records"]), formats.rate(rates["records-in-per-second"])) },
  { name: "Records out", kind: "num", cell: ({ metrics, rates }) => both(formats.count(metrics["write-records"]), formats.rate(rates["records-out-per-second"])) },
  { name: "Bytes in", kind: "num", cell: (row) => bytes(plan, row.metrics, idOf(row), "read") },
  { name: "Bytes out", kind: "num", cell: (row) => bytes(plan, row.metrics, idOf(row), "write") },
  { name: "Busy", kind: "when", cell: busyCell },
  { name: "Back-pressured", kind: "num", cell: ({ rates }) => formats.percent(rates["backpressured-time-ms-per-second"]) },
  { name: "Watermark", kind: "when", cell: ({ rates }) => formats.watermark(rates.watermark).replace(/\.\d+Z$/, "Z") },
  { name: "State", kind: "num", cell: (row) => formats.size(row["state-size"]) },
];

export function overviewPage(context) {
  const speed = chart("Records from sources over the whole run", [{ name: "Records per second", format: formats.rate }]);
  const [facts, graph, operators, subtasks] = [h("div"), h("div"), h("div"), h("div")];
  const element = h("div", {}, facts, graph, operators, subtasks, panel("Throughput", speed.element));
  const levels = new Map(context.plan.nodes.map((node) => [node.id, node.level]));
  const chosen = context.detail;
  let asked = 0;
  let last = null;
  const redraw = () => last && update(last);
  addEventListener("resize", redraw);

  async function showSubtasks() {
    if (!chosen || Date.now() - asked < 1900) return;
    asked = Date.now();
    try {
      const vertex = await get(`${context.path}/vertices/${encodeURIComponent(chosen)}`);
      const columns = [
        { name: "Subtask", cell: (row) => String(row.subtask) },
        { name: "Status", cell: (row) => pill(row.status) },
        { name: "Slot", cell: (row) => h("code", {}, row.endpoint) },
        ...numbers(context.plan, () => vertex.id),
      ];
      show(subtasks, panel(`Subtasks of ${vertex.name}`, table(`Each subtask of ${vertex.name}, in attempt ${vertex.subtasks[0].attempt + 1}`, columns, vertex.subtasks)));
    } catch (error) {
      show(subtasks, h("p", { class: "empty" }, error.message));
    }
  }

  function update(event) {
    last = event;
    const { job, epochs, checkpoints } = event;
    const latest = checkpoints.latest.completed;
    show(
      facts,
      tiles([
        ["Records from sources", formats.rate(epochs["records-per-second"]), `${formats.count(epochs.records)} in all`],
        ["Epochs", formats.count(epochs.epochs), epochs.recent.length ? `the last took ${formats.duration(epochs.recent[0].duration)}` : "none has ended"],
        ["Watermark", formats.watermark(epochs.watermark)],
        ["Last checkpoint", latest ? `${latest.id}` : "none", latest && `${formats.size(latest.state_size)} in ${formats.duration(latest.end_to_end_duration)}`],
        ["Checkpoints", formats.count(checkpoints.counts.completed), `${checkpoints.counts.failed} failed, ${checkpoints.counts.in_progress} under way`],
        ["Restored", formats.count(checkpoints.counts.restored), checkpoints.latest.restored && `from ${checkpoints.latest.restored.id} at ${formats.clock(checkpoints.latest.restored.restore_timestamp)}`],
      ]),
    );
    const [times, records] = speeds(epochs.timeline);
    speed.update(times, records);
    const vertices = new Map(job.vertices.map((vertex) => [vertex.id, vertex]));
    const link = (vertex) => context.link("overview", vertex);
    show(graph, panel("Graph", h("div", { class: "graph" }, drawGraph(context.plan, vertices, link, chosen, element.clientWidth - 34)), legend()));
    const columns = [
      { name: "Operator", kind: "name", cell: (row) => h("a", { href: link(row.id) }, row.name) },
      { name: "Level", kind: "num", cell: (row) => String(levels.get(row.id) ?? "") },
      { name: "Parallelism", kind: "num", cell: (row) => String(row.parallelism) },
      { name: "Status", cell: (row) => pill(row.status) },
      ...numbers(context.plan, (row) => row.id),
    ];
    const words = "Counts of this attempt; rates of the last 10 seconds; busy and back-pressured: the highest of any subtask; state: in the last checkpoint. Choose an operator to see its subtasks.";
    show(operators, panel("Operators", table(words, columns, job.vertices, { chosen: (row) => row.id === chosen })));
    showSubtasks();
  }
  return { element, update, leave: () => removeEventListener("resize", redraw) };
}
