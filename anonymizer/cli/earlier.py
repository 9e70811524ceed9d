"""``anonymize --earlier REPORT.json``: other releases of the same table, made again to count both together."""

import argparse
from dataclasses import replace
from pathlib import Path

from anonymizer.errors import ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier
from anonymizer.json_value import read_json
from anonymizer.releasing.release import FORMATS
from anonymizer.reporting.claim import claim_from
from anonymizer.reporting.report import digest
from anonymizer.settings import RUN, Settings, setting_names
from anonymizer.whatif.project import setting_in


def add_earlier(parser: argparse.ArgumentParser) -> None:
    """Add the option that names reports of earlier releases."""
    parser.add_argument(
        "--earlier", action="append", default=[], metavar="REPORT.json",
        help="the report of another release of this table; both are counted together; repeatable",
    )  # fmt: skip


def earlier_of(paths: list[str], flow: Flow) -> tuple[Earlier, ...]:
    """Return the releases that some reports speak of, made again from the table of a flow. Raises :class:`ReadError`
    for a file that is no report, and :class:`ParameterError` where its release cannot be made again."""
    return tuple(made_again(path, flow) for path in paths)


def made_again(path: str, flow: Flow) -> Earlier:
    """Return the release that a report speaks of."""
    claim, document = claim_from(path), read_json(path, "report", "Give the report of a release, as it was saved.")
    parameters = document.field("provenance").field("parameters").fields(setting_names(*RUN))
    settings = Settings(**{name: setting_in(name, value) for name, value in parameters.items() if not value.absent})
    other = Flow(flow.table, claim.schema, settings, population=flow.population)
    leaving = replace(other.leaving, bars=())
    outputs = {format: sha256 for format, sha256 in claim.outputs.items() if format in FORMATS}
    if not any(digest(leaving.to_bytes(format)) == sha256 for format, sha256 in outputs.items()):
        raise ParameterError(
            f"The release that {Path(path).name} speaks of is not what this table and this key of packing make, so "
            "both cannot be counted together.",
            remedy="Give the table and the key that it was made with.",
        )
    return Earlier(other.class_of, other.settings.k)
