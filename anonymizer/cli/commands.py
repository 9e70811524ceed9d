"""Every command: what it does, its options and examples. What it runs is loaded when it is run.

An example is a command as somebody types it in a folder with the table ``people.csv``, what others made there before,
and nothing else; each is run as a test.
"""

from collections.abc import Callable
from dataclasses import dataclass

from anonymizer.cli.app import add_app
from anonymizer.cli.examples import EXAMPLES
from anonymizer.cli.options import (
    ENDINGS,
    LAST_TIME,
    READ,
    add,
    add_codebook,
    add_columns,
    add_cuts,
    add_earlier,
    add_engine,
    add_gate,
    add_kinds,
    add_packet,
    add_plan,
    add_population,
    add_reading,
    add_reason,
    add_reports,
    add_roles,
    add_settings,
    add_talk,
    add_target,
    choices_of,
    later,
    names,
    numbers,
    panel,
    shared_settings,
)
from anonymizer.cli.parser import PROGRAM, Late, Parser
from anonymizer.settings import RUN, Limits, setting_names
from anonymizer.version import VERSION

PLAN = "copse.toml"
"""What a plan is called where nobody says it, as :data:`anonymizer.plan.plan.NAME` says."""
OTHERS = "columns that others neither know nor must not learn"
ROLES = ("quasi_identifying", "sensitive", "identifying")
BASIC_RUN = (*ROLES, "keep", "target", "k", "l", "out", "report", "check", "reason", "json")
"""The basic options of a run."""


@dataclass(frozen=True)
class Command:
    """A command. ``words``: what it does; ``options``: adds its options; ``basic``: the names of those that ``--help``
    shows, all where none are named; ``more``: how it ends."""

    words: str
    options: Callable[[Parser], None]
    basic: tuple[str, ...] = ()
    more: str = ""


def commands(name: str | None = None, *, as_json: bool = False) -> Parser:
    """Return the parser of all commands; with the options of one of this ``name`` alone, where there is such a one.
    ``as_json``: complaints are printed in JSON, too."""
    parser = Parser(prog=PROGRAM, description="Release personal data safely.", as_json=as_json)
    parser.add_argument("--version", action="version", version=f"Copse {VERSION}", help="the version of Copse")
    parser.epilog = f"The options and examples of a command: {PROGRAM} COMMAND --help"
    subparsers = parser.add_subparsers(
        dest="command", required=True, parser_class=Parser, metavar="COMMAND", title="commands"
    )
    for each, command in COMMANDS.items():
        one = subparsers.add_parser(each, help=command.words, description=f"{_sentence(command.words)}.")
        one.as_json, one.epilog = as_json, command.more
        if name in (each, None) or name not in COMMANDS:
            command.options(one) if name != "" else None
            one.describe(command.basic, EXAMPLES.get(each, ()))
    return parser


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def add_anonymize(parser: Parser) -> None:
    """Add the options of ``anonymize``."""
    parser.add_argument("input", nargs="?", help=f"{READ}; or the address of a database (default: that of --plan)")
    add_plan(parser)
    add_run(parser)


