"""``anonymize --packet FILE.zip`` and ``verify FILE.zip``: release packets from the terminal."""

import argparse

from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.cli.inputs import limits_of, population_from, read_apart, reading_of
from anonymizer.cli.key import public_key
from anonymizer.cli.output import print_json
from anonymizer.cli.typed import ROLE_OPTIONS
from anonymizer.errors import ParameterError, Progress, require_extra
from anonymizer.flow import Flow
from anonymizer.plan.plan import Plan
from anonymizer.provenance.claim import Claim, roles_text
from anonymizer.provenance.report import Report
from anonymizer.provenance.signature import SigningKey
from anonymizer.reporting.findings import Statement
from anonymizer.reporting.outputs import flow_findings, packet_bytes
from anonymizer.reporting.packet import PacketCheck, check_packet, members_of, read_members, write_packet
from anonymizer.schema import UNCHANGED, Role
from anonymizer.studies.attack import Attacks

OPTIONS = {"external": "packet", "internal": "internal_packet"}


def packet_paths(options: argparse.Namespace) -> dict[str, str]:
    """Return where packets go, by audience; none that is not wanted. Raises :class:`ParameterError` for a name that
    does not end in .zip, and for a key where no packet is asked for."""
    paths = {audience: getattr(options, option) for audience, option in OPTIONS.items() if getattr(options, option)}
    if options.sign and not paths:
        raise ParameterError("--sign signs packets, and none is asked for.", remedy="Add --packet FILE.zip.")
    for path in paths.values():
        if not path.lower().endswith(".zip"):
            raise ParameterError(f"{path} is no name of a packet.", remedy="Use .zip.")
        require_extra("reports")
    return paths


def write_packets(
    paths: dict[str, str],
    flow: Flow,
    report: Report,
    attacks: Attacks,
    statement: Statement,
    override: str,
    key: SigningKey | None,
    progress: Progress,
) -> None:
    """Write packets of the release of a flow, each read back and checked. ``key``: signs them."""
    for audience, path in paths.items():
        findings = flow_findings(flow, report, attacks, audience, progress)
        packet = packet_bytes(flow, findings, statement, audience, override=override, key=key, progress=progress)
        write_packet(path, packet)


def verify_packet(options: argparse.Namespace, data: bytes) -> int:
    """Check a packet and print what comes of it; return 1 when something is not in order."""
    if unfit := sorted(options.typed & {"schema", "report", "kinds", *ROLE_OPTIONS}):
        raise ParameterError(
            "A packet's own report says its roles.", remedy=f"Leave --{unfit[0].replace('_', '-')} out."
        )
    plan = options.decisions.plan if options.decisions else None
    reading = reading_of(options.original, options) if options.original else None
    required = options.typed | set(plan.settings if plan else ())
    limits = {name: value for name, value in limits_of(options, None)[0].items() if name in required}
    check = check_packet(
        data, original=None if reading is None else reading.frame,
        unfold=lambda data: members_of(read_apart(data, reader=read_members)),
        read=lambda data: ReleasedFile.of_reading(read_apart(data, reader=read_released)),
        key=public_key(options.key) if options.key else None, population=population_from(options), **limits,
    )  # fmt: skip
    departures = [] if plan is None or check.claim is None else other_than_planned(plan, check.claim)
    others = [] if check.claim is None else limits_of(options, check.claim)[1]
    same, about = (None, "") if check.claim is None or reading is None else check.claim.original(reading.sha256)
    passed = check.passed and same is not False and not departures
    if options.json:
        tables = {path: table.to_dict() for path, table in check.tables.items()}
        described = {"passed": passed, "audience": check.audience, "differences": list(check.differences)}
        described |= {"notes": list(check.notes), "signed_by": check.signed_by or None}
        described |= {"is_the_reported_original": same, "limits_not_the_reported": others, "tables": tables}
        print_json("verify", described | ({} if plan is None else {"not_as_planned": departures}))
        return 0 if passed else 1
    print_packet(check)
    for sentence in filter(None, (*departures, *others, about)):
        print(sentence)
    return 0 if passed else 1


def other_than_planned(plan: Plan, claim: Claim) -> list[str]:
    """Return the columns of a packet whose role is not that of the plan, and those that it lacks, a sentence each."""
    roles = {name: str(own["role"]) for name, own in plan.columns.items()}
    others = [
        f"Column {column.name!r} is {column.role} in the packet and {roles.get(column.name, 'no column')} in the plan."
        for column in claim.schema.columns
        if column.name in claim.schema.released and roles.get(column.name) != column.role
    ]
    lacks = [name for name in plan_released(plan) if name not in claim.schema.released]
    return others + [f"Column {name!r} is {roles[name]} in the plan, and not in the packet." for name in lacks]


def plan_released(plan: Plan) -> list[str]:
    """Return the columns that a plan releases."""
    return [name for name, own in plan.columns.items() if own["role"] in (Role.QUASI_IDENTIFYING, *UNCHANGED)]


def print_packet(check: PacketCheck) -> None:
    """Print whether a packet is whole, and what the checker says of the tables in it."""
    print(check.sentence)
    if check.differences:
        return
    for note in check.notes:
        print(note)
    for path, table in check.tables.items():
        print(f"{path}: {table.describe()}")
        for failed in table.failed:
            print(f"FAILED  {failed.sentence}")
    if check.claim is not None:
        print(roles_text(check.claim.schema))
