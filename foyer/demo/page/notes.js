// Notes: follow them, change them. Kubernetes answers; this page shows its answers as they are.

import { follow, k8s, logout, session } from "/_foyer/foyer.js";

const NOTES = "/apis/example.com/v1/namespaces/demo/notes";
const SCOPE = { group: "example.com", version: "v1", resource: "notes", namespace: "demo" };

const byId = (id) => document.getElementById(id);
const items = new Map(); // uid -> { item, note, editing }, `editing` the note as it was when that began
let person = null; // whose page this is
let following = null;

// ---- Changes

async function change(method, path, body) {
  hideAnswer();
  const answer = await k8s(path, { method, body });
  if (answer.outcome === "signed-out") await somebodyElse(answer);
  else if (answer.outcome !== "ok") showAnswer(answer);
  return answer.outcome;
}

const pathOf = (note) => `${NOTES}/${encodeURIComponent(note.metadata.name)}`;

// ---- Following

const WORDS = {
  connecting: "Connecting…",
  live: "Live: changes appear as they happen",
  stale: "One moment: reading anew what there is",
};

function showing({ state, message, reason, retryAt, objects, changed }) {
  if (state === "signed-out") {
    somebodyElse({ status: 401, reason, message });
    return;
  }
  const isNews = byId("following").className !== "connecting"; // and not the first snapshot
  for (const uid of changed) put(uid, objects.get(uid), isNews);
  if (changed.size > 0) inOrder();
  if (state === "live") byId("empty").hidden = objects.size > 0;
  byId("following").className = state;
  byId("following-words").textContent = WORDS[state] ?? "Not live:";
  byId("following-why").textContent = state === "live" ? "" : message;
  count(retryAt);
}

let counting = null;

/** The seconds until the next try, where there is one. */
function count(retryAt) {
  clearInterval(counting);
  const tick = () => {
    const seconds = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
    byId("following-wait").textContent = `Trying again in ${seconds} s`;
  };
  byId("following-wait").hidden = retryAt === null;
  if (retryAt === null) return;
  tick();
  counting = setInterval(tick, 500);
}

/** The session is over. There may be another by now: somebody signed in in another tab. */
async function somebodyElse(answer) {
  const found = await session().catch(() => ({ authenticated: false }));
  if (found.authenticated && found.subject === person?.subject) showAnswer(answer);
  else show(found);
}

// ---- The list

function put(uid, note, isNews) {
  const shown = items.get(uid);
  if (!note) {
    shown?.item.remove();
    items.delete(uid);
    return;
  }
  const held = shown ?? newItem(uid);
  held.note = note;
  fill(held);
  if (!isNews) return;
  held.item.classList.remove("news");
  void held.item.offsetWidth; // begins the animation anew
  held.item.classList.add("news");
}

function inOrder() {
  const when = ({ note }) => note.metadata.creationTimestamp;
  const name = ({ note }) => note.metadata.name;
  const order = [...items.values()].sort(
    (a, b) => when(a).localeCompare(when(b)) || name(a).localeCompare(name(b)),
  );
  order.forEach(({ item }, i) => {
    const there = byId("notes").children[i];
    if (there !== item) byId("notes").insertBefore(item, there ?? null);
  });
}

function newItem(uid) {
  const item = byId("note").content.firstElementChild.cloneNode(true);
  const editor = item.querySelector(".editor");
  const held = { item, note: null, editing: null };
  items.set(uid, held);
  item.querySelector(".done").addEventListener("change", async (event) => {
    const done = event.target.checked;
    if ((await change("PATCH", pathOf(held.note), { spec: { done } })) !== "ok") event.target.checked = !done;
  });
  item.querySelector(".delete").addEventListener("click", () => change("DELETE", pathOf(held.note)));
  item.querySelector(".edit").addEventListener("click", () => edit(held));
  item.querySelector(".cancel").addEventListener("click", () => {
    hideAnswer();
    edited(held);
  });
  editor.addEventListener("submit", (event) => {
    event.preventDefault();
    save(held);
  });
  return held;
}

function fill({ item, note, editing }) {
  const { metadata, spec, status } = note;
  item.classList.toggle("is-done", spec.done === true);
  item.querySelector(".done").checked = spec.done === true;
  for (const [name, word] of [[".done", "Done"], [".edit", "Edit"], [".delete", "Delete"]]) {
    item.querySelector(name).setAttribute("aria-label", `${word}: ${spec.text}`); // which of them, where nobody sees
  }
  item.querySelector(".text").textContent = spec.text;
  const about = [metadata.name, status?.phase, `version ${metadata.resourceVersion}`];
  item.querySelector(".about").textContent = about.filter(Boolean).join(" · ");
  const isOther = editing !== null && editing.metadata.resourceVersion !== metadata.resourceVersion;
  item.querySelector(".meanwhile").hidden = !isOther;
}

// ---- Editing

function edit(held) {
  const text = held.item.querySelector("textarea");
  held.editing = held.note;
  text.value = held.note.spec.text;
  held.item.querySelector(".editor").hidden = false;
  text.focus();
}

function edited(held) {
  held.editing = null;
  fill(held);
  held.item.querySelector(".editor").hidden = true;
  held.item.querySelector(".edit").focus(); // back to where editing began
}

// The change goes upon the version that was there when editing began: if somebody was faster,
// Kubernetes says 409 and nothing of theirs is lost. Whoever has seen that may save once more.
async function save(held) {
  const { resourceVersion } = held.editing.metadata;
  const text = held.item.querySelector("textarea").value;
  const body = { metadata: { resourceVersion }, spec: { text } };
  const outcome = await change("PATCH", pathOf(held.editing), body);
  if (outcome === "ok") edited(held);
  if (outcome === "conflict") held.editing = held.note;
}

// ---- The page

function showAnswer(answer) {
  byId("answer-title").textContent = answer.status ? `${answer.status} ${answer.reason}` : "No answer";
  byId("answer-message").textContent = answer.message;
  byId("answer").hidden = false;
  byId("answer").scrollIntoView({ block: "nearest" }); // what was refused may be far down the list
}

function hideAnswer() {
  byId("answer").hidden = true;
}

function show(found) {
  following?.stop();
  count(null);
  hideAnswer();
  person = found.authenticated ? found : null;
  items.clear(); // the next person may see others
  byId("notes").replaceChildren();
  for (const id of ["signed-in", "person", "sign-out"]) byId(id).hidden = person === null;
  byId("signed-out").hidden = person !== null;
  if (person === null) return;
  byId("person-name").textContent = person.displayName || person.subject;
  byId("person-email").textContent = person.email;
  byId("following").className = "connecting";
  following = follow(SCOPE, showing);
}

byId("create").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = byId("text");
  const body = {
    apiVersion: "example.com/v1",
    kind: "Note",
    metadata: { generateName: "note-" },
    spec: { text: text.value },
  };
  if ((await change("POST", NOTES, body)) === "ok") text.value = "";
});

byId("answer-close").addEventListener("click", hideAnswer);

byId("sign-out").addEventListener("click", async () => {
  const answer = await logout();
  if (answer.outcome !== "ok" && answer.outcome !== "signed-out") showAnswer(answer);
});

// Brought back by the browser as it was: somebody else may be there now.
addEventListener("pageshow", (event) => event.persisted && location.reload());

try {
  show(await session());
} catch (problem) {
  showAnswer(problem.answer);
}
