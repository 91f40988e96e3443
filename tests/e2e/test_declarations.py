"""foyer.d.ts: TypeScript's compiler takes it, and it declares what foyer.js is."""

import re
import subprocess
from pathlib import Path

import pytest

from foyer.pages.assets import ASSETS
from tests.e2e.harness.demo import ADA
from tests.e2e.harness.helper import Visit, call
from tests.e2e.harness.looks import npm_package

MODULE = ASSETS[b"/_foyer/foyer.js"].content.decode()
DECLARATIONS = ASSETS[b"/_foyer/foyer.d.ts"].content.decode()

USE = """
import { follow, FoyerError, k8s, login, logout, requireSession, session } from "/_foyer/foyer.js";
import type { Answer, Following, KubernetesObject, Outcome, Session, Status } from "/_foyer/foyer.js";

interface Note {
  metadata: { name: string; resourceVersion?: string };
  spec: { text: string; done?: boolean };
}

export async function use(note: Note, signal: AbortSignal): Promise<string> {
  const found = await session();
  if (!found.authenticated) { login("/list"); login(new URL(location.href)); login(); return ""; }
  const groups: string[] = found.groups;
  const connector: string | undefined = found.connector;
  const person: Session = await requireSession();
  const path = "/apis/example.com/v1/namespaces/demo/notes";
  const list = await k8s<{ items: Note[] }>(path, { signal, headers: { Accept: "application/json" } });
  switch (list.outcome) {
    case "ok": { const first: Note | undefined = list.content.items[0]; void first; break; }
    case "signed-out": login(); break;
    case "refused": case "missing": case "conflict": case "invalid": case "error": {
      const outcome: Outcome = list.outcome;
      const seconds: number | null = list.retryAfter;
      return `${outcome} ${list.reason} ${list.message} ${seconds} ${list.interruption}`;
    }
    default: { const never: never = list; return never; }
  }
  const changes: Answer<Note>[] = await Promise.all([
    k8s<Note>(path, { method: "POST", body: note }),
    k8s<Note>(path, { method: "PATCH", body: [{ op: "remove", path: "/spec/done" }] }),
    k8s<Note>(path, { method: "PUT", body: "{}", contentType: "application/json" }),
    k8s<Note>(path, { method: "PUT", body: new Uint8Array() }),
    k8s<Note>(path, { method: "PUT", body: new Blob([]) }),
  ]);
  const watch = await k8s<null>(`${path}?watch=1`, { stream: true });
  if (watch.outcome === "ok") watch.response.body?.getReader();
  const scope = { group: "example.com", version: "v1", resource: "notes", namespace: "demo" };
  const following: Following<LiveNote> = follow<LiveNote>(scope, showing, { signal });
  follow({ version: "v1", resource: "secrets", projection: "krm-raw/v1" }, ({ objects, redacted, stop }) => {
    for (const [uid, { metadata }] of objects) void [metadata.name, redacted.get(uid)?.[0]?.path];
    stop();
  });
  following.stop();
  const out = await logout("/bye");
  if (out.outcome !== "ok") { const status = out.status; void status; }
  try { await session(); } catch (error) {
    if (error instanceof FoyerError) {
      return (error.answer.content as Status).details?.causes?.[0]?.field ?? "";
    }
  }
  return `${groups}${connector}${person.expiresAt}${changes.length}`;
}

interface LiveNote extends KubernetesObject {
  spec: { text: string };
}

function showing({ state, retryAt, message, objects, changed }: Following<LiveNote>): string[] {
  switch (state) {
    case "connecting": case "live": case "stale": break;
    case "waiting": return [message, new Date(retryAt ?? 0).toISOString()];
    case "signed-out": case "refused": case "missing": case "invalid": case "error": case "stopped":
      return [message];
    default: { const never: never = state; return never; }
  }
  return [...changed].map((uid) => objects.get(uid)?.spec.text ?? "");
}

// @ts-expect-error A scope has a version.
follow({ resource: "pods" }, () => {});
// @ts-expect-error A misspelt field of a scope.
follow({ version: "v1", resource: "pods", namespce: "demo" }, () => {});
// @ts-expect-error A projection that there is not.
follow({ version: "v1", resource: "pods", projection: "raw" }, () => {});
// @ts-expect-error What is shown is not the page's to change.
follow({ version: "v1", resource: "pods" }, ({ objects }) => objects.clear());
// @ts-expect-error Nobody is signed in until that is asked.
session().then((found) => found.email);
// @ts-expect-error Content is that of an ok answer only.
k8s<Note>("/x").then((answer) => answer.content.spec);
// @ts-expect-error An outcome that there is not.
k8s("/x").then((answer) => answer.outcome === "forbidden");
// @ts-expect-error A method is in the options.
k8s("/x", "POST");
// @ts-expect-error A misspelt option.
k8s("/x", { contenttype: "text/plain" });
"""