def add_run(parser: Parser) -> None:
    """Add the options of a run."""
    add_roles(parser)
    add_target(parser)
    add_codebook(parser)
    panel(parser, "roles of the columns").add_argument(
        "--project", metavar="FILE",
        help="take roles, reading and settings from last time's project, or from the packet of your own files; "
        "--plan goes before it",
    )  # fmt: skip
    add_reading(parser)
    add_cuts(parser)
    add_settings(parser, *setting_names("limit"))
    add_population(parser)
    add_settings(parser, *setting_names("tree", "cells"))
    method = panel(parser, "method")
    method.add_argument(
        "--polish", action="store_const", const="polish", dest="generalizer", help="--generalizer polish, in short"
    )
    method.add_argument(
        "--importance", action="append", default=[], metavar="COLUMN=2", help="how often the detail of a column counts "
        "where groups are refined or packed: more for one that a later release will have, too; can be repeated",
    )  # fmt: skip
    output = panel(parser, "what is written")
    add(output, "--out", metavar="FILE", help=f"where it goes: {ENDINGS}, the address of a new table; of pieces a "
        "new folder")  # fmt: skip
    add(output, "--report", metavar="JSON", help="where the JSON report goes")
    output.add_argument(
        "--override", default="", metavar="TEXT", help="why a release that fails a check is written all the same"
    )
    add_settings(parser, *setting_names("file", "analysis"))
    add_gate(parser)
    add_earlier(parser)
    add_reports(parser)
    add_settings(parser, *setting_names("attackers"))
    add_packet(parser)
    add_engine(parser)
    add_talk(parser, "the report, or with --check the findings,")
    parser.set_defaults(
        run=later("anonymize", "run_anonymize"),
        reads=("input", "schema", "codebook", "plan", "project", "population", *LAST_TIME),
        writes=("out", "report", "internal", "external", "packet", "internal_packet"),
    )


def add_release(parser: Parser) -> None:
    """Add the options of ``release``."""
    add_run(parser)
    parser.add_argument("plan", nargs="?", default=PLAN, help=f"the plan, or its folder (default: {PLAN})")
    parser.set_defaults(command="anonymize", input=None)


def add_check(parser: Parser) -> None:
    """Add the options of ``check``."""
    add_release(parser)
    parser.set_defaults(check=True, writes=())


def add_init(parser: Parser) -> None:
    """Add the options of ``init``."""
    parser.add_argument("input", nargs="?", help="the table, as for anonymize")
    add(panel(parser, "what is written"), "--out", metavar="FILE", help="write it to a new file instead")
    parser.add_argument("--project", metavar="FILE", help="the plan of a project, or of the packet of your own files")
    add_roles(parser, "")
    add_codebook(parser)
    add_target(parser)
    add_reading(parser)
    add_settings(parser, *setting_names(*RUN, "attackers"))
    add_talk(parser)
    parser.set_defaults(
        run=later("plan", "run_init"), reads=("input", "schema", "codebook", "project"), writes=("out",)
    )


def add_diff(parser: Parser) -> None:
    """Add the options of ``diff``."""
    parser.add_argument("before", help="a plan, or its folder")
    parser.add_argument("after", help="another one")
    add_talk(parser, "the sentences")
    parser.set_defaults(run=later("plan", "run_diff"), reads=("before", "after"))


def add_verify(parser: Parser) -> None:
    """Add the options of ``verify``."""
    parser.add_argument(
        "input", nargs="?", help=f"the released file ({ENDINGS}), folder or packet, or the address of a table"
    )
    parser.add_argument(
        "others", nargs="*", default=[], metavar="another",
        help="more released files of the same people: all are checked together",
    )  # fmt: skip
    beside = panel(parser, "what it is held to")
    add(beside, "--report", metavar="JSON", help="its report: checks that file and roles are those it speaks of")
    beside.add_argument("--original", metavar="FILE", help="the table it was made from: checks cells and linking, too")
    beside.add_argument("--key", metavar="KEY", help="of a packet: the public key that it has to be signed with")
    add_roles(parser, OTHERS)
    add_plan(parser)
    add_reading(parser)
    add_settings(parser, *Limits().required, "suppression")
    add_population(parser)
    output = panel(parser, "what is written")
    output.add_argument(
        "--clean-copy", metavar="PARQUET", help="write the rows of a file that another program wrote, and nothing else"
    )
    output.add_argument(
        "--page", metavar="HTML", help="write the page that verifies a release in a browser, for who has no Copse"
    )
    add_talk(parser, "the checks")
    parser.set_defaults(
        run=later("verify", "run_verify"), reads=("input", "report", "original", "schema", "population")
    )


