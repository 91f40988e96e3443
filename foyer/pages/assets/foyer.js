// foyer.js: who is signed in to this browser, and Kubernetes' answers to this page.
//
//   import { requireSession, k8s, logout } from "/_foyer/foyer.js";
//
// There is no token in a browser for it to hold. It remembers the session that the page was last
// given, for the proof that every change needs, and sends a change as that person or not at all.
// It repeats nothing but one change that foyer itself refused for its proof, and which therefore
// never reached Kubernetes. What each function takes and gives is declared in foyer.d.ts.

const LONGEST_RETURN = 2048; // bytes: foyer refuses a longer return path
const LOOP = { times: 3, within: 60_000 }; // sign-ins in so many ms: nobody makes them by hand
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

async function ask() {
  const answer = await send(at("/auth/session"), { headers: { Accept: "application/json" } });
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
      const message = "Somebody else has signed in to this browser meanwhile: load the page again.";
      return { ...answer, message };
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
