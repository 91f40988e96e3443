"""Role-based access control: who may do what (rbac.authorization.k8s.io), as a value.

Rules only ever allow. A role bound with a namespace counts there alone, one bound without
counts everywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MASTERS = "system:masters"
"""The group that may do everything, without any rule."""

AUTHENTICATED = "system:authenticated"
"""The group of everyone with a token."""


@dataclass(frozen=True, slots=True)
class User:
    """Who sent a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for: a verb on a resource, or on a `path`."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """With the subresource, as rules name it: `notes/status`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Rule:
    """What a role allows. Empty `names` means every name; `urls` are of paths that are no resource."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def allows(self, asked: Attributes) -> bool:
        """Whether this alone suffices."""
        if not _listed(asked.verb, self.verbs):
            return False
        if asked.path:
            return any(_url_matches(asked.path, url) for url in self.urls)
        return (
            _listed(asked.group, self.groups)
            and (_listed(asked.full_resource, self.resources) or f"*/{asked.subresource}" in self.resources)
            and (not self.names or asked.name in self.names)
        )


def _listed(value: str, allowed: Sequence[str]) -> bool:
    return value in allowed or "*" in allowed


def _url_matches(path: str, url: str) -> bool:
    return path == url or (url.endswith("*") and path.startswith(url[:-1]))


@dataclass(frozen=True, slots=True)
class Role:
    """Rules with a name."""

    name: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Binding:
    """A role given to a user or a group, in one namespace or (empty) everywhere."""

    name: str
    role: Role
    group: str = ""
    user: str = ""
    namespace: str = ""

    def includes(self, user: User) -> bool:
        """Whether it is given to this user."""
        return user.name == self.user if self.user else self.group in user.groups

    def reason(self) -> str:
        """As Kubernetes explains an allowance."""
        kind, where = ("RoleBinding", f"/{self.namespace}") if self.namespace else ("ClusterRoleBinding", "")
        subject = f'User "{self.user}"' if self.user else f'Group "{self.group}"'
        return f'RBAC: allowed by {kind} "{self.name}{where}" of ClusterRole "{self.role.name}" to {subject}'


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether, and why. Nobody explains a refusal."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """All bindings."""

    bindings: tuple[Binding, ...]

    def decide(self, user: User, asked: Attributes) -> Decision:
        """May this user do this?"""
        if MASTERS in user.groups:
            return Decision(True)
        for binding in self._given(user, asked.namespace):
            # A rule about paths is only ever bound everywhere.
            if any(rule.allows(asked) for rule in binding.role.rules):
                return Decision(True, binding.reason())
        return Decision(False)

    def rules(self, user: User, namespace: str) -> list[Rule]:
        """Everything this user may do in a namespace, each rule once."""
        if MASTERS in user.groups:
            return [Rule(("*",), ("*",), ("*",)), Rule(("*",), urls=("*",))]
        given = (rule for binding in self._given(user, namespace) for rule in binding.role.rules)
        return list(dict.fromkeys(given))

    def _given(self, user: User, namespace: str) -> Iterator[Binding]:
        for binding in self.bindings:
            if binding.includes(user) and binding.namespace in ("", namespace):
                yield binding


READ = ("get", "list", "watch")

BASIC_USER = Role(
    "system:basic-user",
    (
        Rule(("create",), ("authorization.k8s.io",), ("selfsubjectaccessreviews", "selfsubjectrulesreviews")),
        Rule(("create",), ("authentication.k8s.io",), ("selfsubjectreviews",)),
    ),
)
"""What everyone may: ask about themselves."""

DISCOVERY = Role(
    "system:discovery",
    (
        Rule(
            ("get",),
            urls=(
                "/api",
                "/api/*",
                "/apis",
                "/apis/*",
                "/healthz",
                "/livez",
                "/openapi",
                "/openapi/*",
                "/readyz",
                "/version",
                "/version/",
            ),
        ),
    ),
)
"""And learn what is served."""

DEFAULT_BINDINGS = (
    Binding("system:basic-user", BASIC_USER, group=AUTHENTICATED),
    Binding("system:discovery", DISCOVERY, group=AUTHENTICATED),
)