def add_attack(parser: Parser) -> None:
    """Add the options of ``attack``."""
    parser.add_argument("input", help="a released file")
    parser.add_argument("others", nargs="*", default=[], metavar="another", help="more released files of these people")
    add_roles(parser, OTHERS)
    panel(parser, "what it is held to").add_argument(
        "--original", metavar="FILE", help="the table that all were made from: counts exactly where it tells every row"
    )
    add_reading(parser)
    add_settings(parser, "k")
    add_talk(parser, "the figures")
    parser.set_defaults(run=later("attack", "run_attack"), reads=("input", "original", "schema"))


def add_risk(parser: Parser) -> None:
    """Add the options of ``risk``."""
    parser.add_argument("input", help=READ)
    add_roles(parser, "")
    add_codebook(parser)
    add_reading(parser)
    add_population(parser)
    group = panel(parser, "what is counted")
    group.add_argument("--wildcard", action="store_true", help="a missing value agrees with every value")
    group.add_argument(
        "--riskiest", type=int, default=0, metavar="N", help="list the N riskiest rows too: only for who has the table"
    )
    group.add_argument(
        "--by", choices=["score", "risk"], default="score", metavar="WHAT", help="what makes a row risky: score or risk"
    )
    add_talk(parser, "the figures")
    parser.set_defaults(run=later("risk", "run_risk"), reads=("input", "schema", "codebook", "population"))


def add_hierarchy(parser: Parser) -> None:
    """Add the options of ``hierarchy``."""
    parser.add_argument("input", help=f"the table: {READ}")
    parser.add_argument("--column", required=True, help="the column whose values are grouped")
    parser.add_argument(
        "--of",
        choices=["cuts", "tree"],
        default="cuts",
        metavar="WHAT",
        help="cuts, its public ones, or tree, the pruned one",
    )
    add(parser, "--out", required=True, metavar="CSV", help="where the hierarchy goes")
    add_roles(parser, "")
    add_codebook(parser)
    add_cuts(parser)
    add_reading(parser)
    add_settings(parser, "k", "grouping")
    add_talk(parser)
    parser.set_defaults(run=later("hierarchy", "run_hierarchy"), reads=("input", "schema", "codebook"), writes=("out",))


def add_evaluate(parser: Parser) -> None:
    """Add the options of ``evaluate``."""
    parser.add_argument("input", help=READ)
    group = panel(parser, "what is compared")
    add(group, "--k", type=numbers, default=[10, 20, 30], metavar="K,K", help="group sizes (default: 10,20,30)")
    group.add_argument(
        "--groupings", type=names, default=[], metavar="A,B",
        help=f"of {', '.join(choices_of('grouping'))} and blend; blend:0.2 is a blend of that weight (default: the "
        "papers' pruning that suits the target, and median-mondrian)",
    )  # fmt: skip
    group.add_argument(
        "--generalizers", type=names, default=["uniform", "pack"], metavar="A,B",
        help=f"of {', '.join(choices_of('generalizer'))} (default: uniform,pack)",
    )  # fmt: skip
    group.add_argument("--folds", type=int, default=10, metavar="N", help="of the cross-validation (default: 10)")
    group.add_argument("--only", type=int, metavar="N", help="run only so many of the folds")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of the folds")
    group.add_argument("--sample", type=int, metavar="N", help="use only so many rows, drawn at random")
    group.add_argument(
        "--against", metavar="A/B", help="paired t-tests against this grouping/generalizer at the same k"
    )
    add_roles(parser, "")
    add_target(parser)
    add_codebook(parser)
    add_reading(parser)
    add_cuts(parser)
    add_settings(parser, *shared_settings())
    output = panel(parser, "what is written")
    add(output, "--out", metavar="CSV", help="where the table goes, one line a setting and fold")
    output.add_argument("--plot", metavar="HTML", help="where the figures go: loss against each measure")
    add_talk(parser, "the means")
    parser.set_defaults(
        run=later("evaluate", "run_evaluate"), reads=("input", "schema", "codebook"), writes=("out", "plot")
    )


MODES = Late("anonymizer.forest.forest", "MODES")


