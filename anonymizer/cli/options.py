"""The options that commands share, in panels. Nothing here imports what a command needs to run.

Columns are said by name, separated by commas; a name that holds a comma stands in double quotes, as in a CSV file; an
option that is repeated adds to what it said before.
"""

import argparse
import csv
from typing import Any

from anonymizer.cli.parser import Late, Merge
from anonymizer.settings import ATTACK_SECONDS, NAMES, SETTINGS, SHORT, names_of, setting_names

TYPES: dict[str, type] = {"count": int, "number": float, "text": str}
"""What an option of each kind of setting is read as."""
KINDS = ("numeric", "categorical", "date")
"""What columns can be, as :class:`anonymizer.schema.Kind` says."""
ENGINES = ("memory", "local", "dask")
"""Where a run takes place, as :data:`anonymizer.abilities.ENGINES` says."""
TREATMENTS = "hour, day, month, quarter, year, round:N, digits:N, level:N, rare:N"
"""As :data:`anonymizer.treatments.TREATMENTS` says."""
SHORT_FORMS = {
    "--k": "-k", "--out": "-o", "--quasi-identifying": "-q", "--sensitive": "-s", "--identifying": "-i",
    "--report": "-r", "--plan": "-p",
}  # fmt: skip
"""The short forms of what is typed daily, the same in every command that has the option."""
LAST_TIME = ("last_table", "last_project", "last_release")
"""The options that name files of last time."""
ENDINGS = ".csv, .csv.gz, .parquet, .feather, .xlsx, .sav, .dta or .xpt"
"""What a release can be written as, as :data:`anonymizer.releasing.release.ENDINGS` says."""
READ = "csv, json, parquet, feather, xlsx, sav, dta, sas7bdat, xpt; or sample:NAME"


def add(group: Any, option: str, **words: Any) -> None:
    """Add an option to a panel, with its short form where it has one."""
    group.add_argument(*filter(None, (SHORT_FORMS.get(option), option)), **words)


def add_columns(group: Any, option: str, help_text: str, metavar: str = "A,B", **words: Any) -> None:
    """Add an option that names columns; repeated, it adds to them."""
    add(group, option, type=names, action="extend", default=[], metavar=metavar, help=help_text, **words)


def add_roles(parser: argparse.ArgumentParser, keep: str = "columns that are released unchanged") -> None:
    """Add the options that say what the columns are. ``keep``: what is said of those that stay; "" for no option."""
    roles = panel(parser, "roles of the columns")
    add_columns(roles, "--quasi-identifying", "what an attacker may know")
    add_columns(roles, "--sensitive", "what must not be learnt", "S")
    add_columns(roles, "--identifying", "columns to drop", "N")
    if keep:
        add_columns(roles, "--keep", keep, "K")
    roles.add_argument("--person", metavar="P", help="the column whose equal values are one person; it is dropped")
    roles.add_argument(
        "--same-ids", action="store_true", help="ids of persons that differ in case, blanks, signs, zeros or form only "
        "are one person's",
    )  # fmt: skip
    roles.add_argument(
        "--nobody", action="append", default=[], metavar="TEXT", help="an id that stands for nobody; repeatable"
    )
    roles.add_argument(
        "--harmless", action="append", default=[], metavar="COLUMN=LEVEL", help="a level of a sensitive column of "
        "which nobody learns anything, so that l does not count it; repeatable",
    )  # fmt: skip
    roles.add_argument("--sampling-weight", metavar="W", help="how many people a row stands for; it is dropped")
    roles.add_argument("--household", metavar="H", help="the column whose equal values live together; it is dropped")
    roles.add_argument("--stratum", metavar="T", help="the column whose equal values were drawn at one rate; dropped")
    add_kinds(roles, "numeric, categorical or date, where it is not plain")
    roles.add_argument("--schema", metavar="JSON", help="take all of this from a saved schema or a report instead")


