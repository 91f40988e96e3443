"""The rules for names, labels and finalizers (Kubernetes' validation of metadata).

Each check returns what is wrong in Kubernetes' words, nothing when nothing is.
"""

import re

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_QUALIFIED})?"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"

_EXAMPLE = "(e.g. {}, regex used for validation is '{}')"


def subdomain_faults(name: str) -> list[str]:
    """RFC 1123 subdomain: what most objects' names must be."""
    faults = []
    if len(name) > 253:
        faults.append("must be no more than 253 bytes")
    if not re.fullmatch(_SUBDOMAIN, name):
        faults.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character "
            + _EXAMPLE.format("'example.com'", _SUBDOMAIN)
        )
    return faults


def label_faults(name: str) -> list[str]:
    """RFC 1123 label: what a namespace's name must be."""
    faults = []
    if len(name) > 63:
        faults.append("must be no more than 63 bytes")
    if not re.fullmatch(_LABEL, name):
        faults.append(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            "and must start and end with an alphanumeric character "
            + _EXAMPLE.format("'my-name',  or '123-abc'", _LABEL)
        )
    return faults


def label_key_faults(key: str) -> list[str]:
    """A qualified name: a label's, annotation's or finalizer's, with an optional DNS prefix."""
    prefix, slash, name = key.rpartition("/")
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults += [f"prefix part {fault}" for fault in subdomain_faults(prefix)]
    if len(name) > 63:
        faults.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_QUALIFIED, name):
        faults.append(
            "name part must consist of alphanumeric characters, '-', '_' or '.', "
            "and must start and end with an alphanumeric character "
            + _EXAMPLE.format("'MyName',  or 'my.name',  or '123-abc'", _QUALIFIED)
        )
    return faults


def label_value_faults(value: str) -> list[str]:
    """A label's value."""
    faults = []
    if len(value) > 63:
        faults.append("must be no more than 63 bytes")
    if not re.fullmatch(_VALUE, value):
        faults.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
            "and must start and end with an alphanumeric character "
            + _EXAMPLE.format("'MyValue',  or 'my_value',  or '12345'", _VALUE)
        )
    return faults


def config_key_faults(key: str) -> list[str]:
    """A key of a ConfigMap's or Secret's data."""
    faults = []
    if len(key) > 253:
        faults.append("must be no more than 253 bytes")
    if key in (".", ".."):
        faults.append(f"must not be '{key}'")
    if not re.fullmatch(_CONFIG_KEY, key):
        faults.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
            + _EXAMPLE.format("'key.name',  or 'KEY_NAME',  or 'key-name'", _CONFIG_KEY)
        )
    return faults


def finalizer_faults(finalizer: str) -> list[str]:
    """A finalizer: a qualified name with a prefix, or one of garbage collection's."""
    faults = label_key_faults(finalizer)
    if not faults and "/" not in finalizer and finalizer not in ("orphan", "foregroundDeletion"):
        faults.append("name is neither a standard finalizer name nor is it fully qualified")
    return faults