def add_forest(parser: Parser) -> None:
    """Add the options of ``forest``."""
    parser.add_argument("input", help=READ)
    parser.add_argument("--target", required=True, help="the column to predict")
    method = panel(parser, "method")
    method.add_argument(
        "--epsilon", type=float, default=1.0, metavar="E", help="the privacy budget, the papers' β (default: 1)"
    )
    method.add_argument(
        "--mode", default="strict", choices=MODES, metavar="MODE",
        help="%(choices)s (default: strict); best takes strict or scorecard; paper is NOT differentially private",
    )  # fmt: skip
    method.add_argument("--trees", type=int, metavar="N", help="τ, each with another column at its root (default: 1)")
    method.add_argument("--max-depth", type=int, metavar="N", help="δ, most nodes on a path (default: 5)")
    method.add_argument(
        "--min-size", type=float, metavar="N", help="fewest noisy rows of a divided node (default: 100; not strict)"
    )
    method.add_argument(
        "--cut-share", type=float, default=0.0, metavar="SHARE", help="share of the budget that buys cut points"
    )
    public = panel(parser, "public values of the columns")
    public.add_argument("--domains", metavar="JSON", help="the public values of each column; without, they are read")
    add_columns(public, "--from-data", "columns whose values in --domains or --codebook were read from a table, so "
        "that they are not public")  # fmt: skip
    roles = panel(parser, "roles of the columns")
    add_codebook(parser)
    roles.add_argument(
        "--columns", type=names, action="extend", metavar="A,B", help="the columns to split on (default: all others)"
    )
    add_columns(roles, "--identifying", "columns never to look at", "N")
    roles.add_argument("--person", metavar="NAME", help="the column that tells whose a row is: never looked at")
    add_kinds(roles, "numeric or categorical")
    add_reading(parser)
    over_time = panel(parser, "releases over time")
    over_time.add_argument(
        "--ledger", metavar="NAME", help="charge it to the budget of a ledger, and enter it there before it is grown"
    )
    over_time.add_argument("--to", default="", metavar="WHOM", help="who gets it, for the ledger")
    panel(parser, "what is written").add_argument(
        "--rules", metavar="FILE", help="where the rules go: .json, .csv or .txt"
    )
    trying = panel(parser, "how good it is")
    trying.add_argument("--folds", type=int, metavar="N", help="also rehearse: cross-validated accuracy, not private")
    trying.add_argument("--hold-out", type=float, metavar="SHARE", help="measure accuracy privately on this share")
    trying.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the rehearsal (a real forest cannot be seeded)"
    )
    add_talk(parser, "everything but the rules")
    parser.set_defaults(run=later("forest", "read_and_run"), reads=("input", "codebook", "domains"), writes=("rules",))


PAIR = (
    "tables that differ in one person: one row beside two, or 99 equal rows beside these and another; each is hard on "
    "other modes (default: one-and-two): %(choices)s"
)


def add_audit(parser: Parser) -> None:
    """Add the options of ``audit``."""
    parser.add_argument(
        "--mode", action="append", choices=MODES, metavar="MODE",
        help="%(choices)s; repeatable (default: all)",
    )  # fmt: skip
    parser.add_argument("--epsilon", type=float, default=0.1, metavar="E", help="the claim under test (default: 0.1)")
    parser.add_argument("--trees", type=int, default=1, metavar="N", help="of each forest (default: 1)")
    parser.add_argument("--max-depth", type=int, default=5, metavar="N", help="most nodes on a path (default: 5)")
    parser.add_argument("--classes", type=int, default=8, metavar="N", help="classes of the two tables (default: 8)")
    parser.add_argument(
        "--pair", default="one-and-two", choices=Late("anonymizer.forest.audit", "PAIRS"), metavar="PAIR",
        help=PAIR,
    )  # fmt: skip
    parser.add_argument("--runs", type=int, default=20_000, metavar="N", help="on each of the two (default: 20000)")
    parser.add_argument("--confidence", type=float, default=0.999, metavar="C", help="of the bound (default: 0.999)")
    parser.add_argument("--seed", type=int, metavar="N", help="repeatable noise instead of the noise of real releases")
    add_talk(parser, "the bounds")
    parser.set_defaults(run=later("forest", "run_audit"))


