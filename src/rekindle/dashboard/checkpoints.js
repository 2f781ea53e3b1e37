// The checkpoints of a job, as Flink shows them: overview, history, summary, configuration; and one in detail.

import { get } from "./api.js";
import { chart } from "./charts.js";
import { h, panel, pill, show, table, tiles } from "./dom.js";
import * as formats from "./formats.js";

const NEVER = 2 ** 62;

export function typeOf(entry) {
  return entry.checkpoint_type.replace("SYNC_", "final ").toLowerCase();
}

function pathOf(entry) {
  if (!entry.external_path || entry.external_path.startsWith("<")) return h("span", { class: "quiet" }, "in memory");
  return h("code", {}, entry.external_path);
}

export function historyColumns(context) {
  return [
    { name: "Id", cell: (row) => h("a", { href: context.link("checkpoints", row.id) }, String(row.id)) },
    { name: "Status", cell: (row) => pill(row.status) },
    { name: "Type", cell: typeOf },
    { name: "Acknowledged", kind: "num", cell: (row) => `${row.num_acknowledged_subtasks} of ${row.num_subtasks}` },
    { name: "Triggered", kind: "when", cell: (row) => formats.moment(row.trigger_timestamp) },
    { name: "Duration", kind: "num", cell: (row) => formats.duration(row.end_to_end_duration) },
    { name: "Written", kind: "num", cell: (row) => formats.size(row.checkpointed_size) },
    { name: "State", kind: "num", cell: (row) => formats.size(row.state_size) },
    { name: "Path or reason", cell: (row) => (row.failure_message ? h("span", { class: "bad" }, row.failure_message) : row.status === "COMPLETED" ? [row.discarded && h("span", { class: "quiet" }, "deleted "), pathOf(row)] : "") },
  ];
}

const PERCENTILES = ["min", "avg", "p50", "p90", "p95", "p99", "p999", "max"];

function summaryTable(summary) {
  const rows = [
    ["Duration", summary.end_to_end_duration, formats.duration],
    ["Written", summary.checkpointed_size, formats.size],
    ["State", summary.state_size, formats.size],
  ];
  const columns = [
    { name: "Of all completed", cell: ([name]) => name },
    ...PERCENTILES.map((name) => ({ name: name.replace("avg", "average"), kind: "num", cell: ([, values, format]) => format(formats.numberOrNothing(values[name])) })),
  ];
  return table("Completed checkpoints and savepoints", columns, rows);
}

function configurationTable(config) {
  const rows = [
    ["Mode", config.mode.replace("_", " ")],
    ["Interval", config.interval > NEVER ? "no periodic checkpoints" : formats.duration(config.interval)],
    ["Timeout", formats.duration(config.timeout)],
    ["Pause between two, at least", formats.duration(config.min_pause)],
    ["At the same time, at most", String(config.max_concurrent)],
    ["Failures in a row that are tolerated", String(config.tolerable_failed_checkpoints)],
    ["Kept after the job was cancelled", config.externalization.enabled && !config.externalization.delete_on_cancellation ? "yes" : "no"],
    ["State backend", config.state_backend],
    ["Storage", config.checkpoint_storage],
  ];
  return table("How this job takes checkpoints", [{ name: "Setting", cell: ([name]) => name }, { name: "Value", cell: ([, value]) => value }], rows, { stack: false });
}

function latest(context, name, entry) {
  return [name, entry ? h("a", { href: context.link("checkpoints", entry.id) }, String(entry.id)) : "none", entry && formats.moment(entry.trigger_timestamp ?? entry.restore_timestamp)];
}

export function checkpointsPage(context) {
  const sizes = chart("The last completed checkpoints", [
    { name: "State", format: formats.size },
    { name: "Written", format: formats.size },
  ]);
  const times = chart("The last completed checkpoints", [{ name: "Duration", format: formats.duration }]);
  const [facts, list, summary, config] = [h("div"), h("div"), h("div"), h("div")];
  const element = h("div", {}, facts, h("div", { class: "grid" }, panel("Sizes over time", sizes.element), panel("Durations over time", times.element)), list, summary, config);
  let shown = "";

  get(`${context.path}/checkpoints/config`).then(
    (document) => show(config, panel("Configuration", configurationTable(document))),
    () => {},
  );

  async function refresh() {
    const document = await get(`${context.path}/checkpoints`);
    const completed = document.history.filter((entry) => entry.status === "COMPLETED").reverse();
    sizes.update(completed.map((entry) => entry.trigger_timestamp), completed.map((entry) => entry.state_size), completed.map((entry) => entry.checkpointed_size));
    times.update(completed.map((entry) => entry.trigger_timestamp), completed.map((entry) => entry.end_to_end_duration));
    show(list, panel("History", table("The last checkpoints and savepoints, the newest first", historyColumns(context), document.history, { empty: "There is no checkpoint." })));
    show(summary, panel("Summary", summaryTable(document.summary)));
  }

  function update({ checkpoints }) {
    const { counts, latest: last } = checkpoints;
    show(
      facts,
      tiles([
        ["Completed", formats.count(counts.completed)],
        ["Failed", formats.count(counts.failed)],
        ["Under way", formats.count(counts.in_progress)],
        latest(context, "Last completed", last.completed),
        latest(context, "Last savepoint", last.savepoint),
        latest(context, "Last failed", last.failed),
        latest(context, "Last restored", last.restored),
      ]),
    );
    const now = JSON.stringify(checkpoints.counts) + last.completed?.id;
    if (now !== shown) {
      shown = now;
      refresh().catch((error) => show(list, h("p", { class: "bad" }, error.message)));
    }
  }
  return { element, update };
}

