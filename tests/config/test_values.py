"""What one configured value may be, and that a refusal never repeats it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer.config import values
from foyer.config.values import Address, Origin

PARSERS: list[Callable[[str], Any]] = [
    values.address,
    values.optional_address,
    values.origin,
    values.issuer,
    values.duration,
    values.duration_or_off,
    values.session_timeout,
    values.check_interval,
    values.count,
    values.rate,
    values.size,
    values.path,
    values.client_id,
    values.scopes,
]


def refusal(parser: Callable[[str], Any], text: str) -> str:
    with pytest.raises(ValueError, match=r"^should ") as refused:
        parser(text)
    return str(refused.value)


@given(text=st.text(max_size=60))
@pytest.mark.parametrize("parser", PARSERS)
def test_any_text_is_a_value_or_a_refusal_that_does_not_repeat_it(
    parser: Callable[[str], Any], text: str
) -> None:
    secret = text + "s3cret\x7f"  # DEL: no parser but a path's takes it
    if parser is not values.path:
        assert "s3cret" not in refusal(parser, secret)
    try:
        parser(text)
    except ValueError as error:
        refused = str(error)
    else:
        refused = "should "
    assert refused.startswith("should ")


@pytest.mark.parametrize(
    ("text", "address", "shown"),
    [
        (":8080", Address("", 8080), ":8080"),
        ("127.0.0.1:8443", Address("127.0.0.1", 8443), "127.0.0.1:8443"),
        ("[::1]:80", Address("::1", 80), "[::1]:80"),
        ("localhost:0", Address("localhost", 0), "localhost:0"),
        ("0.0.0.0:65535", Address("0.0.0.0", 65535), "0.0.0.0:65535"),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: Address, shown: str) -> None:
    assert values.address(text) == address
    assert str(address) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8080",
        ":",
        "host",
        ":65536",
        ":-1",
        ":+1",
        ":8_0",
        ": 80",
        ":٣",
        "::1:80",
        "[::1]",
        "a b:1",
        "*:80",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    refusal(values.address, text)


def test_an_empty_address_that_may_be_empty_is_none() -> None:
    assert values.optional_address("") is None
    assert values.optional_address(":9090") == Address("", 9090)
    refusal(values.optional_address, " ")


def test_a_star_for_every_interface_is_answered_with_how_that_is_written() -> None:
    assert refusal(values.address, "*:80") == "should be :80 for every interface, without the *"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://foyer.example.com", "https://foyer.example.com"),
        ("https://foyer.example.com/", "https://foyer.example.com"),
        ("HTTPS://Foyer.Example.COM:443", "https://foyer.example.com"),
        ("https://foyer.example.com:8443", "https://foyer.example.com:8443"),
        ("https://127.0.0.1:6443", "https://127.0.0.1:6443"),
        ("https://[2001:DB8:0::1]:6443", "https://[2001:db8::1]:6443"),
        ("https://[::1]", "https://[::1]"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("https://kubernetes", "https://kubernetes"),
    ],
)
def test_an_origin_is_spelled_as_a_browser_spells_it(text: str, url: str) -> None:
    origin = values.origin(text)
    assert origin.url == url
    assert f"https://{origin.authority}" == url


def test_an_origin_names_scheme_host_and_port() -> None:
    assert values.origin("https://[::1]") == Origin("https", "::1", 443)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "URL"),
        ("http://foyer.example.com", "begins with https://"),
        ("foyer.example.com", "begins with https://"),
        ("//foyer.example.com", "begins with https://"),
        ("https:/foyer.example.com", "begins with https://"),
        ("https://", "name a host"),
        ("https:///", "name a host"),
        ("https://:443", "name a host"),
        ("https://a..b", "name a host"),
        ("https://a.example.", "name a host"),
        ("https://-a.example", "name a host"),
        ("https://%61.example", "name a host"),
        ("https://[::1", "name a host"),
        ("https://[fe80::1%25eth0]", "name a host"),
        ("https://[::1]x", "name a host"),
        ("https://127.1", "name a host"),
        ("https://1.2.3.4.5", "name a host"),
        ("https://a.0x7f", "name a host"),
        ("https://a.example:", "a port"),
        ("https://a.example:0", "a port"),
        ("https://a.example:65536", "a port"),
        ("https://a.example:x", "a port"),
        ("https://a.example?", "no query"),
        ("https://a.example?x=1", "no query"),
        ("https://a.example#", "no fragment"),
        ("https://a.example/#x", "no fragment"),
        ("https://@a.example", "no user name"),
        ("https://user:s3cret@a.example", "no user name"),
        ("https://a.example\\@b.example", "RFC 3986"),
        ("https://a.example\t", "RFC 3986"),
        (" https://a.example", "RFC 3986"),
        ("https://a.example\n", "RFC 3986"),
        ("https://bücher.example", "RFC 3986"),
    ],
)
@pytest.mark.parametrize("parser", [values.origin, values.issuer])
def test_what_is_no_https_server_is_refused(parser: Callable[[str], Any], text: str, why: str) -> None:
    message = refusal(parser, text)
    assert why in message
    assert "s3cret" not in message


@pytest.mark.parametrize("text", ["https://a.example/x", "https://a.example//", "https://a.example/?"])
def test_an_origin_has_no_path(text: str) -> None:
    refusal(values.origin, text)


@pytest.mark.parametrize(
    "text", ["https://a.example/dex", "https://a.example/realms/x/", "https://A.example:443"]
)
def test_an_issuer_is_kept_byte_for_byte(text: str) -> None:
    assert values.issuer(text) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("1m500ms", 60.5),
        ("90s", 90),
        ("1.5h", 5400),
        ("8h", 28800),
        ("1h2m3s4ms", 3723.004),
        ("87600h", 315_360_000),
    ],
)
def test_a_duration_is_in_seconds(text: str, seconds: float) -> None:
    assert values.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "0s",
        "0h0m",
        "0.0s",
        "-5m",
        "+5m",
        "5",
        "5M",
        "m",
        ".5h",
        "5.h",
        "30m1h",
        "1h1h",
        "1d",
        "1e3s",
        "1_0s",
        "٣s",
        "87600h1ms",
        "inf",
        "nan",
    ],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    refusal(values.duration, text)


@pytest.mark.parametrize("text", ["5 m", "5m\n", "9" * 5000 + "s"])
def test_a_duration_has_no_spaces_and_a_bounded_number(text: str) -> None:
    refusal(values.duration, text)


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(1, 9999))
@example(0, 0, 0, 1)
def test_a_duration_is_the_sum_of_its_units(hours: int, minutes: int, seconds: int, ms: int) -> None:
    parsed = values.duration(f"{hours}h{minutes}m{seconds}s{ms}ms")
    assert parsed == pytest.approx(hours * 3600 + minutes * 60 + seconds + ms / 1000)


def test_a_session_lasts_at_least_a_second() -> None:
    assert values.session_timeout("1s") == 1
    assert "at least 1s" in refusal(values.session_timeout, "999ms")


def test_a_check_of_sessions_comes_from_each_second_to_each_five_minutes() -> None:
    assert (values.check_interval("1s"), values.check_interval("5m")) == (1, 300)
    for text in ("999ms", "301s", "off"):
        refusal(values.check_interval, text)


def test_a_duration_that_may_be_off_is_none_then() -> None:
    assert values.duration_or_off("off") is None
    assert values.duration_or_off("90s") == 90
    for text in ("Off", "none", "", "0s", "0"):
        assert refusal(values.duration_or_off, text).endswith(", or off")


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("0064", 64), ("999999999", 999_999_999)])
def test_a_count_is_a_whole_number_from_one(text: str, number: int) -> None:
    assert values.count(text) == number


@pytest.mark.parametrize(
    "text", ["", "0", "00", "-1", "+1", "1.0", "1e3", " 1", "1\n", "1_000", "1000000000", "\u0661"]
)
def test_what_is_no_count_is_refused(text: str) -> None:
    refusal(values.count, text)


@pytest.mark.parametrize(("text", "number"), [("20", 20.0), ("0.5", 0.5), ("0.001", 0.001), ("007.50", 7.5)])
def test_a_rate_may_be_less_than_one_a_second(text: str, number: float) -> None:
    assert values.rate(text) == number


@pytest.mark.parametrize(
    "text", ["", "0", "0.0", "0.000999999", "-1", ".5", "5.", "1e3", "inf", "nan", "1,5", "1/s", "1\n"]
)
def test_what_is_no_rate_is_refused(text: str) -> None:
    refusal(values.rate, text)


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("65536", 65_536), ("64KiB", 65_536), ("32MiB", 1 << 25), ("1GiB", 1 << 30)]
)
def test_a_size_is_in_bytes(text: str, size: int) -> None:
    assert values.size(text) == size


@pytest.mark.parametrize("text", ["", "0", "0MiB", "-1", "1.5MiB", "32MB", "32M", "32 MiB", "32mib", "MiB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    refusal(values.size, text)


def test_scopes_are_split_at_commas_in_their_order() -> None:
    assert values.scopes("email,openid,https://api.example/x") == ("email", "openid", "https://api.example/x")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "commas"),
        ("openid,", "commas"),
        ("openid email", "commas"),
        ("openid, email", "commas"),
        ("openid,openid", "each once"),
        ('openid,"', "commas"),
        ("email,profile", "openid"),
        ("OpenID", "openid"),
        ("openid,offline_access", "offline_access"),
    ],
)
def test_scopes_without_openid_or_with_offline_access_are_refused(text: str, why: str) -> None:
    assert why in refusal(values.scopes, text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("configmaps", {"configmaps"}),
        ("notes.example.com,configmaps", {"notes.example.com", "configmaps"}),
        ("x-9.9.a-b", {"x-9.9.a-b"}),
    ],
)
def test_resources_are_named_as_kubectl_does(text: str, names: set[str]) -> None:
    assert values.resources(text) == names


@pytest.mark.parametrize(
    "text", ["", ",", "a,", "ConfigMap", "notes/example", "a b", "9a", "a.", "a..b", "-a", "é"]
)
def test_what_is_no_resource_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="should be resources with commas between them"):
        values.resources(text)


def test_a_path_is_any_text_that_the_system_can_open() -> None:
    assert values.path("/etc/foyer/schlüssel") == "/etc/foyer/schlüssel"
    refusal(values.path, "")
    refusal(values.path, "a\0b")


def test_a_client_id_is_printable_ascii() -> None:
    assert values.client_id("foyer 1:x") == "foyer 1:x"
    refusal(values.client_id, "")
    refusal(values.client_id, "foyer\n")
