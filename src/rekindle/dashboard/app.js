// The way through the pages: what stands behind # says which one is shown; a stream of events keeps it up to date.

import { get, listen, operate, patch } from "./api.js";
import { ask, say } from "./dialogs.js";
import { h, pill, show } from "./dom.js";
import * as formats from "./formats.js";
import { checkpointPage, checkpointsPage } from "./checkpoints.js";
import { configurationPage } from "./configuration.js";
import { epochsPage } from "./epochs.js";
import { exceptionsPage } from "./exceptions.js";
import { jobsPage } from "./jobs.js";
import { overviewPage } from "./overview.js";
import { savepointsPage } from "./savepoints.js";
import { statePage } from "./state.js";

const PAGES = [
  ["overview", "Overview", overviewPage],
  ["epochs", "Epochs", epochsPage],
  ["checkpoints", "Checkpoints", checkpointsPage],
  ["savepoints", "Savepoints", savepointsPage],
  ["exceptions", "Exceptions", exceptionsPage],
  ["configuration", "Configuration", configurationPage],
  ["state", "State", statePage],
];

const main = document.getElementById("main");
let history = false; // whether this is what jobs have left behind: nothing moves, and nothing can be changed
let leave = () => {};
let visit = 0;

function live(state, text) {
  const sign = document.getElementById("live");
  if (sign.dataset.state === state && !text) return;
  sign.dataset.state = state;
  document.getElementById("live-text").textContent = text ?? { on: "live", lost: "connection lost, trying again", off: "record" }[state];
}