function subtaskColumns() {
  const of = (read, format = formats.duration) => (row) => (row.status === "completed" ? format(read(row)) : "–");
  return [
    { name: "Subtask", cell: (row) => String(row.index) },
    { name: "Acknowledged", kind: "when", cell: (row) => (row.status === "completed" ? formats.moment(row.ack_timestamp) : "not yet, or failed") },
    { name: "Duration", kind: "num", cell: of((row) => row.end_to_end_duration) },
    { name: "Written", kind: "num", cell: of((row) => row.checkpointed_size, formats.size) },
    { name: "State", kind: "num", cell: of((row) => row.state_size, formats.size) },
    { name: "Start delay", kind: "num", cell: of((row) => row.start_delay) },
    { name: "Alignment", kind: "num", cell: of((row) => row.alignment.duration) },
    { name: "Stood still", kind: "num", cell: of((row) => row.checkpoint.sync) },
    { name: "In the background", kind: "num", cell: of((row) => row.checkpoint.async) },
  ];
}

/** One checkpoint, by operator and subtask. */
export function checkpointPage(context) {
  const element = h("div");
  const path = `${context.path}/checkpoints/details/${encodeURIComponent(context.detail)}`;
  const names = new Map(context.plan.nodes.map((node) => [node.id, node.name]));
  let over = false;

  async function refresh() {
    if (over) return;
    const entry = await get(path);
    over = entry.status !== "IN_PROGRESS";
    const tasks = await Promise.all(Object.keys(entry.tasks).map(async (vertex) => [vertex, await get(`${path}/subtasks/${vertex}`)]));
    const columns = [
      { name: "Operator", cell: ([vertex]) => names.get(vertex) ?? vertex },
      { name: "Acknowledged", kind: "num", cell: ([, task]) => `${task.num_acknowledged_subtasks} of ${task.num_subtasks}` },
      { name: "Last acknowledgement", kind: "when", cell: ([, task]) => formats.moment(task.latest_ack_timestamp) },
      { name: "Duration", kind: "num", cell: ([, task]) => formats.duration(task.end_to_end_duration) },
      { name: "Written", kind: "num", cell: ([, task]) => formats.size(task.checkpointed_size) },
      { name: "State", kind: "num", cell: ([, task]) => formats.size(task.state_size) },
    ];
    show(
      element,
      h("p", {}, h("a", { href: context.link("checkpoints") }, "All checkpoints")),
      tiles([
        [entry.is_savepoint ? "Savepoint" : "Checkpoint", String(entry.id), typeOf(entry)],
        ["Status", pill(entry.status), entry.failure_message],
        ["Triggered", formats.clock(entry.trigger_timestamp), formats.moment(entry.trigger_timestamp).slice(0, 10)],
        ["Duration", formats.duration(entry.end_to_end_duration)],
        ["Written", formats.size(entry.checkpointed_size)],
        ["State", formats.size(entry.state_size)],
      ]),
      entry.status === "COMPLETED" && panel("Where", entry.discarded ? h("p", {}, "It has been deleted since.") : h("p", {}, pathOf(entry)), h("p", {}, h("a", { href: context.link("state", entry.id) }, "What it holds"))),
      panel("By operator", table("What each operator did for it", columns, tasks)),
      panel("By subtask", tasks.map(([vertex, task]) => h("details", {}, h("summary", {}, names.get(vertex) ?? vertex), table(`Subtasks of ${names.get(vertex) ?? vertex}`, subtaskColumns(), task.subtasks)))),
    );
  }

  return { element, update: () => refresh().catch((error) => show(element, h("div", { class: "notice bad" }, error.message))) };
}