def add_disclosure(parser: Parser) -> None:
    """Add the options of ``disclosure``."""
    parser.add_argument("input", help=READ)
    add_columns(parser, "--quasi-identifying", "what an adversary knows", required=True)
    parser.add_argument("--target", required=True, help="the sensitive column that the tree predicts")
    method = panel(parser, "the tree")
    method.add_argument(
        "--tree", metavar="FILE",
        help="assess the tree of this file, with what it holds: Copse's JSON, skops, ONNX, PMML or rpart's text",
    )  # fmt: skip
    method.add_argument(
        "--criterion", default="gini", choices=Late("anonymizer.disclosure.multiway", "MEASURES"), metavar="NAME",
        help="what a good split lowers: %(choices)s, with multiway splits only (default: gini)",
    )  # fmt: skip
    method.add_argument(
        "--splits", default="multiway", choices=["multiway", "binary"], metavar="HOW",
        help="multiway, a child a level; or binary, two",
    )  # fmt: skip
    method.add_argument("--max-depth", type=int, metavar="N", help="longest path of the tree (default: no limit)")
    method.add_argument(
        "--min-leaf", type=int, default=2, metavar="N",
        help="binary: fewest rows of a leaf; multiway: of a node that asks (default: 2)",
    )  # fmt: skip
    facts = panel(parser, "what is published")
    facts.add_argument("--no-rates", dest="rates", action="store_false", help="error rates are not published")
    facts.add_argument("--totals", action="store_true", help="class totals are published")
    facts.add_argument("--no-internal", dest="internal", action="store_false", help="how it was grown is not known")
    trying = panel(parser, "attacks")
    trying.add_argument("--starts", type=int, default=3, metavar="N", help="starts of the solver (default: 3)")
    trying.add_argument(
        "--confidence", type=float, default=0.9, metavar="C", help="who counts as exposed (default: 0.9)"
    )
    trying.add_argument(
        "--bound", type=float, metavar="P", help="the highest posterior allowed; exit status 1 when it is exceeded"
    )
    trying.add_argument(
        "--repair", nargs="?", const="best", choices=["best", "prune"], metavar="HOW",
        help="withhold or prune (best), or only prune, until --bound is kept",
    )  # fmt: skip
    trying.add_argument("--compare", action="store_true", help="also under every other assumption")
    trying.add_argument("--exact", action="store_true", help="also count whole people, where that is feasible")
    add_kinds(panel(parser, "roles of the columns"), "numeric, categorical or date")
    add_reading(parser)
    panel(parser, "reading the file").add_argument("--rows", type=int, metavar="N", help="use the first N rows only")
    over_time = panel(parser, "releases over time")
    over_time.add_argument("--person", metavar="NAME", help="the column that tells whose a row is, for the ledger")
    over_time.add_argument(
        "--ledger", metavar="NAME", help="count it with the releases and trees of a ledger; with --out, enter it there"
    )
    over_time.add_argument("--to", default="", metavar="WHOM", help="who gets it, for the ledger")
    add_reason(over_time, "why it is published although it tells too much with others; the ledger keeps it; repeatable")
    add(panel(parser, "what is written"), "--out", metavar="FILE", help="the published tree: .json, .txt or .pmml")
    add_talk(parser, "the figures")
    parser.set_defaults(run=later("disclosure", "read_and_run"), reads=("input", "tree"), writes=("out",))


def add_ledger(parser: Parser) -> None:
    """Add the options of ``ledger``."""
    parser.add_argument("action", metavar="ACTION", help="new, show, check, merge, erase, budget or withdraw")
    parser.add_argument("name", metavar="NAME", help="its file, with or without .copse-ledger")
    parser.add_argument("files", nargs="*", metavar="FILE", help="check: packets and releases; merge: the other copy")
    parser.add_argument("--key-file", metavar="FILE", help="new: 32 random bytes (default: the key of packing)")
    add(parser, "--out", metavar="NAME", help="merge: the new ledger of both copies")
    parser.add_argument("--budget", type=float, metavar="E", help="new, budget: most ε of forests about one person")
    parser.add_argument("--entry", type=int, metavar="N", help="withdraw: which entry's files were asked back")
    parser.add_argument("--why", default="", metavar="TEXT", help="withdraw: why")
    parser.add_argument("--by", default="", metavar="NAME", help="who does it, for the entry")
    add_talk(parser)
    parser.set_defaults(run=later("ledger", "run_ledger"))


