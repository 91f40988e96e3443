// foyer.js: who is signed in to this browser, Kubernetes' answers to this page, and what it follows.
//
//   import { requireSession, k8s, follow, logout } from "/_foyer/foyer.js";
//
// There is no token in a browser for it to hold. It remembers the session that the page was last
// given, for the proof that every change needs, and sends a change as that person or not at all.
// Of requests it repeats nothing but one change that foyer itself refused for its proof, and which
// therefore never reached Kubernetes. A stream that ended it opens again, for the same person, while
// that can help. What each function takes and gives is declared in foyer.d.ts.

const LONGEST_RETURN = 2048; // bytes: foyer refuses a longer return path
const LOOP = { times: 3, within: 60_000 }; // sign-ins in so many ms: nobody makes them by hand
const SOMEBODY_ELSE = "Somebody else has signed in to this browser meanwhile: load the page again.";
const ATTEMPTS = "foyer: sign-ins begun"; // in sessionStorage, which is the tab's own

let acting = null; // the session that the page was last given: its changes are this person's
let required = null; // the session that the page cannot be without
let leaving = null; // a page on its way to sign in
let asking = null; // the question who is signed in, under way: one for all who ask meanwhile
let renewing = null; // the same for a new proof, which must not be older than the refusal

/** What session() and requireSession() reject with when no usable answer came. */
export class FoyerError extends Error {
  constructor(answer) {
    super(answer.message);
    this.name = "FoyerError";
    this.answer = answer;
  }
}

// ---- Who is signed in

/** Asks foyer, each time: another tab may have signed in or out. */
export function session() {
  if (asking) return asking;
  const mine = (async () => {
    try {
      const found = await ask();
      if (asking === mine) acting = found.authenticated ? found : null;
      return found;
    } finally {
      if (asking === mine) asking = null;
    }
  })();
  asking = mine;
  return mine;
}

/** The session. A page without one goes to sign in, and comes back to where it is. */
export async function requireSession() {
  const found = await session();
  if (!found.authenticated) return (leaving ??= signInInstead());
  sessionStorage.removeItem(ATTEMPTS);
  required = found;
  return found;
}

/** Goes to sign in, and from there to `returnTo`: this address, unless another is given. */
export function login(returnTo = location) {
  location.assign(loginURL(returnTo));
}

/** Ends the session and goes to `next`. Where it cannot, its answer says why. */
export async function logout(next = "/auth/logged-out") {
  const destination = new URL(next, location);
  // `next` may have come with a link: nothing that would run in this page.
  if (!/^https?:$/.test(destination.protocol)) throw new TypeError("logout goes to an http(s) address");
  // Whoever it is by now: who wants to be signed out leaves nobody signed in.
  const answer = await change(at("/auth/logout"), { method: "POST" }, { anybody: true });
  if (answer.outcome === "ok" || answer.outcome === "signed-out") {
    acting = required = asking = null;
    // In place of this page: going back must not show what somebody else need not see.
    location.replace(destination);
  }
  return answer;
}

async function ask(signal) {
  const answer = await send(at("/auth/session"), { headers: { Accept: "application/json" }, signal });
  if (typeof answer.content?.authenticated === "boolean") return answer.content;
  throw new FoyerError(answer.outcome === "ok" ? unreadable(answer.response) : answer);
}

const samePerson = (one, other) => one.issuer === other.issuer && one.subject === other.subject;

/** The address that signs in. `returnTo` is one of this origin, and is put as foyer takes it. */
function loginURL(returnTo) {
  const { origin, pathname, search, hash } = new URL(returnTo, location);
  if (origin !== self.origin) throw new TypeError("login returns to an address of this origin");
  // The URL parser leaves a backslash alone in queries and fragments; foyer takes none anywhere.
  const path = (pathname + search + hash).replaceAll("\\", "%5C");
  const taken = path.length <= LONGEST_RETURN && /^\/(?!\/)[!-~]*$/.test(path);
  return at(`/auth/login?return_to=${encodeURIComponent(taken ? path : "/")}`);
}

