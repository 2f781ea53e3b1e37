// The settings in force when the job was submitted, and where each of them was written.

import { get } from "./api.js";
import { h, panel, show, table } from "./dom.js";

export function configurationPage(context) {
  const list = h("div");
  const search = h("input", { id: "search", type: "search", input: draw, placeholder: "part of a key or value" });
  const all = h("input", { id: "all", type: "checkbox", change: draw });
  const element = h(
    "div",
    {},
    panel(
      "Configuration in force",
      h("p", { class: "quiet" }, "Later ones win: default, file, environment, command line (-D), program. Secrets are hidden."),
      h("div", { class: "form" }, h("label", {}, "Search", search), h("label", { class: "check" }, all, " also what is left at its default")),
      list,
    ),
  );
  let settings = [];
  const columns = [
    { name: "Key", kind: "name", cell: (row) => [h("code", {}, row.key), row["set-as"] && row["set-as"] !== row.key ? h("span", { class: "quiet" }, ` set as ${row["set-as"]}`) : null] },
    { name: "Value", cell: (row) => h("code", {}, row.value ?? "not set") },
    { name: "Origin", cell: (row) => (row.layer === "default" ? h("span", { class: "quiet" }, "default") : row.layer === "command line" ? "command line (-D)" : row.origin) },
    { name: "What it does", cell: (row) => h("span", { class: "quiet" }, row.description ?? "") },
  ];

  function draw() {
    const wanted = search.value.trim().toLowerCase();
    const rows = settings.filter((row) => (all.checked || row.layer !== "default") && `${row.key} ${row.value} ${row.origin}`.toLowerCase().includes(wanted));
    show(list, table(`${rows.length} of ${settings.length} settings`, columns, rows, { empty: "No setting fits." }));
  }

  get(`${context.path}/configuration`).then(
    (document) => {
      settings = document.settings;
      draw();
    },
    (error) => show(list, h("p", { class: "bad" }, error.message)),
  );
  return { element };
}
