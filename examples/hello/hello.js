// Sign in, list, create, edit and follow ConfigMaps, showing Kubernetes' answers as they are.

import { k8s, logout, requireSession, session } from "/_foyer/foyer.js";

const GREETINGS = "/api/v1/namespaces/demo/configmaps";
const MINE = "labelSelector=app%3Dhello";

const byId = (id) => document.getElementById(id);

// ---- Who

const me = await requireSession(); // nobody signed in: off to sign in, and back here
byId("who").textContent = `Hello, ${me.displayName || me.email || me.subject}`;
byId("sign-out").hidden = false;
byId("sign-out").addEventListener("click", async () => show(await logout()));

// ---- Create

byId("create").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { generateName: "hello-", labels: { app: "hello" } },
    data: { text: byId("text").value },
  };
  if (show(await k8s(GREETINGS, { method: "POST", body }))) byId("create").reset();
});

// ---- List and edit

const rows = new Map(); // name -> { form, input, object, latest }

function put(object) {
  const row = rows.get(object.metadata.name) ?? newRow(object.metadata.name);
  row.latest = object;
  // What somebody is editing stays as it is, version and all: saving over another's change is a 409.
  if (row.input.value === textOf(row.object)) fill(row);
}

function fill(row) {
  row.object = row.latest;
  row.input.value = textOf(row.object);
}

const textOf = (object) => object?.data?.text ?? "";

function newRow(name) {
  const form = byId("greeting").content.firstElementChild.cloneNode(true);
  const row = { form, input: form.querySelector("input"), object: null, latest: null };
  rows.set(name, row);
  byId("greetings").append(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = { ...row.object, data: { ...row.object.data, text: row.input.value } };
    const answer = await k8s(`${GREETINGS}/${encodeURIComponent(name)}`, { method: "PUT", body });
    if (show(answer)) row.latest = answer.content;
    if (answer.outcome === "ok" || answer.outcome === "conflict") fill(row);
  });
  return row;
}

function remove(name) {
  rows.get(name)?.form.remove();
  rows.delete(name);
}

// ---- Follow: a list, then a watch from its version; when that ends, the same again

async function follow() {
  for (;;) {
    const now = await session().catch(() => me);
    if (now.subject !== me.subject) {
      byId("state").textContent = "Not live: you are no longer signed in. Load the page again";
      return;
    }
    const list = await k8s(`${GREETINGS}?${MINE}`);
    if (list.outcome === "ok") {
      const names = new Set(list.content.items.map((object) => object.metadata.name));
      for (const name of [...rows.keys()]) if (!names.has(name)) remove(name);
      list.content.items.forEach(put);
      byId("state").textContent = "Live: changes appear as they happen";
      const from = list.content.metadata.resourceVersion;
      const watch = await k8s(`${GREETINGS}?${MINE}&watch=1&resourceVersion=${from}`);
      if (watch.outcome === "ok") await events(watch.response.body).catch(() => {}); // cut short
    } else if (list.outcome !== "error") {
      show(list);
      byId("state").textContent = "Not live";
      return;
    }
    byId("state").textContent = "Not live: trying again";
    await new Promise((resolve) => setTimeout(resolve, 1000 * (list.retryAfter ?? 2)));
  }
}

async function events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const { type, object } of lines.map((line) => JSON.parse(line))) {
      if (type === "ERROR") return; // the version is too old, for one
      if (type === "DELETED") remove(object.metadata.name);
      else put(object);
    }
  }
}

// ---- Answers

function show({ outcome, status, reason, message }) {
  byId("answer").hidden = outcome === "ok";
  byId("answer-title").textContent = `${status || "No answer"} ${reason}`;
  byId("answer-message").textContent = message;
  return outcome === "ok";
}

follow();
