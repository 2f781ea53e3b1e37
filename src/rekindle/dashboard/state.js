// The state of a job: look-ups of queryable state, and what a checkpoint holds.

import { get } from "./api.js";
import { h, panel, show, table } from "./dom.js";
import * as formats from "./formats.js";

function queryable(context) {
  const place = h("div");
  const result = h("div", { "aria-live": "polite" });
  const name = h("select", { id: "state-name" });
  const key = h("input", { id: "state-key", placeholder: 'alice, 42, or ["alice", 42]' });
  const consistency = h("select", { id: "consistency" }, h("option", { value: "live" }, "live: as the operator sees it"), h("option", { value: "checkpointed" }, "checkpointed: as the last checkpoint has it"));

  async function look() {
    const path = `${context.path}/state/${encodeURIComponent(name.value)}/${encodeURIComponent(key.value)}?consistency=${consistency.value}`;
    try {
      result.replaceChildren(h("pre", { tabindex: "0" }, JSON.stringify(await get(path), null, 2)));
    } catch (error) {
      result.replaceChildren(h("p", { class: "bad" }, error.message));
    }
  }

  key.addEventListener("keydown", (event) => event.key === "Enter" && look());
  const form = h("div", { class: "form" }, h("label", {}, "State", name), h("label", {}, "Key", key), h("label", {}, "Consistency", consistency), h("button", { type: "button", id: "look-up", class: "primary", click: look }, "Look up"));
  const none = (text) => show(place, h("p", { class: "empty" }, text));
  let known = false;

  /** Ask for the names until there are some: a job that starts, or starts again, has none for a moment. */
  async function update() {
    if (known || context.history) return;
    try {
      const { enabled, states } = await get(`${context.path}/state`);
      if (!enabled) return none("Queryable state is off in this job: set queryable-state.enable to true.");
      if (!states.length) return none("This job has no queryable state: set_queryable(name) on a descriptor makes it so.");
      known = true;
      name.replaceChildren(...states.map((state) => h("option", {}, state.name)));
      place.replaceChildren(form, result);
    } catch (error) {
      none(error.message);
    }
  }

  if (context.history) none("State can only be looked up while the job runs.");
  else update();
  return { element: panel("Queryable state", place), update };
}

/** Return one row for each state of an operator, as `rekindle state` prints them. */
function rowsOf(operator) {
  const head = { operator: operator.name, uid: operator.uid };
  const rows = [
    ...operator.keyed_states.map((state) => ({ ...head, name: state.name, kind: state.ttl ? `${state.kind}, expires` : state.kind || "empty", keys: state.key_type, type: [state.map_key_type, state.value_type].filter(Boolean).join(" → "), entries: `${state.exact ? "" : "~"}${formats.count(state.keys)}`, size: state.size })),
    ...operator.timers.map((timers) => ({ ...head, name: "", kind: `${timers.domain}-time timers`, keys: timers.key_type, type: timers.namespace_type, entries: formats.count(timers.entries), size: timers.size })),
    ...operator.operator_states.map((state) => ({ ...head, name: state.name, kind: state.mode === "broadcast" ? "broadcast" : `${state.mode} list`, keys: state.map_key_type, type: state.value_type, entries: formats.count(state.items.reduce((sum, items) => sum + items, 0)), size: state.size })),
  ];
  if (operator.raw) rows.push({ ...head, name: "", kind: "raw", keys: "", type: "", entries: formats.count(operator.raw.key_groups), size: operator.raw.size });
  return rows.length ? rows : [{ ...head, name: "no state", kind: "", keys: "", type: "", entries: "", size: null }];
}

const COLUMNS = [
  { name: "Operator", cell: (row) => row.operator },
  { name: "uid", cell: (row) => h("code", {}, row.uid) },
  { name: "State", cell: (row) => h("code", {}, row.name) },
  { name: "Kind", cell: (row) => row.kind },
  { name: "Keys", cell: (row) => row.keys },
  { name: "Type", cell: (row) => row.type },
  { name: "Entries", kind: "num", cell: (row) => row.entries },
  { name: "Size", kind: "num", cell: (row) => formats.size(row.size) },
];

function contents(context) {
  const place = h("div", { "aria-live": "polite" });
  const choice = h("select", { id: "snapshot", change: read });
  let shown = "";

  async function read() {
    if (!choice.value) return show(place, h("p", { class: "empty" }, "There is no checkpoint in files."));
    show(place, h("p", { class: "quiet" }, "Reading …"));
    try {
      const told = await get(`${context.path}/checkpoints/details/${choice.value}/state`);
      const words = `${told.savepoint ? "Savepoint" : "Checkpoint"} ${told.checkpoint_id}, ${told.format}, ${formats.size(told.size)}, taken ${formats.moment(told.timestamp)}`;
      show(place, table(words, COLUMNS, told.operators.flatMap(rowsOf), { empty: "It holds no operators." }), h("p", {}, h("code", {}, told.location)));
    } catch (error) {
      if (error.status === 404 && (await replaced())) return read();
      show(place, h("p", { class: "bad" }, error.message));
    }
  }

  /** Whether the chosen checkpoint went while it was read, because a newer one took its place; that one is chosen then. */
  async function replaced() {
    const gone = choice.value;
    await list();
    return choice.value !== gone && Boolean(choice.value);
  }

  async function refresh() {
    const readable = await list();
    if (!place.hasChildNodes() || !readable.length) await read(); // what is shown may be read on, though it is deleted
  }

  async function list() {
    const { history } = await get(`${context.path}/checkpoints`);
    const readable = history.filter((entry) => entry.status === "COMPLETED" && !entry.discarded && !entry.external_path?.startsWith("<"));
    const before = choice.value || context.detail;
    choice.replaceChildren(...readable.map((entry) => h("option", { value: entry.id, selected: String(entry.id) === before }, `${entry.is_savepoint ? "savepoint" : "checkpoint"} ${entry.id} of ${formats.clock(entry.trigger_timestamp)}`)));
    return readable;
  }

  function update({ checkpoints }) {
    const now = JSON.stringify(checkpoints.counts);
    if (now === shown) return;
    shown = now;
    refresh().catch((error) => show(place, h("p", { class: "bad" }, error.message)));
  }
  return { element: panel("What a checkpoint holds", h("div", { class: "form" }, h("label", {}, "Checkpoint or savepoint", choice)), place), update };
}

export function statePage(context) {
  const asked = queryable(context);
  const held = contents(context);
  const update = (news) => {
    asked.update();
    held.update(news);
  };
  return { element: h("div", {}, asked.element, held.element), update };
}
