// Declarations of foyer.js, as the foyer that serves this file has it.
//
// A page imports the module by its URL. For TypeScript, keep a copy of this file and map that URL to it:
//   { "compilerOptions": { "paths": { "/_foyer/foyer.js": ["./types/foyer.d.ts"] } } }

/** Somebody is signed in, as `/auth/session` has it. There is no token in it. */
export interface Session {
  authenticated: true;
  issuer: string;
  /** The issuer's own name for the person, which does not change. */
  subject: string;
  /** Empty where the issuer gives none, and so is `displayName`. */
  email: string;
  displayName: string;
  groups: string[];
  /** Which of the issuer's connectors signed the person in, where foyer is told to say. */
  connector?: string;
  /** When the session ends at the latest: RFC 3339, UTC. Nothing renews it. */
  expiresAt: string;
  /** The proof that k8s() and logout() send by themselves. */
  csrfToken: string;
  csrfHeader: string;
}

/** Nobody is. */
export interface NoSession {
  authenticated: false;
}

/**
 * Who is signed in, asked anew each time; calls made meanwhile share one request.
 *
 * From then on this page's changes are this person's. Rejects with a `FoyerError` when no usable
 * answer comes.
 */
export function session(): Promise<Session | NoSession>;

/**
 * The session. A signed-out page goes to sign in and comes back to where it is; then this never resolves.
 *
 * A page that has called it and is brought back by the browser's Back loads again if the person is
 * no longer the same. Rejects as session() does, and when signing in three times within a minute
 * left nobody signed in.
 */
export function requireSession(): Promise<Session>;

/**
 * Leaves for the sign-in, which comes back to `returnTo`: this page's address unless given.
 *
 * Throws a `TypeError` for another origin. An address that foyer does not return to (above 2,048
 * bytes, say) becomes `/`.
 */
export function login(returnTo?: string | URL | Location): void;

/**
 * Signs out, then leaves for `next`: `/auth/logged-out` unless given.
 *
 * The session's open answers end, in other tabs too. Any answer but `ok` and `signed-out` means that
 * it did not happen, and the page stays. Rejects with a `TypeError` for a `next` that is not http(s).
 */
export function logout(next?: string | URL): Promise<Answer<null>>;

export interface Options {
  /** `GET` unless given. Every method but GET and HEAD is sent with the session's proof. */
  method?: string;
  /** An object or array is sent as JSON; a string, a Blob or bytes as they are. */
  body?: object | string | Blob | BufferSource | null;
  /**
   * The body's media type. Unless given: `application/json`, but for PATCH
   * `application/json-patch+json` with an array and `application/merge-patch+json` without.
   */
  contentType?: string;
  /** `Accept` is `application/json` unless given. foyer passes on no others to Kubernetes. */
  headers?: HeadersInit;
  /** Ends the request, or the stream. The promise then rejects with the signal's reason, as fetch's does. */
  signal?: AbortSignal | null;
  /**
   * Whether an `ok` answer's content is left in `response` for the page to read as it arrives. Unless
   * given: true where `path` asks for a `watch` or to `follow` a log.
   */
  stream?: boolean;
}

/**
 * Sends one request with the API server's own path (`/api/v1/…`), and tells what came of it.
 *
 * It rejects only when aborted, or with a `TypeError` for a call that could never be sent: a path that
 * a browser would rewrite, among them. Encode each name in a path with `encodeURIComponent`.
 */
export function k8s<T = unknown>(path: string, options?: Options): Promise<Answer<T>>;

/** What a stream shows (`/stream/v1`). Without a `namespace`: all of them, or a resource that is in none. */
export interface Scope {
  /** Absent for the core group. */
  group?: string;
  version: string;
  /** In the plural, as in the API server's paths: `configmaps`. */
  resource: string;
  namespace?: string;
  /** One object, which may be there or not. */
  name?: string;
  labelSelector?: string;
  /** Which of several API servers. */
  target?: string;
  /**
   * What is taken away: `krm-full/v1` (the default) leaves out managed fields and the values of Secrets,
   * `krm-raw/v1` the managed fields only, `krm-spec/v1` the status as well.
   */
  projection?: "krm-raw/v1" | "krm-full/v1" | "krm-spec/v1";
}

/** What every object has; `T` says what those of a scope have besides. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: {
    uid: string;
    name: string;
    namespace?: string;
    resourceVersion?: string;
    creationTimestamp?: string;
    labels?: { [key: string]: string };
    annotations?: { [key: string]: string };
  };
}

/** - `connecting`: nothing is known yet.
 *  - `live`: what is shown is what there is.
 *  - `stale`: it was; what there is now is on its way.
 *  - `waiting`: there is no connection now. `retryAt` says when there will be another try, `message` why.
 *
 *  From here on they are final:
 *  - `signed-out`: there is no session any more, or it is somebody else's, or the API server does
 *    not take its token any more.
 *  - `refused`: this person may not, by RBAC.
 *  - `missing`: this foyer has no streams.
 *  - `invalid`: there is no such scope.
 *  - `error`: foyer says that trying again is of no use, or what answers is not foyer.
 *  - `stopped`: by the page. */
