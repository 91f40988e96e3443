"""The rules for names, labels and finalizers (Kubernetes' validation of metadata).

Each check returns what is wrong in Kubernetes' words, nothing when nothing is.
"""

import re

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_QUALIFIED})?"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"


def subdomain_faults(name: str) -> list[str]:
    """RFC 1123 subdomain: what most objects' names must be."""
    return _faults(
        name,
        253,
        _SUBDOMAIN,
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character",
        "'example.com'",
    )


def label_faults(name: str) -> list[str]:
    """RFC 1123 label: what a namespace's name must be."""
    return _faults(
        name,
        63,
        _LABEL,
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character",
        "'my-name',  or '123-abc'",
    )


def label_key_faults(key: str) -> list[str]:
    """A qualified name: a label's, annotation's or finalizer's, with an optional DNS prefix."""
    prefix, slash, name = key.rpartition("/")
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults += [f"prefix part {fault}" for fault in subdomain_faults(prefix)]
    of_the_name = _faults(
        name,
        63,
        _QUALIFIED,
        "must consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character",
        "'MyName',  or 'my.name',  or '123-abc'",
    )
    return faults + [f"name part {fault}" for fault in of_the_name]


def label_value_faults(value: str) -> list[str]:
    """A label's value."""
    return _faults(
        value,
        63,
        _VALUE,
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character",
        "'MyValue',  or 'my_value',  or '12345'",
    )


def config_key_faults(key: str) -> list[str]:
    """A key of a ConfigMap's or Secret's data."""
    faults = _faults(
        key,
        253,
        _CONFIG_KEY,
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        "'key.name',  or 'KEY_NAME',  or 'key-name'",
    )
    return [f"must not be '{key}'", *faults] if key in (".", "..") else faults


def _faults(text: str, most: int, pattern: str, rule: str, examples: str) -> list[str]:
    """What is wrong with a text of at most so many bytes that is to match `pattern`, as `rule` says."""
    faults = []
    if len(text) > most:
        faults.append(f"must be no more than {most} bytes")
    if not re.fullmatch(pattern, text):
        faults.append(f"{rule} (e.g. {examples}, regex used for validation is '{pattern}')")
    return faults


def finalizer_faults(finalizer: str) -> list[str]:
    """A finalizer: a qualified name with a prefix, or one of garbage collection's."""
    faults = label_key_faults(finalizer)
    if not faults and "/" not in finalizer and finalizer not in ("orphan", "foregroundDeletion"):
        faults.append("name is neither a standard finalizer name nor is it fully qualified")
    return faults
