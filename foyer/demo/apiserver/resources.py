"""The table of what is served: three built-in kinds and one custom kind.

A row says everything that discovery, OpenAPI, validation and storage need to know, so a kind
is added by writing one. What only one kind does (a Secret's `stringData`, say) is in `kinds`.
"""

from dataclasses import dataclass
from functools import cached_property

from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.schema import BOOLEAN, METADATA, STRING, STRING_MAP, STRINGS, fields
from foyer.demo.apiserver.status import qualified

NOTE_GROUP = "example.com"
"""The custom kind's group."""


@dataclass(frozen=True)
class Resource:
    """A resource and its kind.

    `schema` leaves out `apiVersion`, `kind` and `metadata`. `custom` kinds behave as a
    CustomResourceDefinition makes them: keys sorted, no unconditional update, a generation.
    `selectable` are the fields that a field selector may name.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    schema: Object
    short_names: tuple[str, ...] = ()
    custom: bool = False
    status: bool = False
    selectable: tuple[str, ...] = ("metadata.name", "metadata.namespace")

    @cached_property
    def api_version(self) -> str:
        """As in an object's `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def name(self) -> str:
        """The GroupResource, under which its objects are stored: `configmaps`, `notes.example.com`."""
        return qualified(self.plural, self.group)

    @cached_property
    def verbs(self) -> tuple[str, ...]:
        """What may be done to it, in the order in which discovery lists it."""
        if self.custom:
            return ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
        listed = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
        # Kubernetes deletes namespaces one at a time only.
        return listed if self.namespaced else tuple(verb for verb in listed if verb != "deletecollection")

    @cached_property
    def whole_schema(self) -> Object:
        """The schema of a whole object, in the order in which its fields are written."""
        head = {"kind": STRING, "apiVersion": STRING, "metadata": METADATA}
        return self.schema | {"properties": head | self.schema["properties"]}

    @cached_property
    def type_prefix(self) -> bytes:
        """How a built-in object's JSON begins outside a list; inside one it begins with a brace."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()

    def path(self, namespace: str = "") -> str:
        """The collection's URL path."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"


NAMESPACES = Resource(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    singular="namespace",
    short_names=("ns",),
    namespaced=False,
    status=True,
    selectable=("metadata.name", "status.phase"),
    schema=fields({"spec": fields({"finalizers": STRINGS}), "status": fields({"phase": STRING})}),
)

CONFIG_MAPS = Resource(
    group="",
    version="v1",
    kind="ConfigMap",
    plural="configmaps",
    singular="configmap",
    short_names=("cm",),
    namespaced=True,
    schema=fields({"immutable": BOOLEAN, "data": STRING_MAP, "binaryData": STRING_MAP}),
)

SECRETS = Resource(
    group="",
    version="v1",
    kind="Secret",
    plural="secrets",
    singular="secret",
    namespaced=True,
    selectable=("metadata.name", "metadata.namespace", "type"),
    schema=fields({"immutable": BOOLEAN, "data": STRING_MAP, "stringData": STRING_MAP, "type": STRING}),
)

NOTES = Resource(
    group=NOTE_GROUP,
    version="v1",
    kind="Note",
    plural="notes",
    singular="note",
    namespaced=True,
    custom=True,
    status=True,
    schema=fields(
        {
            "spec": fields(
                {
                    "text": STRING | {"minLength": 1, "maxLength": 4096},
                    "done": BOOLEAN | {"default": False},
                },
                required=("text",),
            ),
            "status": fields({"phase": STRING | {"enum": ["Open", "Done"]}}),
        },
        required=("spec",),
    ),
)

RESOURCES = (CONFIG_MAPS, NAMESPACES, SECRETS, NOTES)


@dataclass(frozen=True, slots=True)
class Review:
    """A kind that is asked, never stored: creating one answers it."""

    group: str
    kind: str

    @property
    def plural(self) -> str:
        """As in its URL."""
        return self.singular + "s"

    @property
    def singular(self) -> str:
        """As in discovery."""
        return self.kind.lower()

    @property
    def api_version(self) -> str:
        """As in its `apiVersion`: every review is `v1`."""
        return f"{self.group}/v1"


REVIEWS = (
    Review("authentication.k8s.io", "SelfSubjectReview"),
    Review("authorization.k8s.io", "SelfSubjectAccessReview"),
    Review("authorization.k8s.io", "SelfSubjectRulesReview"),
    Review("authorization.k8s.io", "SubjectAccessReview"),
)