/** A browser that keeps no cookie, as in a frame of another site, would go round for ever. */
function signInInstead() {
  const now = Date.now();
  const begun = sessionStorage.getItem(ATTEMPTS)?.split(" ").filter((time) => now - time < LOOP.within) ?? [];
  if (begun.length >= LOOP.times) {
    const message = `This browser went to sign in ${LOOP.times} times within a minute, and is not signed in.`;
    throw new FoyerError(noAnswer("SignInLoop", message));
  }
  sessionStorage.setItem(ATTEMPTS, [...begun, now].join(" "));
  // In place of this page: going back from the sign-in must not lead straight to it again.
  location.replace(loginURL(location));
  return new Promise(() => {});
}

// A page that the browser put away whole comes back as it was, whoever is there now.
addEventListener("pageshow", async (event) => {
  if (!event.persisted || !required) return;
  const shown = required;
  const found = await ask().catch(() => shown);
  if (!found.authenticated || !samePerson(found, shown)) location.reload();
});

// ---- Kubernetes

/** One request for the API server's own path, and what came of it. */
export async function k8s(path, { method = "GET", body, contentType, headers, signal, stream } = {}) {
  const url = k8sURL(path);
  // fetch itself writes `get` and `post` large, but leaves `patch` as it is.
  const init = { method: method.toUpperCase(), headers: new Headers(headers), signal };
  if (!init.headers.has("Accept")) init.headers.set("Accept", "application/json");
  if (body != null) {
    init.body = isEncoded(body) ? body : JSON.stringify(body);
    contentType ??= init.headers.get("Content-Type") ?? typeOf(init.method, body);
    init.headers.set("Content-Type", contentType);
  }
  new Request(url, init); // throws a TypeError for what can never be sent
  const options = { stream: stream ?? isEndless(url) };
  return /^(GET|HEAD)$/.test(init.method) ? send(url, init, options) : change(url, init, options);
}

/**
 * The URL of `path`, which the parser must leave as it is: `..`, `#` or a tab in somebody's name for
 * a thing would send a change elsewhere, with its proof.
 */
function k8sURL(path) {
  const url = at(`/k8s${path}`);
  if (!path.startsWith("/") || path.includes("#") || url.pathname !== `/k8s${path.split("?", 1)[0]}`) {
    throw new TypeError("k8s takes the API server's own path, with names encoded by encodeURIComponent");
  }
  return url;
}

/** Whether the answer has no end of its own, a watch or a followed log: as the API server reads it. */
function isEndless({ searchParams }) {
  return ["watch", "follow"].some((name) => !/^(false|0)$/i.test(searchParams.get(name) ?? "0"));
}

function isEncoded(body) {
  if (typeof body === "string" || ArrayBuffer.isView(body)) return true;
  return body instanceof Blob || body instanceof ArrayBuffer;
}

function typeOf(method, body) {
  if (method !== "PATCH") return "application/json";
  return Array.isArray(body) ? "application/json-patch+json" : "application/merge-patch+json";
}

// ---- Following

const SCOPE = ["group", "version", "resource", "namespace", "name", "labelSelector", "target", "projection"];
const FIRST_WAIT = 1000; // ms, more or less, until a stream that ended is opened again
const LONGEST_WAIT = 30_000; // the same after failures in a row: twice as long for each, up to here
const LONGEST_HINT = 3_600_000; // of a server's; a timer of more than 24 days would fire at once
const STEADY = 10_000; // ms of being live, which end a row of failures

/** Follows a scope: calls `changed` with what is known of it, whenever that is not as it was. */
export function follow(scope, changed, { signal } = {}) {
  const url = streamURL(scope);
  if (typeof changed !== "function") throw new TypeError("follow needs a function to call");
  return new Following(url, changed, signal);
}

function streamURL(scope) {
  const given = Object.entries(scope).filter(([, value]) => value != null && value !== "");
  for (const [name, value] of given) {
    // Not passed over: a misspelt `namespace` would follow them all.
    if (!SCOPE.includes(name)) throw new TypeError(`a scope has no ${name}, but ${SCOPE.join(", ")}`);
    if (typeof value !== "string") throw new TypeError(`a scope's ${name} is a string`);
  }
  if (!scope.version || !scope.resource) throw new TypeError("a scope has a version and a resource");
  return at(`/stream/v1?${new URLSearchParams(given)}`);
}

