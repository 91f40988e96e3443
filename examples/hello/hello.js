// Sign in, list, create, edit and follow ConfigMaps, showing Kubernetes' answers as they are.

import { follow, k8s, login, logout, requireSession } from "/_foyer/foyer.js";

const GREETINGS = "/api/v1/namespaces/demo/configmaps";
const SCOPE = { version: "v1", resource: "configmaps", namespace: "demo", labelSelector: "app=hello" };

const byId = (id) => document.getElementById(id);

// ---- Who

const me = await requireSession(); // nobody signed in: off to sign in, and back here
byId("who").textContent = `Hello, ${me.displayName || me.email || me.subject}`;
byId("sign-out").hidden = false;
byId("sign-out").addEventListener("click", async () => show(await logout()));
byId("sign-in").addEventListener("click", () => login());

// ---- List and follow: the same thing

const WORDS = {
  connecting: "Connecting…",
  live: "Live: changes appear as they happen.",
  stale: "Reading anew what there is…",
  waiting: "Not live, trying again soon.",
};

follow(SCOPE, ({ state, message, objects, changed }) => {
  for (const uid of changed) put(uid, objects.get(uid));
  byId("state").textContent = `${WORDS[state] ?? "Not live."} ${message}`;
  byId("sign-in").hidden = state !== "signed-out";
  if (state === "live") byId("none").hidden = objects.size > 0;
});

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

// ---- Edit

const rows = new Map(); // uid -> { form, input, theirs, object, latest }

/** Shows an object as it is now; undefined: it is gone. */
function put(uid, object) {
  if (object) {
    const row = rows.get(uid) ?? newRow(uid);
    row.latest = object;
    const { value } = row.input;
    if (value === textOf(row.object) || value === textOf(object)) fill(row);
    else theirs(row); // what is being typed stays: saving it over another's change is a 409
  } else {
    rows.get(uid)?.form.remove();
    rows.delete(uid);
  }
}

const textOf = (object) => object?.data?.text ?? "";

function fill(row) {
  row.object = row.latest;
  row.input.value = textOf(row.object);
  theirs(row);
}

function theirs(row) {
  row.theirs.hidden = textOf(row.latest) === textOf(row.object);
  row.theirs.textContent = `Somebody has made it: ${textOf(row.latest)}`;
}

function newRow(uid) {
  const form = byId("greeting").content.firstElementChild.cloneNode(true);
  const row = { form, input: form.querySelector("input"), theirs: form.querySelector("p"), object: null };
  rows.set(uid, row);
  byId("greetings").append(form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save(row);
  });
  return row;
}

async function save(row) {
  const { name, resourceVersion } = row.object.metadata;
  // The change alone, upon the version that was edited: what a stream shows is not the whole object.
  const body = { metadata: { resourceVersion }, data: { text: row.input.value } };
  const answer = await k8s(`${GREETINGS}/${encodeURIComponent(name)}`, { method: "PATCH", body });
  // An ok is shown when it comes with the stream. After a conflict theirs is in view, and may be saved over.
  if (!show(answer) && answer.outcome === "conflict") row.object = row.latest;
}

// ---- Answers

function show({ outcome, status, reason, message }) {
  byId("answer").hidden = outcome === "ok";
  byId("answer-title").textContent = `${status || "No answer"} ${reason}`;
  byId("answer-message").textContent = message;
  return outcome === "ok";
}
