// The savepoints of a job, and taking another one.

import { get, operate } from "./api.js";
import { say } from "./dialogs.js";
import { h, panel, show, table } from "./dom.js";
import { historyColumns } from "./checkpoints.js";

export function savepointsPage(context) {
  const list = h("div");
  const outcome = h("p", { "aria-live": "polite" });
  const directory = h("input", { id: "directory", placeholder: "the job's savepoint directory" });
  const button = h("button", { type: "button", id: "savepoint", class: "primary", click: take }, "Take savepoint");
  const form = panel(
    "Take a savepoint",
    h("p", { class: "quiet" }, "A savepoint is a complete image of the state, to start this or a changed program from. The job continues."),
    h("div", { class: "form" }, h("label", {}, "Directory", directory), button),
    outcome,
  );
  const element = h("div", {}, form, list);
  form.hidden = context.history;
  let shown = "";

  async function take() {
    button.disabled = true;
    outcome.textContent = "Taking the savepoint …";
    try {
      const { location: where } = await operate(`${context.path}/savepoints`, { "target-directory": directory.value.trim() || null, "cancel-job": false });
      outcome.replaceChildren("Complete: ", h("code", {}, where));
      say("The savepoint is complete");
    } catch (error) {
      outcome.replaceChildren(h("span", { class: "bad" }, error.message));
    }
    button.disabled = false;
  }

  async function refresh() {
    const { history, latest } = await get(`${context.path}/checkpoints`);
    const found = history.filter((entry) => entry.is_savepoint);
    if (latest.savepoint && !found.some((entry) => entry.id === latest.savepoint.id)) found.push(latest.savepoint);
    const words = "The last savepoints, the newest first";
    show(list, panel("Savepoints", table(words, historyColumns(context), found, { empty: "No savepoint has been taken." })));
  }

  function update({ job, checkpoints }) {
    form.hidden = context.history || job["end-time"] > 0;
    const now = JSON.stringify([checkpoints.counts, checkpoints.latest.savepoint]);
    if (now !== shown) {
      shown = now;
      refresh().catch((error) => show(list, h("p", { class: "bad" }, error.message)));
    }
  }
  return { element, update };
}