/** One scope, from `follow` until it is stopped, or until opening its stream again is of no use. */
class Following {
  state = "connecting";
  reason = "";
  message = "";
  retryAt = null;
  #url;
  #tell;
  #person = acting; // whose page this is: what somebody else may see is not put into it
  #shown = new Shown();
  #connection = null;
  #hurry = null; // ends a wait early
  #over = new AbortController();

  /** By itself, too: a page takes apart what it is given. */
  stop = () => {
    if (this.#isOver) return;
    this.#over.abort();
    this.#become({ state: "stopped" });
    this.#connection?.end();
    this.#hurry?.();
  };

  constructor(url, tell, signal) {
    this.#url = url;
    this.#tell = tell;
    const until = { signal: this.#over.signal };
    const seen = () => document.visibilityState === "visible" && this.#woken();
    document.addEventListener("visibilitychange", seen, until);
    document.addEventListener("resume", seen, until); // a page that the browser had frozen
    addEventListener("pageshow", seen, until);
    addEventListener("online", () => this.#woken(), until);
    signal?.addEventListener("abort", this.stop, until);
    if (signal?.aborted) this.stop();
    this.#run();
  }

  get objects() {
    return this.#shown.objects;
  }

  get redacted() {
    return this.#shown.redacted;
  }

  get changed() {
    return this.#shown.changed;
  }

  get #isOver() {
    return this.#over.signal.aborted;
  }

  async #run() {
    await null; // the page has what `follow` returns before it is called
    for (let failures = 0; !this.#isOver; failures++) {
      this.#become({ state: this.#shown.isKnown ? "stale" : "connecting" });
      this.#say();
      if (this.#isOver) return;
      const connection = (this.#connection = new Connection());
      const ending = await this.#connect(connection);
      if (this.#isOver) return;
      if (ending.state !== "waiting") return this.#end(ending);
      if (connection.live >= STEADY) failures = 0;
      await this.#wait(ending, failures);
    }
  }

  /** Takes what a connection brings. Tells how it ended. */
  async #connect(connection) {
    const { signal } = connection;
    this.#shown.forgetCycle();
    try {
      const stream = send(this.#url, { headers: { Accept: "text/event-stream" }, signal }, { stream: true });
      const [found, answer] = await Promise.all([ask(signal), stream]);
      if (answer.outcome !== "ok") return refusal(answer);
      if (!found.authenticated) return refusal(signedOut());
      this.#person ??= found;
      if (!samePerson(this.#person, found)) return refusal({ ...signedOut(), message: SOMEBODY_ELSE });
      if (!isStream(answer.response)) return refusal(unreadable(answer.response));
      return await this.#read(answer.response.body.getReader(), connection);
    } catch (error) {
      if (signal.aborted) return signal.reason;
      if (error instanceof FoyerError) return refusal(error.answer);
      throw error;
    } finally {
      connection.end();
    }
  }

  async #read(reader, connection) {
    const events = new Events();
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: "cut short" }));
      if (connection.signal.aborted) return connection.signal.reason;
      if (done === true) return again("Ended", "The stream has ended.");
      if (done) return again("CutShort", "The stream was cut short.");
      connection.heard();
      const before = this.state;
      const ending = this.#take(events, value, connection);
      if (ending) return ending;
      // Once for all that came together: a page need not draw what is over already.
      if (this.state !== before || this.changed.size > 0) this.#say();
    }
  }

  #take(events, bytes, connection) {
    try {
      for (const event of events.of(bytes)) {
        if (event.type === "error") {
          if (event.code !== "RESYNC_REQUIRED" || event.terminal) return failure(event);
          if (this.state === "live") this.#become({ ...failure(event), state: "stale" });
        } else if (this.#shown.take(event)) {
          connection.isLive();
          this.#become({ state: "live" });
        } else if (event.type === "reset" && this.state === "live") {
          this.#become({ state: "stale" });
        }
      }
    } catch (error) {
      return again("Unreadable", `The stream is not as it should be: ${error.message}`);
    }
  }