def add_kinds(group: Any, help_text: str) -> None:
    """Add the option that says of what kind columns are."""
    group.add_argument("--kinds", type=pairs, action=Merge, default={}, metavar="A=KIND", help=help_text)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the target."""
    panel(parser, "roles of the columns").add_argument(
        "--target",
        help="the sensitive column that errors are counted on, and that may guide the tree (default: the first)",
    )


def panel(parser: argparse.ArgumentParser, title: str) -> Any:
    """Return the panel of a title; a new one where the parser has none yet."""
    own = [group for group in parser._action_groups if group.title == title]
    return own[0] if own else parser.add_argument_group(title, ABOUT.get(title))


ABOUT = {
    "roles of the columns": 'names separated by commas, one with a comma in double quotes: age,"town, district"; an '
    "option that is repeated adds names",
    "reports for people": "attacks are run for them, which takes a while",
    "release packets": "table, dictionary, reports, script, manifest: one ZIP",
}
"""What is said of all options of a panel."""


def add_cuts(parser: argparse.ArgumentParser) -> None:
    """Add the options that cut columns in public, before anything is grown; each can be repeated."""
    group = panel(parser, "public values of the columns")
    for option, values, help_text in (
        ("--bands", "0,18,65", "say a column only in these bands: the first value of each, the last is open"),
        ("--top", "80", "say this value of a column and all above it as so much or more"),
        ("--bottom", "20", "say this value of a column and all below it as so much or less"),
        ("--round", "5", "say every number of a column as the nearest multiple of this, halves as the one above"),
        ("--hierarchy", "FILE.csv", "say a column only in the groups of this hierarchy, in ARX's CSV form"),
    ):
        group.add_argument(option, action="append", default=[], metavar=f"COLUMN={values}", help=help_text)
    treat = f"treat a column that is released without a box, by one of {TREATMENTS}; can be repeated"
    group.add_argument("--treat", action="append", default=[], metavar="COLUMN=month", help=treat)


def add_codebook(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a codebook."""
    panel(parser, "roles of the columns").add_argument(
        "--codebook", metavar="FILE", help="take roles, kinds, public domains and labels that no option says from a "
        "DDI-Codebook, a Frictionless schema, or a CSV of name,label,role,kind,domain",
    )  # fmt: skip


PANELS = {
    "limit": "limits on every group", "tree": "method", "cells": "method", "file": "what is written",
    "analysis": "what is written", "attackers": "attacks",
}  # fmt: skip
"""The panel that a setting of each part stands in."""


