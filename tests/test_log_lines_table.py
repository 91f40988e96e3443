"""docs/operating.md has every log line with its keys, and every word that a line takes from a fixed set."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from foyer.exchange.endings import Cause
from foyer.interruption import Interruption, Reason
from foyer.login.idtoken import TokenFault
from foyer.login.issuer import DiscoveryFault
from foyer.login.refusal import LoginReason, RefusedLogin
from foyer.observe import Asked, Log
from foyer.protocol.events import Failure
from foyer.protocol.floods import Flood

ROOT = Path(__file__).parents[1]
SECTION = (ROOT / "docs" / "operating.md").read_text().split("\n## Log lines\n")[1].split("\n## ")[0]

ASKED = Asked("/k8s", b"GET", b"/k8s/api", target="eu")
UNAVAILABLE = Interruption(Reason.UPSTREAM_UNAVAILABLE, "…", failure="tls")
REFUSED = RefusedLogin(LoginReason.TOKEN_EXCHANGE_FAILED, "…", "invalid_grant", 400, "expired")

LINES: dict[str, Callable[[Log], None]] = {
    "refused": lambda log: log.refused("foyer", ASKED, "NotFound"),
    "stream_refused": lambda log: log.stream_refused("foyer", ASKED, "FORBIDDEN", "version=v1"),
    "interrupted": lambda log: log.interrupted(UNAVAILABLE, ASKED),
    "limit_reached": lambda log: log.limit_reached("Overloaded", "concurrency"),
    "answered": lambda log: log.answered(403, ASKED),
    "response_cut_short": lambda log: log.response_cut_short("upstream", ASKED, "reset"),
    "login_refused": lambda log: log.login_refused(REFUSED),
    "unreadable": lambda log: log.unreadable("…"),
    "flood": lambda log: log.flood("ping", "upstream", "eu"),
    "fault": lambda log: log.fault(ValueError()),
    "listening": lambda log: log.listening("127.0.0.1:8080", tls=True),
    "metrics_listening": lambda log: log.metrics_listening("127.0.0.1:9090"),
    "issuer_unavailable": lambda log: log.issuer_unavailable(
        "https://issuer.test", "tls", "-oidc-ca-file", 1.0
    ),
    "issuer_keys_not_read": lambda log: log.issuer_keys_not_read("tls"),
    "ready": lambda log: log.ready(),
    "few_files": lambda log: log.few_files(1024, 4512),
    "draining": lambda log: log.draining(1),
    "stopped": lambda log: log.stopped(),
    "certificate_reloaded": lambda log: log.certificate_reloaded(),
    "certificate_refused": lambda log: log.certificate_refused("should be"),
    "keys_reloaded": lambda log: log.keys_reloaded(),
    "keys_refused": lambda log: log.keys_refused("should be"),
    "client_secret_reloaded": lambda log: log.client_secret_reloaded(),
    "client_secret_refused": lambda log: log.client_secret_refused("should be"),
    "roots_reloaded": lambda log: log.roots_reloaded("-targets-file", "eu"),
    "roots_refused": lambda log: log.roots_refused("-targets-file", "should be", "eu"),
    "shared_token_reloaded": lambda log: log.shared_token_reloaded("eu"),
    "shared_token_refused": lambda log: log.shared_token_refused("should be", "eu"),
    "shared_identity_refused": lambda log: log.shared_identity_refused("eu"),
    "configuration_refused": lambda log: log.configuration_refused("-listen", "should be", "LISTEN"),
    "configuration_reloaded": lambda log: log.configuration_reloaded(),
    "restart_needed": lambda log: log.restart_needed("-listen"),
    "nobody_can_sign_in": lambda log: log.nobody_can_sign_in("-public-url"),
    "sign_in_needs_restart": lambda log: log.sign_in_needs_restart(),
}
"""Each of the log's methods, with all that its line may have."""

ELSEWHERE = {"cannot start": {"reason", "flag", "address"}}
"""Lines of other modules, which name them there."""


def written() -> dict[str, set[str]]:
    """Every line of the log's own, by `msg`, with its keys."""
    lines: list[bytes] = []
    takes = iter([False])  # the first line is lost

    def write(line: bytes) -> bool:
        taken = next(takes, True)
        if taken:
            lines.append(line)
        return taken

    log = Log(write)
    log.stopped()
    for line in LINES.values():
        line(log)
    keys: dict[str, set[str]] = {}
    for raw in lines:
        found = json.loads(raw)
        keys.setdefault(found["msg"], set()).update(found.keys() - {"time", "level", "msg"})
    return keys


def told() -> list[tuple[set[str], set[str]]]:
    """The table's rows: the lines, and the keys that they have between them."""
    table = SECTION.split("| `msg` |")[1].split("\n\n")[0].splitlines()[2:]
    cells = [row.split("|") for row in table]
    return [(set(re.findall(r"`([^`]+)`", row[1])), set(re.findall(r"`(\w+)`", row[2]))) for row in cells]


def test_each_of_the_logs_methods_is_tried_here() -> None:
    assert {name for name in vars(Log) if name[0] != "_"} - {"info", "warn", "error"} == set(LINES)


def test_the_table_has_every_line_and_no_other_with_exactly_its_keys() -> None:
    lines = written() | ELSEWHERE
    rows = told()
    assert sorted(word for words, _ in rows for word in words) == sorted(lines)
    for words, keys in rows:
        assert keys == set().union(*(lines[word] for word in words)), words


def test_no_other_module_makes_up_a_line() -> None:
    sources = [path.read_text() for path in (ROOT / "foyer").rglob("*.py") if path.name != "observe.py"]
    made = {
        word for text in sources for word in re.findall(r"log\.(?:info|warn|error)\(\s*\"([^\"]+)\"", text)
    }
    assert made == set(ELSEWHERE)


def test_every_word_of_the_fixed_sets_is_told() -> None:
    words = {cause.label for cause in Cause} | {flood.word for flood in Flood}
    words |= {word.value for kind in (Failure, DiscoveryFault, TokenFault) for word in kind}
    words |= {"redirect", "content_type", "content_encoding", "nobody", "status_503"}
    assert words <= set(re.findall(r"`([\w-]+)`", SECTION))