  #end(ending) {
    this.#over.abort();
    this.#become(ending);
    this.#say();
  }

  /** Half as long at times, or half as long again: not all pages that foyer's restart cut come at once. */
  async #wait(ending, failures) {
    const hint = Math.min(ending.after ?? 0, LONGEST_HINT) * (1 + Math.random() / 4);
    const own = Math.min(FIRST_WAIT * 2 ** failures, LONGEST_WAIT) * (0.5 + Math.random());
    const began = Date.now();
    this.#become(ending, began + Math.max(own, hint));
    this.#say();
    if (this.#isOver) return;
    const soonest = began + Math.max(FIRST_WAIT / 2, hint);
    await new Promise((resolve) => {
      let timer = setTimeout(resolve, this.retryAt - began);
      this.#hurry = () => {
        clearTimeout(timer);
        timer = setTimeout(resolve, this.#isOver ? 0 : soonest - Date.now());
      };
    });
    this.#hurry = null;
  }

  /** The page is looked at again, or has a network again: what it waits for may be there. */
  #woken() {
    if (this.#hurry) this.#hurry();
    else this.#connection?.woken();
  }

  #become({ state, reason = "", message = "" }, retryAt = null) {
    Object.assign(this, { state, reason, message, retryAt });
  }

  #say() {
    const tell = this.#tell;
    try {
      tell(this);
    } catch (error) {
      reportError(error); // the page's own, and no reason not to follow on
    }
    this.#shown.told();
  }
}

/** What a scope's streams have shown. Only a whole cycle takes the place of what was shown before. */
class Shown {
  objects = new Map(); // by uid
  redacted = new Map(); // by uid, where there is anything
  changed = new Set(); // uids, since the page was last told
  isKnown = false; // a cycle was whole
  #cycle = null; // the objects and redactions of one that is not
  #isOpen = false; // this stream has begun one

  /** A new stream: it begins from the beginning. */
  forgetCycle() {
    this.#cycle = null;
    this.#isOpen = false;
  }

  told() {
    if (this.changed.size > 0) this.changed = new Set();
  }

  /** Whether the event made a cycle whole. */
  take({ type, object, redacted, identity }) {
    if (type === "reset") this.#begin();
    else if (!this.#isOpen) throw new SyntaxError(`${type} before reset`);
    else if (type === "added" || type === "modified") this.#put(object, redacted);
    else if (type === "deleted") this.#remove(identity.uid);
    else if (type === "synced") return this.#complete();
    return false; // an event of a type that is to come
  }

  #begin() {
    this.#isOpen = true;
    this.#cycle = new Map();
  }

  #put(object, redacted) {
    const { uid } = object.metadata;
    if (this.#cycle === null) return this.#keep(uid, object, redacted);
    // Most of a new cycle is as it was: not kept twice, and not said to have changed.
    const isSame = same(this.objects.get(uid), object) && same(this.redacted.get(uid) ?? [], redacted);
    this.#cycle.set(uid, isSame ? null : [object, redacted]);
  }

  #remove(uid) {
    if (this.#cycle === null) this.#drop(uid);
    else this.#cycle.delete(uid);
  }

  #complete() {
    if (this.#cycle === null) throw new SyntaxError("synced twice");
    for (const uid of [...this.objects.keys()]) if (!this.#cycle.has(uid)) this.#drop(uid);
    for (const [uid, shown] of this.#cycle) if (shown) this.#keep(uid, ...shown);
    this.#cycle = null;
    return (this.isKnown = true);
  }

  #keep(uid, object, redacted) {
    this.objects.set(uid, object);
    if (redacted.length > 0) this.redacted.set(uid, redacted);
    else this.redacted.delete(uid);
    this.changed.add(uid);
  }

  #drop(uid) {
    this.redacted.delete(uid);
    if (this.objects.delete(uid)) this.changed.add(uid);
  }
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

const SILENCE = 60_000; // ms without a byte, three of foyer's heartbeats, are a lost connection
const WOKEN = 25_000; // one heartbeat, once there is reason to doubt it
const LOOK = 5000; // ms from one look to the next

/** One connection for a stream, which is given up when nothing is heard of it. */
class Connection {
  #aborting = new AbortController();
  #looking = setInterval(() => this.#look(), LOOK);
  #heard = Date.now(); // a clock that goes on while the machine sleeps
  #patience = SILENCE;
  #liveSince = null;

