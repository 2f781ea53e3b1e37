// Talking to the driver: JSON, the token if it wants one, and streams of events.

import { ask } from "./dialogs.js";

const TOKEN = "rekindle-token";

/** Take the token out of the address by which the page was opened: it is not to be copied, sent on or kept with it. */
function takeToken() {
  const query = new URLSearchParams(location.search);
  const token = query.get("token");
  if (token === null) return;
  if (token) sessionStorage.setItem(TOKEN, token);
  query.delete("token");
  const rest = query.size ? `?${query}` : "";
  history.replaceState(history.state, "", `${location.pathname}${rest}${location.hash}`);
}

takeToken();

export class RefusedError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function headers(body) {
  const token = sessionStorage.getItem(TOKEN);
  return {
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
  };
}

let asking = null;

/** Ask for the token, once, however many requests lack it. */
function askForToken() {
  asking ??= ask({
    title: "A token is needed",
    text: "It is what rest.token says; else open the address that the driver printed, which rekindle list --json calls dashboard. It is kept until this tab is closed.",
    label: "Token",
    yes: "Use it",
    secret: true,
  }).then((token) => {
    asking = null;
    if (token) sessionStorage.setItem(TOKEN, token);
    return Boolean(token);
  });
  return asking;
}

async function request(method, path, body) {
  const options = { method, headers: headers(body), body: body === undefined ? undefined : JSON.stringify(body) };
  const response = await fetch(path, options);
  if (response.status === 401 && (await askForToken())) return request(method, path, body);
  return response;
}

async function document(response) {
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new RefusedError(response.status, answer?.errors?.[0] ?? `${response.status} ${response.statusText}`);
  return answer;
}

export const get = async (path) => document(await request("GET", path));
export const post = async (path, body) => document(await request("POST", path, body));
export const patch = async (path) => document(await request("PATCH", path));

/** Begin something that takes its time, and wait for what it comes to. */
export async function operate(path, body, statusPath = path) {
  const { "request-id": id } = await post(path, body);
  for (;;) {
    const { status, operation } = await get(`${statusPath}/${id}`);
    if (status.id === "COMPLETED") {
      const cause = operation["failure-cause"] ?? operation.failureCause;
      if (cause) throw new Error(cause["stack-trace"].split("\n")[0].replace(`${cause.class}: `, ""));
      return operation;
    }
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
}

/**
 * Listen to a stream of events, and begin again when it breaks off. EventSource cannot send a token; fetch can.
 * Returns a function that ends it. `state` is told "on" and "lost".
 */
export function listen(path, update, state) {
  const controller = new AbortController();
  (async () => {
    for (let pause = 1000; !controller.signal.aborted; pause = Math.min(pause * 2, 10_000)) {
      try {
        const response = await fetch(path, { headers: headers(), signal: controller.signal });
        if (response.status === 401) {
          if (!(await askForToken())) return;
          continue;
        }
        if (!response.ok) throw new RefusedError(response.status, (await response.json())?.errors?.[0]);
        for await (const event of events(response.body)) {
          state("on");
          pause = 1000;
          update(event);
        }
        state("lost");
      } catch (error) {
        if (controller.signal.aborted) return;
        state("lost", error instanceof RefusedError ? error.message : undefined);
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  })();
  return () => controller.abort();
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const data = text.slice(0, end).split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      text = text.slice(end + 2);
      if (data.length) yield JSON.parse(data.join("\n"));
    }
  }
}
