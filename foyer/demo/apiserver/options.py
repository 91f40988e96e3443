"""The query of a request: ListOptions and what writes take (meta/v1).

As in Kubernetes a repeated parameter counts once, the first time, unknown ones are ignored,
and a boolean is false only when it says so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from urllib.parse import parse_qsl

from foyer.demo.apiserver.status import Cause, bad_request, invalid

Query = dict[str, str]


def read_query(query: str) -> Query:
    """The parameters of a query string, each as first given. Raises `Refused` (400)."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise bad_request("the query has too many parameters") from None
    found: Query = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def flag(query: Query, name: str) -> bool:
    """A boolean parameter."""
    value = query.get(name)
    return value is not None and value.lower() not in ("0", "false")


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def _integer(query: Query, name: str) -> int:
    value = query.get(name, "")
    if value and not _INTEGER.fullmatch(value):
        raise bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax')
    return int(value or 0)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """How to list or watch. `version` is None when not given; `initial_events` when not decided.

    `timeout` is in whole seconds, 0 for the server's own; `limit` 0 for no limit.
    """

    label_selector: str
    field_selector: str
    watch: bool
    bookmarks: bool
    limit: int
    token: str
    version: int | None
    match: str
    initial_events: bool | None
    timeout: int

    @property
    def wants_initial_events(self) -> bool:
        """Whether a watch ends its snapshot with a bookmark.

        Without `sendInitialEvents` Kubernetes decides so for a watch that takes bookmarks and
        names no version, or 0 (and compresses it like any streaming list).
        """
        if self.initial_events is not None:
            return self.initial_events
        return self.bookmarks and not self.version


EXACT, NOT_OLDER_THAN = "Exact", "NotOlderThan"


def list_options(query: Query, *, watch: bool, watch_list: bool) -> ListOptions:
    """Read and validate. `watch_list` is the feature of that name. Raises `Refused` (400, 422)."""
    options = ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        watch=watch or flag(query, "watch"),
        bookmarks=flag(query, "allowWatchBookmarks"),
        limit=max(_integer(query, "limit"), 0),
        token=query.get("continue", ""),
        version=None,
        match=query.get("resourceVersionMatch", ""),
        initial_events=flag(query, "sendInitialEvents") if "sendInitialEvents" in query else None,
        timeout=max(_integer(query, "timeoutSeconds"), 0),
    )
    text = query.get("resourceVersion", "")
    faults = _watch_faults(options, watch_list) if options.watch else _list_faults(options, text)
    if faults:
        raise invalid("", "meta.k8s.io", "ListOptions", faults)
    if options.token and text:
        raise bad_request("specifying resource version is not allowed when using continue")
    return replace(options, version=resource_version(text)) if text else options


def resource_version(text: str) -> int:
    """A version as a number. Raises `Refused` (400)."""
    # 64 bits in Kubernetes; a longer one would only ever be "too large".
    if not re.fullmatch(r"[0-9]{1,18}", text):
        why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f"invalid resource version: {why}")
    return int(text)


def _forbidden(field: str, message: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {message}", field)


def _unsupported(match: str, supported: str) -> Cause:
    message = f'Unsupported value: "{match}": supported values: {supported}'
    return Cause("FieldValueNotSupported", message, "resourceVersionMatch")


def _list_faults(options: ListOptions, version: str) -> Sequence[Cause]:
    faults: list[Cause] = []
    if options.match and not version:
        message = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        faults.append(_forbidden("resourceVersionMatch", message))
    if options.match and options.token:
        message = "resourceVersionMatch is forbidden when continue is provided"
        faults.append(_forbidden("resourceVersionMatch", message))
    if options.match not in ("", EXACT, NOT_OLDER_THAN):
        faults.append(_unsupported(options.match, f'"{EXACT}", "{NOT_OLDER_THAN}", ""'))
    if options.match == EXACT and version == "0":
        message = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        faults.append(_forbidden("resourceVersionMatch", message))
    if options.initial_events is not None:
        faults.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return faults


def _watch_faults(options: ListOptions, watch_list: bool) -> Sequence[Cause]:
    faults: list[Cause] = []
    if options.initial_events is not None and options.match != NOT_OLDER_THAN:
        message = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"
        faults.append(_forbidden("resourceVersionMatch", message))
    if options.initial_events is not None and not watch_list:
        message = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        faults.append(_forbidden("sendInitialEvents", message))
    if options.match and options.initial_events is None:
        message = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        faults.append(_forbidden("resourceVersionMatch", message))
    if options.match not in ("", NOT_OLDER_THAN):
        faults.append(_unsupported(options.match, f'"{NOT_OLDER_THAN}"'))
    if options.token:
        message = "resourceVersionMatch is forbidden when continue is provided"
        faults.append(_forbidden("resourceVersionMatch", message))
    return faults


class Validation(Enum):
    """`fieldValidation`: what becomes of fields that the schema does not know."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What create, update, patch and delete take: `dry_run` checks everything and stores nothing."""

    dry_run: bool
    validation: Validation


def write_options(query: Query, kind: str) -> WriteOptions:
    """Read and validate. `kind` (`CreateOptions`, …) is for the message. Raises `Refused` (422)."""
    faults: list[Cause] = []
    dry_run = query.get("dryRun", "")
    if dry_run not in ("", "All"):
        message = f'Unsupported value: ["{dry_run}"]: supported values: "All"'
        faults.append(Cause("FieldValueNotSupported", message, "dryRun"))
    validation = query.get("fieldValidation", "") or Validation.WARN.value
    if validation not in [each.value for each in Validation]:
        message = f'Unsupported value: "{validation}": supported values: "", "Ignore", "Strict", "Warn"'
        faults.append(Cause("FieldValueNotSupported", message, "fieldValidation"))
    if faults:
        raise invalid("", "meta.k8s.io", kind, faults)
    return WriteOptions(dry_run == "All", Validation(validation))
