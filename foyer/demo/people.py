"""Who can sign in to the demo, and what they may do there."""

from collections.abc import Sequence
from dataclasses import dataclass

from foyer.demo.apiserver.rbac import DEFAULT_BINDINGS, READ, Binding, Policy, Role, Rule
from foyer.demo.apiserver.resources import NOTE_GROUP

NAMESPACES = ("default", "demo")
"""Where everybody's roles hold."""

EDITORS, READERS = "demo-editors", "demo-readers"

WATCHER = "system:serviceaccount:foyer-system:watcher"
"""The account for shared watches: it reads everywhere and may ask what others may."""


@dataclass(frozen=True, slots=True)
class Person:
    """Someone with an account at the stand-in issuer, which asks nobody for a password."""

    name: str
    email: str
    groups: tuple[str, ...]
    may: str

    @property
    def subject(self) -> str:
        """The issuer's own name for them, which never changes."""
        return f"id-{self.email.partition('@')[0]}"


ADA = Person("Ada Editor", "ada@example.com", (EDITORS,), "may change everything in the namespace demo")
BOB = Person("Bob Reader", "bob@example.com", (READERS,), "may only read there, and no Secrets")

PEOPLE = (ADA, BOB)


def crowd(count: int) -> Sequence[Person]:
    """`count` more editors, `user-0001@example.com` and so on, for measurements."""
    names = [f"user-{number:04}" for number in range(1, count + 1)]
    return [Person(name, f"{name}@example.com", (EDITORS,), "is one of many") for name in names]


_NOTES = (NOTE_GROUP,)
_NOTE_RESOURCES = ("notes", "notes/status")

EDITOR = Role(
    "demo-editor",
    (
        Rule(("*",), _NOTES, _NOTE_RESOURCES),
        Rule(("*",), ("",), ("configmaps", "secrets")),
        Rule(READ, ("",), ("namespaces",)),
    ),
)

READER = Role(
    "demo-reader",
    (
        Rule(READ, _NOTES, _NOTE_RESOURCES),
        Rule(READ, ("",), ("configmaps", "namespaces")),
    ),
)

WATCHING = Role(
    "foyer-watcher",
    (
        Rule(READ, _NOTES, _NOTE_RESOURCES),
        Rule(READ, ("",), ("configmaps", "namespaces")),
        Rule(("create",), ("authorization.k8s.io",), ("subjectaccessreviews",)),
    ),
)

POLICY = Policy(
    (
        *DEFAULT_BINDINGS,
        *(Binding("demo-editor", EDITOR, group=EDITORS, namespace=namespace) for namespace in NAMESPACES),
        *(Binding("demo-reader", READER, group=READERS, namespace=namespace) for namespace in NAMESPACES),
        Binding("foyer-watcher", WATCHING, user=WATCHER),
    )
)
