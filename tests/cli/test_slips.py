"""What is mistyped in a terminal ends in one sentence: what, where and what to do; and every option has help."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from anonymizer.cli.commands import commands
from anonymizer.cli.main import main
from anonymizer.cli.parser import complaint
from anonymizer.forest.audit import Finding
from tests.cli.test_main import CHECKED, Capture, folder, make

__all__ = ["folder"]


def parsers(parser: argparse.ArgumentParser, name: str = "copse") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """A parser and all below it, by what is typed for them."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, one in action.choices.items():
                yield from parsers(one, f"{name} {word}")


def test_every_option__has_help() -> None:
    silent = [
        f"{name} {action.option_strings or action.dest}"
        for name, parser in parsers(commands())
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--k", "ten"], "--k takes a whole number, not 'ten'."),
        (["--k", "2.5"], "--k takes a whole number, not '2.5'."),
        (["--t", "0,5"], "--t takes a number, or a percentage such as 2%, not '0,5'."),
        (["--fraction", "a"], "--fraction takes a number, not 'a'."),
        (["--skip", "one"], "--skip takes a whole number, not 'one'."),
        (["--decimal", ";"], "--decimal cannot be ';'. Choose among ., ,."),
        (["--out"], "--out needs a value behind it."),
        (["--populaton", "x.csv"], "There is no option or argument --populaton x.csv. Did you mean --population?"),
        (["--population", "x.csv", "--fraction", "0.1"], "--fraction and --population cannot both be said."),
    ],
)
def test_option_that_is_mistyped__is_said_in_a_sentence(words: list[str], says: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["anonymize", "people.csv", *words])
    error = capsys.readouterr().err
    assert error == f"copse anonymize: {says} (try --help)\n" or error.replace("copse: ", "copse anonymize: ") == (
        f"copse anonymize: {says} (try --help)\n"
    )


def test_option_that_is_missing__is_named(capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["forest", "people.csv"])
    assert "Missing: --target." in capsys.readouterr().err


def test_complaint_of_no_form__stays() -> None:
    assert complaint("something else") == "something else"


def test_new_database_that_is_not_there__is_said_before_the_run(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    monkeypatch.setattr("anonymizer.cli.anonymize.run_flow", lambda *_: pytest.fail("the run has begun"))
    assert make("--out", "duckdb:///new.duckdb?table=t") == 2
    assert "There is no database 'new.duckdb'" in capsys.readouterr().err


def test_forest__never_prints_a_value_that_its_domains_lack(capsys: Capture) -> None:
    Path("rows.csv").write_text("name,answer\n" + "zebulon,yes\nanna,no\n" * 30, "utf-8")
    Path("domains.json").write_text(json.dumps({"name": ["anna"], "answer": ["yes", "no"]}), "utf-8")
    assert main(["forest", "rows.csv", "--target", "answer", "--domains", "domains.json"]) == 2
    output = capsys.readouterr()
    assert "'name' holds a value in row 1" in output.err
    assert "zebulon" not in output.err + output.out


@pytest.mark.parametrize(
    ("hits", "bound", "verdict"),
    [
        ((96, 97), -0.138, "too few runs to tell"),
        ((50, 0), 0.05, "too few runs to tell"),
        ((0, 0), float("-inf"), "too few runs to tell"),
        ((5100, 5000), -0.05, "not refuted"),
        ((90, 20), 0.5, "REFUTED"),
    ],
)
def test_audit__says_when_runs_are_too_few(
    hits: tuple[int, int], bound: float, verdict: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    finding = Finding("paper", 0.1, "one-and-two", 8, 1, bound, hits, 10_000, 0.999, True)
    monkeypatch.setattr("anonymizer.cli.forest.audit", lambda *_, **__: finding)
    main(["audit", "--mode", "paper"])
    assert verdict in capsys.readouterr().out
    main(["audit", "--mode", "paper", "--json"])
    assert json.loads(capsys.readouterr().out)["modes"][0]["enough_runs"] is (verdict != "too few runs to tell")


def test_verify__holds_a_file_to_the_limits_of_its_report(capsys: Capture) -> None:
    assert make("--out", "out.csv", "--report", "report.json") == 0  # at k = 5
    capsys.readouterr()
    assert main(["verify", "out.csv", "--report", "report.json", "--json"]) == 0
    checks = {one["name"]: one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["k-anonymity"]["required"] == 5
    assert main(["verify", "out.csv", *CHECKED, "--k", "500"]) == 1
