"""Which objects a list, a watch or a delete of a collection means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.options import ListOptions
from foyer.demo.apiserver.resources import Resource
from foyer.demo.apiserver.selectors import FieldTerm, Requirement, parse_fields, parse_labels
from foyer.demo.apiserver.status import Refused, bad_request
from foyer.demo.apiserver.store import Entry, Key


def key_of(resource: Resource, namespace: str, name: str) -> Key:
    """Where an object is stored."""
    return f"{namespace}/{name}" if resource.namespaced else name


@dataclass(frozen=True, slots=True)
class Selection:
    """A namespace (empty for all), and selectors on labels and fields."""

    resource: Resource
    namespace: str
    labels: Sequence[Requirement] = ()
    fields: Sequence[FieldTerm] = ()

    @property
    def prefix(self) -> str:
        """What all keys of the namespace begin with."""
        return f"{self.namespace}/" if self.namespace else ""

    @property
    def selects(self) -> bool:
        """Whether it has selectors, so that counting keys does not count its objects."""
        return bool(self.labels or self.fields)

    def matches(self, entry: Entry) -> bool:
        """Whether an object is meant."""
        if not entry.key.startswith(self.prefix):
            return False
        return not self.selects or self._selected(entry.object)

    def _selected(self, target: Object) -> bool:
        labels: Mapping[str, str] = target["metadata"].get("labels", {})
        return all(term.matches(target) for term in self.fields) and all(
            requirement.matches(labels) for requirement in self.labels
        )


def select(resource: Resource, namespace: str, options: ListOptions, name: str = "") -> Selection:
    """The selection of a request; `name` narrows it to one object. Raises `Refused` (400)."""

    def unsupported(label: str) -> Refused:
        if resource.custom:
            return bad_request(f"field label not supported: {label}")
        known = ", ".join(f'"{field}"' for field in resource.selectable)
        return bad_request(f'"{label}" is not a known field selector: only {known}')

    fields = parse_fields(options.field_selector, unsupported, resource.selectable)
    if name:
        fields = (*fields, FieldTerm("metadata.name", True, name))
    return Selection(resource, namespace, parse_labels(options.label_selector), fields)