def add_settings(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add an option for each of these settings, as :data:`anonymizer.settings.SETTINGS` has it."""
    for name in names:
        setting = SETTINGS[name]
        group = panel(parser, PANELS[setting.part])
        usual = "" if setting.default is None else f" (default: {setting.default})"
        option, help_text = f"--{name.replace('_', '-')}", setting.text.replace("%", "%%") + usual
        if setting.kind == "name":
            choices = choices_of(name)
            more = {"choices": choices, "metavar": "NAME", "help": f"{help_text}: {', '.join(choices)}"}
            add(group, option, default=setting.default, **more)
        else:
            number = share if setting.most == 1 else TYPES[setting.kind]
            add(group, option, default=setting.default, type=number, metavar=_letter(name), help=help_text)


def _letter(name: str) -> str:
    return name.upper() if len(name) == 1 else "TEXT" if SETTINGS[name].kind == "text" else "N"


def choices_of(name: str) -> tuple[str, ...]:
    """Return the names that a setting may have: those that come with this package, from outside, and short forms."""
    return tuple(dict.fromkeys((*NAMES[name], *names_of(name), *SHORT.get(name, ()))))


def add_population(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is known of the population."""
    group = panel(parser, "limits on every group").add_mutually_exclusive_group()
    group.add_argument("--population", metavar="FILE", help="a row a person, or numbers in a column count")
    group.add_argument("--fraction", type=float, metavar="F", help="share of the population in the table, such as 0.05")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the input (or the original) is read."""
    group = panel(parser, "reading the file")
    group.add_argument("--delimiter", help="what stands between the columns of delimited text")
    group.add_argument("--encoding", help="of delimited text, such as utf-8 or cp1252")
    group.add_argument("--decimal", choices=[".", ","], metavar="MARK", help="the decimal mark of numbers: . or ,")
    group.add_argument("--sheet", help="of a spreadsheet")
    group.add_argument("--skip", type=int, metavar="N", help="lines, or rows of a sheet, above the names of columns")
    group.add_argument("--no-header", dest="header", action="store_false", help="the first line is a row")
    group.add_argument("--missing", action="append", metavar="TEXT", help="a text that means missing; repeatable")
    group.add_argument(
        "--no-missing", dest="missing", action="store_const", const=[], help="every text is a real value, blanks too"
    )
    group.add_argument(
        "--not-missing", action="append", default=[], metavar="TEXT", help="a text that is a real value; repeatable"
    )
    group.add_argument(
        "--dates", metavar="FORM", help="day or month, for what comes first, or a form such as DD.MM.YY or 19YY-MM-DD"
    )
    group.add_argument("--as-text", action="append", default=[], metavar="COLUMN", help="codes that look like numbers")
    group.add_argument(
        "--as-numbers", action="append", default=[], metavar="COLUMN", help="numbers that look like codes, such as 12e4"
    )


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a plan."""
    add(
        panel(parser, "roles of the columns"), "--plan", metavar="PLAN",
        help="take what no option says from a plan (copse.toml), its folder, or a report",
    )  # fmt: skip


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the options that say whether a table is read as one or in pieces, and what this machine gives."""
    group = panel(parser, "the machine")
    group.add_argument(
        "--engine", choices=ENGINES, metavar="ENGINE",
        help="memory: one table; local: files in pieces, and a folder out (default: local for a folder, a pattern, an "
        "address such as s3://, and, where --out is a folder, 2,000,000 rows of Parquet or 256 MiB of text); dask: "
        "files of a folder here, on a cluster",
    )  # fmt: skip
    group.add_argument("--scheduler", metavar="ADDRESS", help="dask: of a cluster that is there: tls://HOST:8786")
    group.add_argument("--workers", type=int, metavar="N", help="dask: processes to start here (default: its cores)")
    group.add_argument("--memory", metavar="SIZE", help="dask: of each worker that is started (default: 4GiB)")
    group.add_argument("--spill", metavar="FOLDER", help="dask: where they keep what does not fit into memory")


def add_gate(parser: argparse.ArgumentParser) -> None:
    """Add the options that look at what would leave, and say why it may."""
    group = panel(parser, "what stands in the way")
    group.add_argument("--check", action="store_true", help="list the risks that are open, and write nothing")
    add_reason(group, "why the release is written although a risk is open; the report keeps it; repeatable")


def add_reason(group: Any, help_text: str) -> None:
    """Add the option that gives a reason."""
    group.add_argument("--reason", action="append", default=[], metavar="NAME=TEXT", help=help_text)


def add_earlier(parser: argparse.ArgumentParser) -> None:
    """Add the options that name earlier releases."""
    group = panel(parser, "releases over time")
    group.add_argument(
        "--earlier", action="append", default=[], metavar="REPORT.json",
        help="the report of another release of this table; both are counted together; repeatable",
    )  # fmt: skip
    group.add_argument(
        "--keep-earlier", action=argparse.BooleanOptionalAction, default=False,
        help="make groups that keep the releases of --earlier, --ledger or --last-table: everybody stays in a group of "
        "k people that all share",
    )  # fmt: skip
    group.add_argument("--last-table", metavar="FILE", help="with a project: last time's table, to count both releases")
    group.add_argument(
        "--last-project", metavar="FILE", help="the project that last time's release was made with (default: --project)"
    )
    group.add_argument(
        "--last-release", metavar="FILE", help="with a project: last time's release, to see what both files prove alone"
    )
    group.add_argument("--ledger", metavar="NAME", help="count it with the releases of a ledger, and enter it there")
    group.add_argument("--to", default="", metavar="WHOM", help="who gets it, for the ledger (default: --recipient)")


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for attacks and reports, and what only the steward can say in these."""
    attacks = panel(parser, "attacks")
    attacks.add_argument("--attack", action="store_true", help="attack the release, and say how often that was right")
    attacks.add_argument(
        "--attack-seconds", type=float, default=ATTACK_SECONDS, metavar="S",
        help=f"time for the attack that runs the method again (default: {ATTACK_SECONDS:g})",
    )  # fmt: skip
    group = panel(parser, "reports for people")
    group.add_argument("--internal", metavar="FILE", help="where the internal report goes: .html, .pdf or .json")
    group.add_argument(
        "--external", metavar="FILE", help="where the report for the recipient goes: .html, .pdf or .json"
    )
    group.add_argument("--purpose", default="", metavar="TEXT", help="what the recipient will do with the data")
    group.add_argument("--recipient", default="", metavar="TEXT", help="who gets the data")
    group.add_argument("--basis", default="", metavar="TEXT", help="the legal or contractual basis")
    group.add_argument("--prepared-by", default="", metavar="TEXT", help="your name and function")
    group.add_argument("--approved-by", action="append", default=[], metavar="NAME", help="who approves; repeatable")


def add_packet(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for packets."""
    group = panel(parser, "release packets")
    group.add_argument("--packet", metavar="FILE.zip", help="where the packet for the recipient goes")
    group.add_argument("--internal-packet", metavar="FILE.zip", help="where the packet for your own files goes")
    group.add_argument("--sign", metavar="KEY.pem", help="sign the packets with the key that `copse key new` wrote")


def add_talk(parser: argparse.ArgumentParser, json: str = "") -> None:
    """Add the options that say how much is printed. ``json``: what is printed as JSON; "" for nothing."""
    group = panel(parser, "what is printed")
    if json:
        group.add_argument("--json", action="store_true", help=f"print {json} as JSON, and errors, too")
    group.add_argument("--quiet", action="store_true", help="print the result and errors, and nothing beside them")


UNFIT = ("k", "generalizer", "suppression", "suppression_weight")
"""Settings that are compared, or that comparing methods knows nothing of: it leaves nobody out."""


def shared_settings() -> tuple[str, ...]:
    """Return the settings that all that is compared has in common: limits beside k, and how cells are written."""
    return (*(name for name in setting_names("limit", "cells") if name not in UNFIT), "weight")


def share(text: str) -> float:
    """Return a number, such as 0.02, which may be said in per cent as well: 2%."""
    return float(text.removesuffix("%").strip()) / 100 if text.endswith("%") else float(text)


def numbers(text: str) -> list[int]:
    """Return whole numbers separated by commas."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected whole numbers separated by commas, not {text!r}") from None


def names(text: str) -> list[str]:
    """Return column names separated by commas; one that holds a comma stands in double quotes, as in a CSV file.

    Raises :class:`argparse.ArgumentTypeError` for quotes that are not closed.
    """
    try:
        fields = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise argparse.ArgumentTypeError(f'expected names such as a,"b, c", not {text!r}') from None
    return [name.strip() for name in fields if name.strip()]


def pairs(text: str) -> dict[str, str]:
    """Return ``a=kind,b=kind`` as a dictionary."""
    kinds = dict(part.rpartition("=")[::2] for part in names(text))
    unknown = [kind for kind in kinds.values() if kind not in KINDS]
    if unknown or "" in kinds:
        raise argparse.ArgumentTypeError(f"expected column=numeric, =categorical or =date, not {text!r}")
    return kinds


def later(module: str, name: str) -> Late:
    """Return a function of a module of this room, loaded when it is first used."""
    return Late(f"anonymizer.cli.{module}", name)
