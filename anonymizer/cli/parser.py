"""The parser of what is typed: options in panels, complaints in one sentence, and what is loaded late.

Nothing here, nor in what describes options and commands, imports numpy, pandas or numba: help and complaints come at
once. What a command runs is a :class:`Late`.
"""

import argparse
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn

from anonymizer.cli.output import print_json
from anonymizer.databases.address import redacted
from anonymizer.errors import did_you_mean

BAD_INPUT = 2
PROGRAM = "copse"
HIDDEN = ("help", "help_all", "version")
"""Options that are no choices."""


@dataclass(frozen=True)
class Late:
    """A function or a collection of names of a module, which is loaded when it is first used."""

    module: str
    name: str

    def load(self) -> Any:
        """Return what it stands for."""
        return getattr(import_module(self.module), self.name)

    def __call__(self, *arguments: Any, **words: Any) -> Any:
        return self.load()(*arguments, **words)

    def __iter__(self) -> Iterator[Any]:
        value = self.load()
        return iter(value() if callable(value) else value)

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


@dataclass(frozen=True)
class Example:
    """A command as it is typed, and what it does, in a few words."""

    line: str
    words: str


class HelpAll(argparse.Action):
    """Prints every option, and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        assert isinstance(parser, Parser)
        parser._print_message(parser.help_text(whole=True), sys.stdout)
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, and whose help has the basic options first, in panels.

    ``basic``: the names of the options that ``--help`` shows; all where none are named. ``examples``: at its end.
    ``as_json``: complaints are printed to standard output in JSON, too. No option may be shortened.
    """

    def __init__(self, *, as_json: bool = False, **words: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": Panels, "add_help": False, **words})
        self.as_json, self.basic, self.examples = as_json, frozenset[str](), tuple[Example, ...]()
        self._positionals.title = "what it works on"
        self.add_argument("-h", "--help", action="help", help="the basic options, and examples")

    def describe(self, basic: Collection[str], examples: Iterable[Example]) -> None:
        """Set the basic options and the examples, once all options are there."""
        self.basic, self.examples = frozenset(basic), tuple(examples)
        self.add_argument("--help-all", action=HelpAll, nargs=0, default=argparse.SUPPRESS, help="every option")

    def format_usage(self) -> str:
        return f"usage: {self.usage_line}\n"

    @property
    def usage_line(self) -> str:
        """How the command is written: its name, [OPTIONS], and what stands without an option."""
        places = [_place(action) for action in self._actions if not action.option_strings]
        needs = [f"{action.option_strings[-1]} {_word(action)}" for action in self._actions
                 if action.required and action.option_strings]  # fmt: skip
        return " ".join([self.prog, *places, *needs, "[OPTIONS]"])

    def format_help(self) -> str:
        return self.help_text()

    def help_text(self, *, whole: bool = False) -> str:
        """Return the help of the command. ``whole``: with every option, and not the basic ones alone."""
        formatter, hidden = self._get_formatter(), 0
        formatter.add_text(f"{self.usage_line}")
        formatter.add_text(self.description)
        for group in self._action_groups:
            own = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
            basic = [action for action in own if whole or self._is_basic(action)]
            hidden += len(own) - len(basic)
            formatter.start_section(group.title)
            formatter.add_text(group.description if basic else None)
            formatter.add_arguments(basic)
            formatter.end_section()
        lines = [f"  {one.line}\n      {one.words}\n" for one in self.examples]
        more = f"\n{hidden} more options: {self.prog} --help-all\n" if hidden else ""
        examples = f"\nexamples:\n{''.join(lines)}" if lines else ""
        return formatter.format_help() + more + examples + (f"\n{self.epilog}\n" if self.epilog else "")

    def _is_basic(self, action: argparse.Action) -> bool:
        return not self.basic or not action.option_strings or action.required or action.dest in {*self.basic, *HIDDEN}

    def words(self) -> list[str]:
        """Return every option and command that may be typed here, those of commands included."""
        own = [word for action in self._actions for word in action.option_strings]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                own += [word for name, parser in action.choices.items() for word in (name, *parser.words())]
        return own

    def error(self, message: str) -> NoReturn:
        sentence = redacted(complaint(message, self.words()))
        if self.as_json:
            print_json("error", {"error": {"problem": sentence}})
        self.exit(BAD_INPUT, f"{self.prog}: {sentence} (try --help)\n")


class Panels(argparse.HelpFormatter):
    """Help whose options stand on the left, 30 letters at most."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)
        self._action_max_length = 16  # names of commands

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {_word(action)}"


def _word(action: argparse.Action) -> str:
    """Return the word for the value of an option."""
    return str(action.metavar or action.dest.upper())


def _place(action: argparse.Action) -> str:
    """Return how an argument without an option is written: in brackets where it may be left out."""
    word = str(action.metavar or action.dest)
    more = " …" if action.nargs in ("*", "+") else ""
    return f"[{word}{more}]" if action.nargs in ("*", "?") else f"{word}{more}"


def typed_in(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> frozenset[str]:
    """Return the options that stand among the arguments of a command, by the names of their values. ``parser``: of all
    commands, which is good for nothing else afterwards."""
    commands = next(action.choices for action in parser._actions if isinstance(action.choices, dict))
    for command in commands.values():
        for action in command._actions:
            action.default = argparse.SUPPRESS
        command.set_defaults(**dict.fromkeys(command._defaults, argparse.SUPPRESS))
    names = vars(parser.parse_args(arguments))
    return frozenset(name for name, value in names.items() if value is not argparse.SUPPRESS)


NUMBERS = {"int": "a whole number", "float": "a number", "share": "a number, or a percentage such as 2%"}
Say = Callable[[re.Match[str], Collection[str]], str]
COMPLAINTS: tuple[tuple[str, Say], ...] = (
    (r"argument (\S+): invalid (int|float|share) value: (.*)",
     lambda m, _: f"{option(m[1])} takes {NUMBERS[m[2]]}, not {m[3]}."),
    (r"argument COMMAND: invalid choice: '(.*)' \(choose from (.*)\)",
     lambda m, words: f"There is no command {m[1]}.{did_you_mean(m[1], commands_of(words))}"),
    (r"argument (\S+): invalid choice: (.*) \(choose from (.*)\)", lambda m, _: wrong_choice(m[1], m[2], m[3])),
    (r"argument (\S+): expected (?:one|at least one) argument",
     lambda m, _: f"{option(m[1])} needs a value behind it."),
    (r"argument (\S+): ignored explicit argument (.*)", lambda m, _: f"{option(m[1])} takes no value, not {m[2]}."),
    (r"argument (\S+): (expected .*)", lambda m, _: f"{option(m[1])}: {m[2]}."),
    (r"argument (\S+): not allowed with argument (\S+)", lambda m, _: f"{m[1]} and {m[2]} cannot both be said."),
    (r"the following arguments are required: COMMAND", lambda m, _: "No command is named."),
    (r"the following arguments are required: (.*)", lambda m, _: f"Missing: {m[1]}."),
    (r"unrecognized arguments: (.*)",
     lambda m, words: f"There is no option or argument {m[1]}.{did_you_mean(re.split('[ =]', m[1])[0], words)}"),
)  # fmt: skip
"""What the parser of options complains of, as it says it, and as a sentence."""


def complaint(message: str, words: Collection[str] = ()) -> str:
    """Return a complaint of the parser of options as a sentence; one that is not among them as it is. ``words``:
    options and commands that may be typed."""
    for pattern, say_it in COMPLAINTS:
        if match := re.fullmatch(pattern, message, re.DOTALL):
            return say_it(match, words)
    return message


def option(names: str) -> str:
    """Return the long one of the names of an option, such as ``-k/--k``."""
    return names.rpartition("/")[2]


def commands_of(words: Collection[str]) -> list[str]:
    """Return the commands among words that may be typed."""
    return [word for word in words if not word.startswith("-")]


def wrong_choice(names: str, value: str, choices: str) -> str:
    """Return what is said of a value that is none of the choices of an option."""
    plain = choices.replace("'", "")
    near = did_you_mean(value.strip("'"), plain.split(", "))
    return f"{option(names)} cannot be {value}. Choose among {plain}.{near}"


class Merge(argparse.Action):
    """Puts the pairs of an option that is repeated into one dictionary."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, {**(getattr(namespace, self.dest, None) or {}), **values})
