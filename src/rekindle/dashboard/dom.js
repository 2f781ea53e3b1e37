// Building pages. All text goes in as text, never as markup: names and errors may hold anything.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: attributes (those that are null or false are left out, functions listen), then its contents. */
export function h(tag, attributes = {}, ...contents) {
  return built(document.createElement(tag), attributes, contents);
}

/** Make an element of a drawing. */
export function s(tag, attributes = {}, ...contents) {
  return built(document.createElementNS(SVG, tag), attributes, contents);
}

function built(element, attributes, contents) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...contents.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

/** Put contents into an element so that what stays the same stays there: focus, selection and scrolling are kept. */
export function show(element, ...contents) {
  const wanted = document.createElement(element.tagName);
  wanted.append(...contents.flat(Infinity).filter(Boolean));
  alignChildren(element, wanted);
}

function alignChildren(old, wanted) {
  const before = [...old.childNodes];
  [...wanted.childNodes].forEach((node, index) => {
    const known = before[index];
    if (known === undefined) old.append(node);
    else if (!alike(known, node)) known.replaceWith(node);
    else align(known, node);
  });
  before.slice(wanted.childNodes.length).filter((node) => node.parentNode === old).forEach((node) => node.remove());
}

function alike(old, wanted) {
  return old.nodeName === wanted.nodeName && old.dataset?.key === wanted.dataset?.key;
}

function align(old, wanted) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  if (old.dataset?.keep !== undefined) return;
  for (const { name } of [...old.attributes]) if (!wanted.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of [...wanted.attributes]) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  alignChildren(old, wanted);
}

/**
 * Make a table. Columns are {name, cell(row), kind}, where kind is "num", "when", "name" or nothing; the first one heads its row.
 * Options: stack (one row under the other on a phone), chosen(row), empty (what to say without rows).
 */
export function table(caption, columns, rows, options = {}) {
  if (!rows.length) return h("p", { class: "empty" }, options.empty ?? "None.");
  const body = rows.map((row) =>
    h(
      "tr",
      { "data-chosen": options.chosen?.(row) ? "" : null },
      columns.map((column, index) =>
        h(index ? "td" : "th", { class: column.kind, "data-label": column.name, scope: index ? null : "row" }, h("span", {}, column.cell(row))),
      ),
    ),
  );
  const heads = columns.map((column) => h("th", { scope: "col", class: column.kind }, column.name));
  const tag = h("table", { class: options.stack === false ? null : "stack" }, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads)), h("tbody", {}, body));
  return h("div", { class: "scroll" }, tag);
}

export function panel(title, ...contents) {
  return h("section", { class: "panel" }, title && h("h2", {}, title), contents);
}

export function tiles(entries) {
  return h("dl", { class: "tiles" }, entries.map(([name, value, more]) => h("div", {}, h("dt", {}, name), h("dd", {}, value, more && h("small", {}, more)))));
}

const TONES = {
  RUNNING: "run", COMPLETED: "good", FINISHED: "good", IN_PROGRESS: "run", RESTARTING: "warn", CANCELED: "", CANCELLING: "warn",
  CANCELING: "warn", FAILING: "bad", FAILED: "bad", LOST: "bad", SUSPENDED: "warn", ok: "good", low: "warn", high: "bad",
};

export function tone(state) {
  return TONES[state] ?? "";
}

export function pill(state) {
  return h("span", { class: "pill", "data-tone": tone(state) }, String(state).replace("_", " "));
}

/** Draw how a second is shared out: busy, held up by what follows, idle. */
export function share(busy, held) {
  const bar = s(
    "svg",
    { viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "fill-busy", width: Math.round(busy), height: 10 }),
    s("rect", { class: "fill-held", x: Math.round(busy), width: Math.round(held), height: 10 }),
  );
  return h("span", { class: "share" }, bar);
}

export function legend() {
  const entry = (name, text) => h("span", {}, s("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, s("rect", { class: `fill-${name}`, width: 10, height: 10, rx: 2 })), text);
  return h("div", { class: "legend" }, entry("busy", "busy"), entry("held", "held up (back-pressured): waits for what follows"), entry("idle", "idle: waits for records"));
}
