"""A fault of foyer's own that ends the process: one log line, and no traceback with values in it."""

import json

import pytest

import foyer.app
from foyer.config import load


def test_a_fault_that_ends_the_process_is_a_log_line_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("a value that nobody should see")

    monkeypatch.setattr(foyer.app, "Pages", broken)
    config = load(["-listen=127.0.0.1:0"])
    assert foyer.app.serve(config, lambda: config) == 1
    out, err = capfd.readouterr()
    assert out == ""
    line = [json.loads(each) for each in err.splitlines()][-1]
    assert (line["level"], line["msg"], line["error"]) == ("error", "internal error", "ZeroDivisionError")
    assert line["at"].startswith("test_faults.py:")
    assert "nobody should see" not in err
