// The list of jobs.

import { h, panel, pill, show, table } from "./dom.js";
import * as formats from "./formats.js";

export function jobsPage(history) {
  const element = h("div");
  const columns = [
    { name: "Name", kind: "name", cell: (job) => h("a", { href: `#/jobs/${job.jid}/overview` }, job.name) },
    { name: "State", cell: (job) => pill(job.state) },
    { name: "Started", kind: "when", cell: (job) => formats.moment(job["start-time"]) },
    { name: "Duration", kind: "when", cell: (job) => formats.duration((job["end-time"] > 0 ? job["end-time"] : (job.recorded ?? Date.now())) - job["start-time"]) },
    { name: "Subtasks running", kind: "num", cell: (job) => `${job.tasks.running} of ${job.tasks.total}` },
    { name: "Type", cell: (job) => job.jobType.toLowerCase() },
    { name: "Id", cell: (job) => h("code", {}, job.jid) },
  ];
  const ended = (job) => job["end-time"] > 0;

  function update({ jobs }) {
    const running = jobs.filter((job) => !ended(job));
    const over = jobs.filter(ended).reverse();
    show(
      element,
      h("div", { class: "head" }, h("h1", {}, history ? "What jobs have left behind" : "Jobs")),
      h("p", { class: "quiet" }, history ? "From the records beside their checkpoints." : "The jobs of this process."),
      running.length || !history ? panel("Running", table("Jobs that have not ended", columns, running, { empty: "No job is running." })) : null,
      panel("Ended", table("Jobs that have ended, the last one first", columns, over, { empty: "No job has ended." })),
    );
  }
  return { element, update };
}
