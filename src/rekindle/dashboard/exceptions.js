// Restarts and failures: which attempts there were, what ended them, and what user code raised.

import { get } from "./api.js";
import { h, panel, pill, show, table, tiles } from "./dom.js";
import * as formats from "./formats.js";

function failure(entry) {
  const after = entry.followedBy === "RESTARTING" ? `a restart ${formats.duration(entry.restartDelay)} later` : "the end of the job";
  const where = [entry.taskName && `in ${entry.taskName}`, entry.taskManagerId, entry.endpoint].filter(Boolean).join(" · ");
  return h(
    "article",
    {},
    h("h3", {}, `Attempt ${entry.attempt + 1}: ${entry.exceptionName.split(".").at(-1)} `, pill(entry.followedBy)),
    h("p", { class: "quiet" }, `${formats.moment(entry.timestamp)}${where && ` · ${where}`} · followed by ${after}`),
    h("pre", { tabindex: "0", "aria-label": `What attempt ${entry.attempt + 1} failed with` }, entry.stacktrace),
  );
}

export function exceptionsPage(context) {
  const [facts, list, attempts] = [h("div"), h("div"), h("div")];
  const element = h("div", {}, facts, list, attempts);
  let shown = "";
  const columns = [
    { name: "Attempt", cell: (row) => String(row.attempt + 1) },
    { name: "Slots ready", kind: "when", cell: (row) => formats.moment(row["start-time"]) },
    { name: "Restored from", cell: (row) => (row["restored-checkpoint"] === null ? "the beginning" : h("a", { href: context.link("checkpoints", row["restored-checkpoint"]) }, `checkpoint ${row["restored-checkpoint"]}`)) },
    { name: "Slots (host:process)", cell: (row) => h("code", {}, row.slots.map((slot) => slot.endpoint).join(", ")) },
  ];

  async function refresh() {
    const [{ exceptionHistory }, told] = await Promise.all([get(`${context.path}/exceptions?maxExceptions=50`), get(`${context.path}/attempts`)]);
    show(
      facts,
      tiles([
        ["Restarts", formats.count(told.restarts)],
        ["Attempts", formats.count((told.attempts[0]?.attempt ?? -1) + 1)],
        ["Last failure", exceptionHistory.entries.length ? formats.clock(exceptionHistory.entries[0].timestamp) : "none"],
      ]),
    );
    const entries = exceptionHistory.entries.map(failure);
    const more = exceptionHistory.truncated && h("p", { class: "quiet" }, "There were more failures before.");
    show(list, panel("Failures", entries.length ? entries : h("p", { class: "empty" }, "This job has not failed."), more));
    show(attempts, panel("Attempts", table("The last attempts, the newest first", columns, told.attempts, { empty: "No attempt has begun." })));
  }

  function update({ job, exceptions }) {
    const now = `${job.state} ${exceptions} ${job.vertices[0]?.["start-time"]}`;
    if (now === shown) return;
    shown = now;
    refresh().catch((error) => show(list, h("p", { class: "bad" }, error.message)));
  }
  return { element, update };
}
