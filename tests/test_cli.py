"""The command: exit codes, what goes to which stream, and what it does not load."""

import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
import trustme

from foyer import __version__
from foyer.cli import main
from foyer.config.flags import FLAGS, PREFIX, Reload
from foyer.config.help import WIDTH


@pytest.fixture(autouse=True)
def nobodys_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have configured a foyer of their own."""
    for variable in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(variable)


def foyer(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "foyer.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | environment,
    )


@pytest.fixture
def valid(tmp_path: Path) -> list[str]:
    """The flags of a configuration that holds."""
    for name, content in {"secret": "the-s3cret\n", "keys": base64.b64encode(bytes(32)).decode()}.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "ca").write_bytes(trustme.CA().cert_pem.bytes())
    return [
        "-public-url=https://foyer.test",
        "-oidc-issuer=https://issuer.test",
        "-oidc-client-id=foyer",
        f"-oidc-client-secret-file={tmp_path / 'secret'}",
        "-kubernetes-server=https://api.test",
        f"-kubernetes-ca-file={tmp_path / 'ca'}",
        f"-session-keys-file={tmp_path / 'keys'}",
    ]


def test_without_a_command_the_usage_is_an_error() -> None:
    result = foyer()
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("usage: foyer COMMAND")


@pytest.mark.parametrize("arguments", [["help"], ["-help"], ["--help"], ["-h"], ["help", "-help"]])
def test_the_usage_that_was_asked_for_is_an_answer(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert out.startswith("usage: foyer COMMAND")
    assert err == ""


@pytest.mark.parametrize("spelling", ["-version", "--version"])
def test_the_version_is_the_packages(spelling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([spelling]) == 0
    assert capsys.readouterr().out == f"foyer {__version__}\n"


@pytest.mark.parametrize("arguments", [["sevre"], ["--listen=:80"], ["help", "sevre"], ["\x1b[31m"]])
def test_an_unknown_command_is_named_before_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("foyer: no such command")
    assert "\x1b" not in err
    assert arguments[-1] not in err.partition("usage:")[0]
    assert ("did you mean serve?" in err) == (arguments[-1] == "sevre")


@pytest.mark.parametrize(
    "arguments",
    [["serve", "-help"], ["serve", "--help"], ["serve", "-listen", ":80", "-h"], ["help", "serve"]],
)
def test_help_on_serve_lists_every_flag_with_its_unit_and_default(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for flag in FLAGS:
        default = f"default {flag.default or flag.derived or 'none'}"
        if flag.required:
            default = "required, or -targets-file" if flag.name == "kubernetes-server" else "required"
        waits = flag.reload is Reload.RESTART and flag.name != "config-file"
        mark = "  (restart)" if waits else ""
        assert f"\n  -{flag.name} {flag.kind}  ({default}){mark}\n      {flag.help.split()[0]} " in out
    assert max(map(len, out.splitlines())) <= WIDTH


def test_help_says_how_variables_and_keys_are_spelled(capsys: pytest.CaptureFixture[str]) -> None:
    main(["serve", "-help"])
    out = capsys.readouterr().out
    flag = next(flag for flag in FLAGS if flag.name == "session-absolute-timeout")
    assert f" {flag} 8h\n" in out
    assert f" {flag.variable}=8h\n" in out
    assert f" {flag.name}: 8h\n" in out
    assert "foyer check -config-file" in out
    assert "SIGHUP" in out


@pytest.mark.parametrize("command", ["check", "keys", "demo"])
def test_each_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "-help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: foyer {command}")


def test_check_says_that_a_configuration_is_valid(valid: list[str]) -> None:
    result = foyer("check", *valid)
    assert (result.returncode, result.stdout, result.stderr) == (0, "configuration is valid\n", "")


def test_check_names_the_flag_on_stderr(valid: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *valid, "-session-absolute-timeout=0s"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("foyer check: -session-absolute-timeout: should be a duration")


def test_check_takes_variables_and_a_file(
    valid: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = [flag.removeprefix("-").replace("=", ": ", 1) for flag in valid]
    (tmp_path / "foyer.yaml").write_text("\n".join(keys))
    monkeypatch.setenv("FOYER_CONFIG_FILE", str(tmp_path / "foyer.yaml"))
    assert main(["check"]) == 0
    monkeypatch.setenv("FOYER_SESSION_ABSOLUTE_TIMEOUT", "0s3cret")
    assert main(["check"]) == 2
    err = capsys.readouterr().err
    assert "-session-absolute-timeout: should be a duration" in err
    assert "(given as FOYER_SESSION_ABSOLUTE_TIMEOUT)" in err
    assert "s3cret" not in err
    assert main(["check", "-session-absolute-timeout=1h"]) == 0


def test_check_of_nothing_is_valid_and_says_that_nobody_can_sign_in(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("configuration is valid, but nobody can sign in: none of -public-url, ")
    assert all(str(flag) in out for flag in FLAGS if flag.required)


@pytest.mark.parametrize(
    "argument", ["client-secret=hunter2", "hunter2", "-Client_Secret=hunter2", "-oidc-client=hunter2"]
)
def test_a_refused_argument_is_never_repeated_with_its_value(
    argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "-oidc-client-id", "foyer", argument]) == 2
    out, err = capsys.readouterr()
    assert "hunter2" not in out + err


def test_serve_refuses_an_unknown_variable_with_its_likely_name() -> None:
    result = foyer("serve", FOYER_LISTN="s3cret")
    assert result.returncode == 2
    logged = json.loads(result.stderr)
    assert (logged["msg"], logged["flag"]) == ("configuration refused", "FOYER_LISTN")
    assert "did you mean FOYER_LISTEN?" in logged["reason"]
    assert "s3cret" not in result.stderr


def test_serve_says_where_a_refused_value_came_from() -> None:
    logged = json.loads(foyer("serve", FOYER_LISTEN="s3cret").stderr)
    assert (logged["flag"], logged["source"]) == ("-listen", "FOYER_LISTEN")


def test_serve_refuses_a_bad_configuration_with_a_log_line_and_exit_code_2() -> None:
    result = foyer("serve", "-public-url", "https://foyer.test")
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    logged = json.loads(line)
    assert (logged["level"], logged["msg"]) == ("error", "configuration refused")
    required = [flag.needed for flag in FLAGS if flag.required]
    assert logged["flag"] == ", ".join(flag for flag in required if flag != "-public-url")


def test_each_key_is_fresh_and_a_line_of_32_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert [main(["keys"]), main(["keys"])] == [0, 0]
    keys = capsys.readouterr().out.splitlines()
    assert [len(base64.b64decode(key, validate=True)) for key in keys] == [32, 32]
    assert keys[0] != keys[1]


def test_printed_keys_are_a_keys_file(valid: list[str], tmp_path: Path) -> None:
    with (tmp_path / "keys").open("w") as file:
        for _ in range(2):
            subprocess.run([sys.executable, "-m", "foyer.cli", "keys"], stdout=file, check=True, timeout=60)
    assert main(["check", *valid]) == 0


def test_keys_takes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "2"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "takes no flags" in err


def test_the_demonstration_refuses_what_is_not_its_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "-kubernetes-server=https://api.test"]) == 2
    assert capsys.readouterr().err.startswith("foyer demo: -kubernetes-server: no such flag")


def test_check_and_help_load_neither_the_server_nor_the_demonstration(valid: list[str]) -> None:
    script = (
        "import sys\n"
        "from foyer.cli import main\n"
        "main(['check', *sys.argv[1:]]); main(['serve', '-help']); main(['keys'])\n"
        "heavy = {'asyncio', 'uvloop', 'yaml', 'h2', 'h11', 'jinja2', 'jwt', 'foyer.app', 'foyer.demo'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, *valid], capture_output=True, text=True, check=False, timeout=60
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "[]"


# A process, and its signals


class Served:
    """`foyer serve` as a process, and the log lines it has written."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "foyer.cli",
                "serve",
                "-listen=127.0.0.1:0",
                "-metrics-listen=",
                *arguments,
            ],
            stderr=subprocess.PIPE,
            text=True,
        )

    def read_until(self, msg: str) -> list[dict[str, object]]:
        """The lines up to the next with this `msg`."""
        assert self._process.stderr is not None
        lines: list[dict[str, object]] = []
        for line in self._process.stderr:
            lines.append(json.loads(line))
            if lines[-1]["msg"] == msg:
                return lines
        raise AssertionError(f"{msg!r} was not written: {lines}")

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        """Its exit code, after SIGTERM."""
        self.signal(signal.SIGTERM)
        self._process.communicate(timeout=60)
        return self._process.returncode

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


