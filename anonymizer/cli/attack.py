"""``copse attack r1.csv r2.csv …``: what several releases of the same people tell together."""

import argparse
from dataclasses import asdict

from anonymizer.attacks.joint import OverReleases, attack_releases
from anonymizer.cli.output import print_json
from anonymizer.cli.several import read_together
from anonymizer.cli.verify import released_schema


def run_attack(options: argparse.Namespace) -> int:
    """Run ``attack``: print what the releases tell together."""
    files = read_together(options, released_schema)
    answer = attack_releases(files.tables, files.released, int(options.k), files.original, files.person)
    if options.json:
        words = {"headline": answer.headline, "sentences": answer.sentences, "names": answer.names}
        print_json("attack", asdict(answer) | words)
        return 0
    for sentence in (answer.headline, *answer.sentences, steps_text(answer)):
        print(sentence[0].upper() + sentence[1:])
    how = (
        "Beside a table that does not tell the group of every row"
        if files.original is not None
        else "By the files alone"
    )
    print(
        "Counted beside the table."
        if answer.exact
        else f"{how}: every figure is at least so large. Somebody who knows more can learn more."
    )
    return 0


def steps_text(answer: OverReleases) -> str:
    """Return how many people have how many candidates, in one release and in all."""
    pairs = zip(answer.names, *answer.steps, strict=True)
    steps = "; ".join(f"{name}: {alone:,} and {both:,}" for name, alone, both in pairs)
    at_least = "" if answer.exact else ", at least"
    return f"People by candidates, in one release and in all{at_least}: {steps}."
