"""Run the benchmarks named on the command line, or the flow when none is."""

import importlib
import pkgutil
import sys

import benchmarks
from anonymizer.cli.main import PIPE_CLOSED
from anonymizer.cli.output import close_output


def main(arguments: list[str]) -> int:
    """Run one benchmark with its options; returns the exit status."""
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name[0] != "_")
    name = arguments[0] if arguments and not arguments[0].startswith("-") else "flow"
    if name not in names:
        print(f"There is no benchmark {name!r}. Choose one of: {', '.join(names)}.", file=sys.stderr)
        return 2
    options = arguments[1:] if arguments[:1] == [name] else arguments
    return int(importlib.import_module(f"benchmarks.{name}").main(options) or 0)


try:
    try:
        status = main(sys.argv[1:])
    finally:
        sys.stdout.flush()
except BrokenPipeError:
    close_output()
    status = PIPE_CLOSED
sys.exit(status)