  get signal() {
    return this.#aborting.signal;
  }

  /** For how many ms its stream has been whole. */
  get live() {
    return this.#liveSince === null ? 0 : Date.now() - this.#liveSince;
  }

  isLive() {
    this.#liveSince ??= Date.now();
  }

  heard() {
    this.#heard = Date.now();
    this.#patience = SILENCE;
  }

  woken() {
    this.#patience = WOKEN;
    this.#look();
  }

  /** Ends the requests, with how that is to be told. */
  end(ending) {
    clearInterval(this.#looking);
    this.#aborting.abort(ending);
  }

  #look() {
    if (Date.now() - this.#heard < this.#patience) return;
    this.end(again("Silent", "Nothing is heard of the stream any more."));
  }
}

const LONGEST_EVENT = 64 * 1024 * 1024; // characters: foyer's longest has a quarter of that

/** The events in the bytes of a stream, however they were cut (HTML, section 9.2.6). */
class Events {
  #decoder = new TextDecoder("utf-8", { fatal: true });
  #line = ""; // as far as it has come
  #endedByCR = false; // a line feed that follows ends no other line
  #data = "";
  #seq = 0;

  /** Throws where one is not as it should be: then no other can be believed. */
  *of(bytes) {
    for (const line of this.#lines(this.#decoder.decode(bytes, { stream: true }))) {
      if (line.startsWith("data:")) this.#data += line.slice(line[5] === " " ? 6 : 5) + "\n";
      else if (line === "" && this.#data !== "") yield this.#whole();
    }
    if (this.#line.length + this.#data.length > LONGEST_EVENT) throw new RangeError("an event has no end");
  }

  #lines(text) {
    if (text === "") return [];
    const lines = text.slice(this.#endedByCR && text[0] === "\n" ? 1 : 0).split(/\r\n|\n|\r/);
    this.#endedByCR = text.endsWith("\r");
    lines[0] = this.#line + lines[0];
    this.#line = lines.pop();
    return lines;
  }

  #whole() {
    const event = JSON.parse(this.#data);
    this.#data = "";
    this.#seq += 1;
    if (event?.seq !== this.#seq) throw new SyntaxError(`${this.#seq} is not the next event`);
    if (!isWhole(event)) throw new SyntaxError(`event ${this.#seq} lacks a part`);
    return event;
  }
}

function isWhole({ type, object, redacted, identity, code }) {
  if (type === "added" || type === "modified") return isId(object?.metadata?.uid) && Array.isArray(redacted);
  if (type === "deleted") return isId(identity?.uid);
  return type === "error" ? isId(code) : isId(type);
}

const isId = (value) => typeof value === "string" && value !== "";

// ---- How a stream ends: `waiting` goes on, `after` so many ms at least

const REFUSALS = ["signed-out", "refused", "missing", "invalid"];
const CODES = { FORBIDDEN: "refused", UNAUTHENTICATED: "signed-out", SCOPE_INVALID: "invalid" };

const again = (reason, message) => ({ state: "waiting", reason, message });

function failure({ code, message, terminal, retryAfterMs }) {
  const state = Object.hasOwn(CODES, code) ? CODES[code] : terminal ? "error" : "waiting";
  return { state, reason: code, message: String(message ?? ""), after: Number(retryAfterMs) || 0 };
}

/** An answer in the stream's place. */
function refusal({ outcome, status, reason, message, retryAfter }) {
  const passes = status === 429 || status >= 500 || reason === "Unreachable" || reason === "CutShort";
  const final = status === 400 || status === 422 ? "invalid" : "error";
  const state = REFUSALS.includes(outcome) ? outcome : passes ? "waiting" : final;
  return { state, reason, message, after: (retryAfter ?? 0) * 1000 };
}

function isStream(response) {
  return mediaType(response) === "text/event-stream" && response.headers.get("X-KRM-Stream-Protocol") === "1";
}

// ---- Requests

/** A change with its proof; and once more with a new one, if foyer refused the first for it. */
async function change(url, init, { stream = false, anybody = false }) {
  try {
    const mine = acting ?? (await unlessAborted(init.signal, session()));
    if (!mine.authenticated) return signedOut();
    const answer = await send(url, proven(init, mine), { stream });
    // The header is foyer's alone; a Status of Kubernetes may hold any word.
    if (answer.interruption !== "CSRFProofRequired") return answer;
    const fresh = await unlessAborted(init.signal, renewed());
    if (!fresh.authenticated) return signedOut();
    if (!anybody && !samePerson(mine, fresh)) {
      return { ...answer, message: SOMEBODY_ELSE };
    }
    if (acting === mine) acting = fresh;
    return await send(url, proven(init, fresh), { stream });
  } catch (error) {
    if (error instanceof FoyerError) return error.answer;
    throw error;
  }
}

function renewed() {
  renewing ??= ask().finally(() => (renewing = null));
  return renewing;
}

function proven(init, { csrfHeader, csrfToken }) {
  const headers = new Headers(init.headers);
  headers.set(csrfHeader, csrfToken);
  return { ...init, headers };
}

async function send(url, init, { stream = false } = {}) {
  let response;
  try {
    // The mode stays fetch's own, `cors`. With `same-origin` a page without referrers says `Origin: null`
    // (Fetch, "append a request Origin header"; not so Chromium), and foyer would refuse its changes.
    response = await fetch(url, { ...init, cache: "no-store", redirect: "manual" });
  } catch {
    init.signal?.throwIfAborted();
    return noAnswer("Unreachable", "There was no answer. Is the network there?");
  }
  if (response.type === "opaqueredirect" || mediaType(response) === "text/html") return unreadable(response);
  if (stream && response.ok) return answered(response, null);
  let text = "";
  try {
    text = await response.text();
  } catch {
    init.signal?.throwIfAborted();
    if (response.ok) return failed(response, "CutShort", "The answer was cut short: a part is not the whole.");
  }
  return read(response, text);
}

function read(response, text) {
  if (text === "" || !/[/+]json$/.test(mediaType(response))) return answered(response, text || null);
  try {
    return answered(response, JSON.parse(text));
  } catch {
    return response.ok ? unreadable(response) : answered(response, null);
  }
}

const mediaType = ({ headers }) => (headers.get("Content-Type") ?? "").split(";", 1)[0].trim().toLowerCase();

const at = (path) => new URL(path, self.origin); // the document's own base may be elsewhere

function unlessAborted(signal, promise) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

// ---- Answers

// A 401 of Kubernetes is not `signed-out`: there is a session, and signing in would only bring it back.
const KUBERNETES = { 401: "refused", 403: "refused", 404: "missing", 409: "conflict", 422: "invalid" };
const FOYER = { 401: "signed-out", 403: "refused", 404: "missing" };

function answered(response, content) {
  const { ok, status, headers } = response;
  const interruption = headers.get("Krm-Foyer-Interruption");
  const said = !ok && content?.kind === "Status" ? content : {};
  return {
    outcome: ok ? "ok" : ((interruption ? FOYER : KUBERNETES)[status] ?? "error"),
    status,
    reason: said.reason ?? "",
    message: ok ? "" : said.message || plain(content) || `The answer was a bare ${status}.`,
    content,
    interruption,
    retryAfter: seconds(headers.get("Retry-After")) ?? seconds(said.details?.retryAfterSeconds),
    response,
  };
}

/** Priority and Fairness, for one, refuses in plain text. */
const plain = (content) => (typeof content === "string" ? content.trim().slice(0, 1000) : "");

const seconds = (value) => (/^\d+$/.test(value ?? "") ? Number(value) : null);

function failed(response, reason, message) {
  return { ...answered(response, null), outcome: "error", reason, message };
}

function unreadable(response) {
  const message = "The answer is neither foyer's nor Kubernetes'. Is this path routed to foyer?";
  return failed(response, "Unreadable", message);
}

function noAnswer(reason, message) {
  const none = { content: null, interruption: null, retryAfter: null, response: null };
  return { outcome: "error", status: 0, reason, message, ...none };
}

function signedOut() {
  const answer = noAnswer("Unauthorized", "You are not signed in, or your session has ended.");
  return { ...answer, outcome: "signed-out", status: 401, interruption: "Unauthorized" };
}