function problem(error) {
  show(main, h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Jobs")), h("div", { class: "notice bad", role: "alert" }, error.message));
}

/** Show the page that the address names. */
async function go() {
  const mine = ++visit;
  leave();
  leave = () => {};
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
  try {
    if (parts[0] === "jobs" && parts[1]) await showJob(parts[1], parts[2] ?? "overview", parts[3], () => mine === visit);
    else await showJobs(() => mine === visit);
  } catch (error) {
    if (mine === visit) problem(error);
  }
}

async function showJobs(current) {
  const document_ = await get("jobs/overview");
  if (!current()) return;
  document.title = "Jobs – Rekindle";
  const page = jobsPage(history);
  main.replaceChildren(page.element);
  page.update(document_);
  if (!history) leave = listen("jobs/events", page.update, live);
}

/** Read all that an event would say, for the first sight and for a record. */
async function snapshot(id) {
  const path = `jobs/${id}`;
  const [job, epochs, checkpoints, exceptions] = await Promise.all([get(path), get(`${path}/epochs`), get(`${path}/checkpoints`), get(`${path}/exceptions`)]);
  return { now: job.recorded ?? job.now, job, epochs, checkpoints, exceptions: exceptions.exceptionHistory.entries.length };
}

async function showJob(id, name, detail, current) {
  const first = await snapshot(id);
  if (!current()) return;
  const [, title, make] = PAGES.find(([known]) => known === name) ?? PAGES[0];
  const context = {
    id,
    path: `jobs/${encodeURIComponent(id)}`,
    plan: first.job.plan,
    name: first.job.name,
    history,
    detail,
    link: (page, more) => `#/jobs/${id}/${page}${more === undefined ? "" : `/${encodeURIComponent(more)}`}`,
  };
  const page = name === "checkpoints" && detail ? checkpointPage(context) : make(context);
  const head = h("div");
  document.title = `${title} – ${first.job.name} – Rekindle`;
  main.replaceChildren(head, page.element);
  let last = first.job.state;
  const update = (event) => {
    const job = { ...event.job, plan: context.plan };
    if (job.state !== last) say(`Job ${job.name} is ${job.state}`);
    last = job.state;
    show(head, jobHead(context, name, { ...event, job }));
    page.update?.({ ...event, job });
  };
  update(first);
  if (history) live("off", first.job.recorded ? `record of ${formats.moment(first.job.recorded)}` : "record");
  const end = history ? () => {} : listen(`${context.path}/events`, update, live);
  leave = () => {
    end();
    page.leave?.();
  };
}

function jobHead(context, current, { job, now }) {
  const ended = job["end-time"] > 0;
  const running = !ended && !context.history;
  const fact = (name, value) => h("span", {}, `${name} `, h("span", { class: "mono" }, value));
  return [
    h("nav", { class: "crumbs", "aria-label": "Where you are" }, h("a", { href: "#/" }, "Jobs"), " / ", job.name),
    h(
      "div",
      { class: "head" },
      h("h1", {}, job.name),
      pill(job.state),
      running && h("div", { class: "buttons", "data-key": "actions" }, actions(context)),
    ),
    h(
      "div",
      { class: "facts" },
      fact("id", context.id),
      h("span", {}, `${job["job-type"].toLowerCase()} job, started ${formats.moment(job["start-time"])}`),
      h("span", {}, `${ended ? "ran for" : "running for"} ${formats.duration((ended ? job["end-time"] : now) - job["start-time"])}`),
      ended && h("span", {}, `ended ${formats.moment(job["end-time"])}`),
    ),
    h(
      "nav",
      { class: "tabs", "aria-label": "Pages of this job" },
      PAGES.map(([name, title]) => h("a", { href: context.link(name), "aria-current": name === current ? "page" : null }, title)),
    ),
  ];
}

function actions(context) {
  return [
    h("button", { type: "button", id: "take-checkpoint", click: () => takeCheckpoint(context) }, "Take checkpoint"),
    h("button", { type: "button", id: "take-savepoint", click: () => takeSavepoint(context) }, "Take savepoint"),
    h("button", { type: "button", id: "stop-job", click: () => stop(context) }, "Stop with savepoint"),
    h("button", { type: "button", id: "cancel-job", class: "danger", click: () => cancel(context) }, "Cancel job"),
  ];
}

async function attempted(what, action) {
  try {
    await action();
  } catch (error) {
    say(`${what} failed: ${error.message}`, 20);
  }
}

function takeCheckpoint(context) {
  return attempted("The checkpoint", async () => {
    say("A checkpoint is being taken …", 60);
    const { checkpointId } = await operate(`${context.path}/checkpoints`, {});
    say(`Checkpoint ${checkpointId} is complete`);
  });
}

async function takeSavepoint(context) {
  const directory = await ask({
    title: "Take a savepoint",
    text: "The job continues. Leave the directory empty to use the one that the job is configured with.",
    label: "Directory",
    yes: "Take savepoint",
  });
  if (directory === null) return;
  await attempted("The savepoint", async () => {
    say("A savepoint is being taken …", 60);
    const { location: where } = await operate(`${context.path}/savepoints`, { "target-directory": directory || null, "cancel-job": false });
    say(`Savepoint complete: ${where}`, 20);
  });
}

async function stop(context) {
  const directory = await ask({
    title: "Stop the job with a savepoint?",
    text: `${context.name} ends, with all its output committed, and can be started from the savepoint. Leave the directory empty to use the one that the job is configured with.`,
    label: "Directory",
    yes: "Stop job",
  });
  if (directory === null) return;
  await attempted("Stopping", async () => {
    say("The job is being stopped …", 60);
    const { location: where } = await operate(`${context.path}/stop`, { targetDirectory: directory || null, drain: false }, `${context.path}/savepoints`);
    say(`Stopped. Savepoint: ${where}`, 60);
  });
}

async function cancel(context) {
  const sure = await ask({ title: "Cancel the job?", text: `${context.name} ends. Whether its checkpoints stay depends on its configuration.`, yes: "Cancel job" });
  if (sure) await attempted("Cancelling", () => patch(`${context.path}?mode=cancel`));
}

async function begin() {
  const config = await get("config");
  history = config.features["web-history"];
  document.getElementById("version").textContent = `${config["flink-version"].replace("rekindle ", "")}${history ? " · history" : ""}`;
  if (history) live("off");
  addEventListener("hashchange", () => {
    if (location.hash === "#main") return;
    go().then(() => main.focus({ preventScroll: true }));
  });
  await go();
}

begin().catch(problem);
