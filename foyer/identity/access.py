"""The questions of `/_foyer/access`, as its form sends them (spec 01, Routes).

`GET /_foyer/access?namespace=demo` shows the rules there; with `verb` and `resource`, and perhaps
`group` and `name`, it asks "can I?" as well; `target` says which API server. What the words mean is
for that to say: they are only kept short and printable here, so that a link cannot make a page say
something else.
"""

from typing import NamedTuple

from foyer.interruption import Interruption, Reason
from foyer.k8s.reviews import Question
from foyer.login import query
from foyer.protocol.events import RequestHead

MAX_CHARACTERS = 253
"""Of a value: the longest name of an object or an API group (a DNS subdomain, RFC 1123)."""

DEFAULT_NAMESPACE = "default"
"""Where whoever opens the page without a question is shown the rules: every cluster has it."""


class Form(NamedTuple):
    """What was filled in; an empty field is an empty string."""

    namespace: str
    verb: str
    resource: str
    group: str
    name: str
    target: str = ""

    @property
    def question(self) -> Question | None:
        """The "can I?" of it, which needs a verb and a resource."""
        if not self.verb or not self.resource:
            return None
        return Question(self.verb, self.resource, self.group, self.namespace, self.name)

    @property
    def half_asked(self) -> bool:
        """Whether one of the two that a question needs was filled in alone."""
        return bool(self.verb) != bool(self.resource)


def read(head: RequestHead) -> Form | Interruption:
    """The form that the query of `head` is, or its refusal as malformed."""
    given = query.read(head.target)
    if given is None:
        return _MALFORMED
    values = {"namespace": DEFAULT_NAMESPACE}
    for name in Form._fields:
        found = query.given(given, name.encode("ascii"))
        value = _text(found[0]) if found else values.get(name, "")
        if len(found) > 1 or value is None:
            return _MALFORMED
        values[name] = value
    return Form(**values)


def _text(value: bytes) -> str | None:
    """`value` as it was meant, blanks around it aside (they come with pasting); None for what no name is."""
    try:
        text = value.decode("utf-8").strip()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() and len(text) <= MAX_CHARACTERS else None


_MALFORMED = Interruption(
    Reason.BAD_REQUEST,
    "Each field of the form is given at most once, in printable characters, and is no longer than a name.",
)