def add_key(parser: Parser) -> None:
    """Add the options of ``key``."""
    parser.add_argument("action", metavar="ACTION", help="new or show")
    parser.add_argument("file", metavar="KEY.pem", help="the file of the private key; it is never written over")
    add_talk(parser)
    parser.set_defaults(run=later("key", "run_key"))


def add_compile(parser: Parser) -> None:
    """Add the options of ``compile``."""
    add_talk(parser)
    parser.set_defaults(run=later("compiling", "run_compile"))


SHELLS = ("bash", "zsh", "fish")
"""The shells for which there is a completion."""


def add_completion(parser: Parser) -> None:
    """Add the options of ``completion``."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=later("completion", "run_completion"))


def add_schema(parser: Parser) -> None:
    """Add the options of ``schema``."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="of report, check, verify, …; without one, all names")
    parser.set_defaults(run=later("schemas", "run_schema"))


COMMANDS: dict[str, Command] = {
    "anonymize": Command("from a table to a checked release and its report", add_anonymize, ("plan", *BASIC_RUN)),
    "verify": Command(
        "check a release, from the file alone or beside the original, or several", add_verify,
        (*ROLES, "keep", "report", "original", "plan", "k", "l", "json"),
    ),
    "init": Command(
        "print a plan of a table's release, with suggested roles and the reasons for them", add_init,
        (*ROLES, "target", "k", "l", "out"),
    ),
    "check": Command(
        "say what stands in the way of the release that a plan describes, and write nothing", add_check,
        ("k", "l", "json", "reason"), "The status is 0 when nothing stands in the way, 1 when something does.",
    ),
    "release": Command(
        "make the release that a plan describes", add_release, ("k", "l", "out", "report", "reason", "json"),
        "It is copse anonymize --plan copse.toml; what is typed goes before the plan.",
    ),
    "diff": Command(
        "say what changed between two plans", add_diff, (), "The status is 1 when something changed."
    ),
    "attack": Command(
        "attack several releases together, beside the table or by themselves", add_attack,
        (*ROLES, "keep", "original", "json")
    ),
    "risk": Command(
        "how risky a table is as it stands, as a sample of its population", add_risk,
        (*ROLES, "population", "fraction", "riskiest", "json"),
    ),
    "evaluate": Command(
        "compare groupings and generalizers under cross-validation", add_evaluate,
        (*ROLES, "target", "k", "groupings", "generalizers", "folds", "sample", "out", "plot", "json"),
    ),
    "hierarchy": Command(
        "write the groups of a column as a hierarchy that ARX reads", add_hierarchy, (*ROLES, "bands", "k", "of")
    ),
    "forest": Command(
        "a differentially private forest or scorecard to publish", add_forest,
        ("epsilon", "mode", "domains", "columns", "identifying", "person", "rules", "json"),
    ),
    "audit": Command("try to refute the claim of each mode on neighbouring tables", add_audit),
    "disclosure": Command(
        "what a published tree tells somebody who knows everyone's columns", add_disclosure,
        ("tree", "bound", "repair", "out", "json"),
    ),
    "ledger": Command("the account of what was released about the same people", add_ledger),
    "key": Command("the key by which packets are signed: make, show", add_key),
    "app": Command("open the dashboard", add_app),
    "schema": Command("print the JSON Schema of what is written as JSON", add_schema),
    "completion": Command("print what completes commands, options and values in a shell", add_completion),
    "compile": Command("compile now, so that no command has to wait for it later", add_compile),
}  # fmt: skip
"""Every command by name, in the order of the help."""