def test_a_page_in_typescript_is_checked_against_them(tmp_path: Path) -> None:
    compiler = npm_package("typescript") / "bin" / "tsc"
    (tmp_path / "foyer.d.ts").write_text(DECLARATIONS)
    (tmp_path / "use.ts").write_text(USE)
    (tmp_path / "tsconfig.json").write_text(
        """{
          "compilerOptions": {
            "strict": true, "noEmit": true, "target": "es2022", "module": "esnext", "types": [],
            "moduleResolution": "bundler", "noUnusedLocals": true, "exactOptionalPropertyTypes": true,
            "lib": ["es2022", "dom", "dom.iterable"], "skipLibCheck": false,
            "paths": { "/_foyer/foyer.js": ["./foyer.d.ts"] }
          },
          "files": ["use.ts", "foyer.d.ts"]
        }"""
    )
    done = subprocess.run(["node", compiler, "-p", tmp_path], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("", 0)


def test_they_declare_what_the_module_exports() -> None:
    exported = re.findall(r"^export (?:async )?(?:function|class) (\w+)", MODULE, re.MULTILINE)
    declared = re.findall(r"^export (?:function|class) (\w+)", DECLARATIONS, re.MULTILINE)
    assert sorted(exported) == sorted(declared) != []


def fields(interface: str) -> set[str]:
    (body,) = re.findall(rf"interface {interface}\b.*?\{{\n(.*?)^\}}", DECLARATIONS, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^  (?:readonly )?(\w+)\??:", body, re.MULTILINE))


@pytest.mark.parametrize(
    "expression",
    [
        "k8s('/version')",
        "k8s('/healthz')",
        "k8s('/api/v1/pods?watch=1', { method: 'DELETE' })",
        "k8s('/nowhere', { method: 'POST', body: {}, signal: new AbortController().signal })",
    ],
)
@pytest.mark.parametrize("person", [ADA, None])
def test_every_answer_has_the_fields_declared(visit: Visit, expression: str, person: str | None) -> None:
    answer = call(visit(person), f"{expression}.then(Object.keys)")
    assert set(answer) == fields("Common") | fields("Ok") == fields("Common") | fields("NotOk")


def test_a_session_has_the_fields_declared(visit: Visit) -> None:
    assert set(call(visit(ADA), "session()")) == fields("Session") - {"connector"}
    assert set(call(visit(), "session()")) == fields("NoSession")


def test_what_is_followed_has_what_is_declared_and_nothing_else(visit: Visit) -> None:
    following = "follow({ version: 'v1', resource: 'configmaps', namespace: 'demo' }, () => {})"
    names = call(
        visit(ADA),
        f"""(() => {{
            const followed = {following};
            followed.stop();
            const own = Object.getOwnPropertyNames(Object.getPrototypeOf(followed));
            return [...Object.keys(followed), ...own.filter((name) => name !== "constructor")];
        }})()""",
    )
    assert sorted(names) == sorted(fields("Following"))
