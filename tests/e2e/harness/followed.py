"""A page that follows a scope, as its test sees it: each call of the page, and what it was told."""

import json
from typing import Any

from playwright.sync_api import Page

SCOPE = {"version": "v1", "resource": "configmaps", "namespace": "demo"}

_FOLLOW = """async ([scope, name]) => {
    const { follow } = await import("/_foyer/foyer.js");
    const calls = [];
    const told = ({ state, reason, message, retryAt, objects, redacted, changed }) => calls.push({
        state, reason, message, wait: retryAt && retryAt - Date.now(),
        objects: Object.fromEntries(objects), redacted: Object.fromEntries(redacted), changed: [...changed],
    });
    const controller = new AbortController();
    self[name] = { calls, controller, following: follow(scope, told, { signal: controller.signal }) };
}"""


class Followed:
    """One `follow` in a page, which may have several by names of their own."""

    def __init__(self, page: Page, scope: Any = SCOPE, name: str = "followed") -> None:
        self._page = page
        self._name = name
        page.evaluate(_FOLLOW, [scope, name])

    def calls(self) -> list[dict[str, Any]]:
        """What the page has been told so far, in turn."""
        calls: list[dict[str, Any]] = self._page.evaluate("(name) => self[name].calls", self._name)
        return calls

    def states(self) -> list[str]:
        """The states it was told of, each once until there is another."""
        states = [call["state"] for call in self.calls()]
        return [state for i, state in enumerate(states) if i == 0 or states[i - 1] != state]

    def until(self, state: str, after: int = 0) -> dict[str, Any]:
        """The first call with this state, of those after so many; waits for it."""
        told = "([name, state, after]) => self[name].calls.slice(after).find((call) => call.state === state)"
        handle = self._page.wait_for_function(told, arg=[self._name, state, after])
        found: dict[str, Any] = handle.json_value()
        return found

    def shows(self, *uids: str) -> None:
        """Waits until the objects are these, told to the page."""
        self._page.wait_for_function(
            """([name, uids]) => {
                const { calls } = self[name];
                return JSON.stringify(Object.keys(calls.at(-1)?.objects ?? {}).sort()) === uids;
            }""",
            arg=[self._name, json.dumps(sorted(uids), separators=(",", ":"))],
        )

    def now(self) -> dict[str, Any]:
        """What the page can look up at any time."""
        looked: dict[str, Any] = self._page.evaluate(
            """(name) => {
                const { state, reason, objects } = self[name].following;
                return { state, reason, objects: [...objects.keys()] };
            }""",
            self._name,
        )
        return looked

    def do(self, expression: str) -> Any:
        """An expression of `following`, `controller` and `calls`."""
        return self._page.evaluate(
            f"(name) => {{ const {{ following, controller, calls }} = self[name]; return {expression}; }}",
            self._name,
        )