export type FollowState =
  | "connecting"
  | "live"
  | "stale"
  | "waiting"
  | "signed-out"
  | "refused"
  | "missing"
  | "invalid"
  | "error"
  | "stopped";

/** A value that was left out of an object. */
export interface Redaction {
  /** Where it would be: a JSON Pointer, `/data/password`. */
  path: string;
  /** Rises when the value changes, while the stream is not opened anew. */
  rev: number;
}

/** A scope as it is followed: the same one each time that the page is called. */
export interface Following<T extends KubernetesObject = KubernetesObject> {
  readonly state: FollowState;
  /** With `waiting`, `stale` and final states: the word for why, of the stream (`FORBIDDEN`), of a `Status`
   *  (`RequestRateExceeded`) or the module's own: `Unreachable`, `CutShort`, `Ended`, `Silent`, `Unreadable`. */
  readonly reason: string;
  /** For people; empty where there is no reason. */
  readonly message: string;
  /** When `waiting`: until then, as `Date.now()` counts. */
  readonly retryAt: number | null;
  /** By uid: all that there was when it was last `live`. */
  readonly objects: ReadonlyMap<string, T>;
  /** By uid, of objects of which something was left out. */
  readonly redacted: ReadonlyMap<string, readonly Redaction[]>;
  /** The uids of objects that are new, changed, or gone from `objects` since the page was last called. */
  readonly changed: ReadonlySet<string>;
  /** Ends it. The page is not called again. */
  readonly stop: () => void;
}

/**
 * Follows a scope, until it is stopped or the state is final.
 *
 * `changed` is called when the state is another or objects changed, never before `follow` has returned,
 * and once for all that came together. Throws a `TypeError` for what can be no scope.
 */
export function follow<T extends KubernetesObject = KubernetesObject>(
  scope: Scope,
  changed: (following: Following<T>) => void,
  options?: {
    /** Stops it. */
    signal?: AbortSignal | null;
  },
): Following<T>;

export type Answer<T> = Ok<T> | NotOk;

/** - `signed-out`: there is no session (any more). The only one that signing in mends.
 *  - `refused`: 401 or 403. `interruption` tells whether foyer or Kubernetes refused.
 *  - `missing`: 404. With an `interruption`, `path` is not one that foyer serves.
 *  - `conflict`: 409. Changed since it was read, or there already.
 *  - `invalid`: 422. Kubernetes' rules for the object do not allow it.
 *  - `error`: all else. Whether a change happened may be unknown. */
export type Outcome = "signed-out" | "refused" | "missing" | "conflict" | "invalid" | "error";

interface Common {
  /** The `Status`'s reason (`Forbidden`, `AlreadyExists`, …); empty where there was none. Of the helper's own,
   *  with the outcome `error`: `Unreachable` (no answer), `CutShort` (the answer broke off),
   *  `Unreadable` (it came from neither foyer nor Kubernetes), `SignInLoop`. */
  reason: string;
  /** For people. Never empty but with `ok`. */
  message: string;
  /** The reason for which foyer answered in Kubernetes' place; null for Kubernetes' own answer. */
  interruption: string | null;
  /** Seconds after which to try again, where the answer gives them. */
  retryAfter: number | null;
}

export interface Ok<T> extends Common {
  outcome: "ok";
  /** HTTP's. */
  status: number;
  /** JSON parsed; other content as a string; null where there is none, or it is left in `response`. */
  content: T;
  /** For its header fields and, of a stream, its content. A stream that is cut short rejects. */
  response: Response;
}

export interface NotOk extends Common {
  outcome: Outcome;
  /** HTTP's; 0 when there was no answer. */
  status: number;
  /** A `Status` with all its details, as a rule. */
  content: Status | string | object | null;
  response: Response | null;
}

/** Kubernetes' `Status`, which foyer's interruptions are as well. */
export interface Status {
  kind: "Status";
  apiVersion: "v1";
  status?: string;
  code?: number;
  reason?: string;
  message?: string;
  details?: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    causes?: { reason?: string; message?: string; field?: string }[];
    retryAfterSeconds?: number;
  };
}

/** No usable answer to the question who is signed in: `answer` is what came instead. */
export class FoyerError extends Error {
  readonly answer: NotOk;
}