def test_sighup_reads_the_file_again_and_a_refused_one_changes_nothing(
    valid: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "foyer.yaml"
    file.write_text("session-absolute-timeout: 8h\n")
    with Served(*valid, "-config-file", str(file)) as foyer:
        foyer.read_until("listening")
        file.write_text("session-absolute-timeout: 1h\ntls-cert-file: s3cret\n")
        foyer.signal(signal.SIGHUP)
        refused = foyer.read_until("configuration refused")[-1]
        assert refused["flag"] == "-tls-key-file"
        file.write_text(f"session-absolute-timeout: 1h\noidc-ca-file: {tmp_path / 'ca'}\n")
        foyer.signal(signal.SIGHUP)
        foyer.read_until("configuration reloaded")
        assert foyer.end() == 0


def test_without_any_flag_it_serves_and_is_ready_at_once_and_the_rest_needs_a_restart(
    valid: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "foyer.yaml"
    file.write_text("{}")
    with Served("-config-file", str(file)) as foyer:
        lines = foyer.read_until("listening")
        assert [line["msg"] for line in lines] == ["nobody can sign in", "listening"]
        port = str(lines[-1]["address"]).rpartition(":")[2]
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30) as answer:
            assert answer.status == 200
        with urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            assert b"foyer is running" in answer.read()
        file.write_text("\n".join(flag[1:].replace("=", ": ", 1) for flag in valid))
        foyer.signal(signal.SIGHUP)
        (line,) = foyer.read_until("restart needed")[-1:]
        assert "sign in" in str(line["reason"])
        file.write_text("listen: 127.0.0.1:1\n")
        foyer.signal(signal.SIGHUP)
        assert [line["msg"] for line in foyer.read_until("configuration reloaded")] == [
            "configuration reloaded"
        ]
        assert foyer.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_start_ends_it_quietly_and_sighup_does_nothing(number: int) -> None:
    script = (
        "import os, signal, sys\n"
        "from foyer import config\n"
        "from foyer.cli import main\n"
        "def slow(*given):\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    print('still here', flush=True)\n"
        "    os.kill(os.getpid(), int(sys.argv[1]))\n"
        "    print('never', flush=True)\n"
        "config.load = slow\n"
        "main(['serve'])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, str(int(number))],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "still here\n", "")
