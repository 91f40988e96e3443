// Notes: list them, change them, follow them. Kubernetes answers; this page shows its answers as they are.

import { FoyerError, k8s, logout, session } from "/_foyer/foyer.js";

const NOTES = "/apis/example.com/v1/namespaces/demo/notes";
const FIRST_WAIT = 1000; // ms before following again; doubled after each failure
const LONGEST_WAIT = 30000;

const byId = (id) => document.getElementById(id);
const notes = new Map(); // uid -> object, as last seen
const shown = new Map(); // uid -> its list item
const editing = new Map(); // uid -> the object as it was when editing began
let person = null; // whose page this is
let following = new AbortController();

// ---- Changes

async function change(method, path, body) {
  hideAnswer();
  const answer = await k8s(path, { method, body });
  if (answer.outcome === "ok") return true;
  showAnswer(answer);
  return false;
}

const pathOf = (note) => `${NOTES}/${encodeURIComponent(note.metadata.name)}`;

// ---- Following: a list, then a watch from its version; a new list when that version is too old

async function follow(signal) {
  let wait = FIRST_WAIT;
  let version = null;
  while (!signal.aborted) {
    try {
      version ??= await list(signal);
      say("live", "Live: changes appear as they happen");
      const started = performance.now();
      version = await watch(version, signal);
      // A watch that lived a while ended routinely: the next one begins at once.
      if (performance.now() - started > FIRST_WAIT) {
        wait = FIRST_WAIT;
        continue;
      }
    } catch (problem) {
      if (signal.aborted) return;
      version = null;
      if (["refused", "signed-out"].includes(problem.answer?.outcome)) {
        say("lost", "Not following");
        showAnswer(problem.answer);
        return;
      }
    }
    // Somebody signed in or out in another tab: that ends this session's watch too.
    if (!(await stillThem())) return;
    say("lost", `Connection lost: trying again in ${Math.round(wait / 1000)} s`);
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

async function stillThem() {
  const found = await session().catch(() => person);
  const same = found.subject === person.subject;
  if (!same) show(found);
  return same;
}

async function list(signal) {
  const { content } = await read(NOTES, signal);
  const present = new Set(content.items.map((note) => note.metadata.uid));
  for (const uid of [...notes.keys()]) if (!present.has(uid)) notes.delete(uid);
  for (const note of content.items) notes.set(note.metadata.uid, note);
  render();
  return content.metadata.resourceVersion;
}

// The version to go on from; null when that is gone and only a new list helps.
async function watch(version, signal) {
  const query = new URLSearchParams({ watch: "1", allowWatchBookmarks: "true", resourceVersion: version });
  const { response } = await read(`${NOTES}?${query}`, signal);
  for await (const line of lines(response.body)) {
    const { type, object } = JSON.parse(line);
    if (type === "ERROR") return null;
    version = object.metadata.resourceVersion;
    if (type === "BOOKMARK") continue;
    if (type === "DELETED") notes.delete(object.metadata.uid);
    else notes.set(object.metadata.uid, object);
    render();
  }
  return version;
}

async function read(path, signal) {
  const answer = await k8s(path, { signal });
  if (answer.outcome !== "ok") throw new FoyerError(answer);
  return answer;
}

async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    yield* parts.filter(Boolean);
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

// ---- The page

function render() {
  const order = [...notes.values()].sort(
    (a, b) =>
      a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp) ||
      a.metadata.name.localeCompare(b.metadata.name),
  );
  for (const [uid, item] of shown) {
    if (notes.has(uid)) continue;
    item.remove();
    shown.delete(uid);
    editing.delete(uid);
  }
  order.forEach((note, i) => {
    const item = shown.get(note.metadata.uid) ?? newItem(note.metadata.uid);
    fill(item, note);
    const there = byId("notes").children[i];
    if (there !== item) byId("notes").insertBefore(item, there ?? null);
  });
  byId("empty").hidden = order.length > 0;
}

function newItem(uid) {
  const item = byId("note").content.firstElementChild.cloneNode(true);
  const editor = item.querySelector(".editor");
  const text = editor.querySelector("textarea");
  shown.set(uid, item);

  item.querySelector(".done").addEventListener("change", async (event) => {
    const done = event.target.checked;
    const changed = await change("PATCH", pathOf(notes.get(uid)), { spec: { done } });
    if (!changed) event.target.checked = !done;
  });
  item.querySelector(".delete").addEventListener("click", () => change("DELETE", pathOf(notes.get(uid))));
  item.querySelector(".edit").addEventListener("click", () => {
    editing.set(uid, notes.get(uid));
    text.value = notes.get(uid).spec.text;
    editor.hidden = false;
    text.focus();
  });
  const done = () => {
    editing.delete(uid);
    editor.hidden = true;
    item.querySelector(".edit").focus(); // back to where editing began
  };
  item.querySelector(".cancel").addEventListener("click", () => {
    hideAnswer();
    done();
  });
  // The whole object goes back with the version it had when editing began: if somebody was faster,
  // Kubernetes says 409 and nothing of theirs is lost.
  editor.addEventListener("submit", async (event) => {
    event.preventDefault();
    const before = editing.get(uid);
    const body = { ...before, spec: { ...before.spec, text: text.value } };
    if (await change("PUT", pathOf(before), body)) done();
  });
  return item;
}

function fill(item, note) {
  const { metadata, spec, status } = note;
  item.classList.toggle("is-done", spec.done === true);
  item.querySelector(".done").checked = spec.done === true;
  for (const [name, word] of [[".done", "Done"], [".edit", "Edit"], [".delete", "Delete"]]) {
    item.querySelector(name).setAttribute("aria-label", `${word}: ${spec.text}`); // which of them, where nobody sees
  }
  item.querySelector(".text").textContent = spec.text;
  const about = [metadata.name, status?.phase, `version ${metadata.resourceVersion}`];
  item.querySelector(".about").textContent = about.filter(Boolean).join(" · ");
}

function say(state, words) {
  byId("following").className = state;
  byId("following").textContent = words;
}

function showAnswer(answer) {
  if (answer.outcome === "signed-out") {
    show({ authenticated: false });
    return;
  }
  byId("answer-title").textContent = answer.status ? `${answer.status} ${answer.reason}` : "No answer";
  byId("answer-message").textContent = answer.message;
  byId("answer").hidden = false;
  byId("answer").scrollIntoView({ block: "nearest" }); // what was refused may be far down the list
}

function hideAnswer() {
  byId("answer").hidden = true;
}

function show(found) {
  following.abort();
  hideAnswer();
  person = found.authenticated ? found : null;
  notes.clear(); // the next person may see others
  render();
  for (const id of ["signed-in", "person", "sign-out"]) byId(id).hidden = person === null;
  byId("signed-out").hidden = person !== null;
  if (person === null) return;
  byId("person-name").textContent = person.displayName || person.subject;
  byId("person-email").textContent = person.email;
  startFollowing();
}

function startFollowing() {
  following = new AbortController();
  follow(following.signal);
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
  if (await change("POST", NOTES, body)) text.value = "";
});

byId("answer-close").addEventListener("click", hideAnswer);

byId("sign-out").addEventListener("click", async () => {
  following.abort();
  const answer = await logout();
  if (answer.outcome === "ok" || answer.outcome === "signed-out") return; // the page is being left
  showAnswer(answer);
  startFollowing();
});

// Brought back by the browser as it was: somebody else may be there now.
addEventListener("pageshow", (event) => event.persisted && location.reload());

try {
  show(await session());
} catch (problem) {
  showAnswer(problem.answer);
}
