"""The recipient's page in a real browser without a network: it says of every file what the checker says."""

import json
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymizer.checking.released_file import ReleasedFile, read_file
from anonymizer.checking.several import files_alone
from anonymizer.checking.verify import verify
from anonymizer.digests import digest
from anonymizer.errors import AnonymizerError
from anonymizer.provenance.claim import Claim, claim_from
from anonymizer.provenance.signature import Envelope
from anonymizer.releasing.files import archive
from anonymizer.reporting.against import OUT_OF_ORDER, other_than_said
from anonymizer.reporting.packet import check_packet
from anonymizer.reporting.packet_files import MANIFEST, REPORT, SIGNATURE, TABLES
from anonymizer.reporting.recipient_page import recipient_page
from tests.browser.releases import CHOICES, Case, changed, release
from tests.reporting.test_packet import members_of, packet, with_manifest
from tests.reporting.test_signature import KEY, OTHER, sealed

pytestmark = pytest.mark.browser

NOT_THERE = ("unique rows", "columns as they are", "homogeneity", "means and medians")
"""Checks that the page does not make: figures that nothing is required of."""
CSV = TABLES["csv"]
Answer = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path, page: Any) -> Path:
    """The page as a file; the browser has no network."""
    page.context.set_offline(True)
    place = tmp_path / "verify.html"
    place.write_bytes(recipient_page())
    return place


def ask_page(page: Any, path: Path, files: dict[str, bytes], key: str = "") -> Answer:
    """What the page says of some files: its verdict, and each check by its name."""
    page.goto(path.as_uri())
    if key:
        page.locator("#key").fill(key)
    kind = "application/octet-stream"
    page.locator("#files").set_input_files(
        [{"name": name, "mimeType": kind, "buffer": content} for name, content in files.items()]
    )
    result = page.locator("#result[data-verdict]")
    result.wait_for(state="attached")
    fields = ("check", "passed", "achieved", "required", "file", "same", "alone")
    lines = result.locator("li").evaluate_all(
        f"lines => lines.map(line => Object.fromEntries({list(fields)}.map(one => [one, line.dataset[one]])))"
    )
    names = ("verdict", "kind", "signature", "below", "k")
    return {
        **{name: result.get_attribute(f"data-{name}") for name in names},
        "checks": {line["check"]: (line["passed"], line["achieved"]) for line in lines if line.get("check")},
        "files": {line["file"]: line["same"] == "true" for line in lines if line.get("file")},
    }


def as_said(passed: bool | None) -> str:
    return "" if passed is None else str(passed).lower()


def differences(answer: Answer, passed: bool, checks: dict[str, tuple[bool | None, float | None]]) -> list[Any]:
    """How the page says something else than the checker. ``checks``: what that says of each; ``passed``: of all."""
    others: list[Any] = [] if answer["verdict"] == ("holds" if passed else "fails") else [answer["verdict"]]
    names = {name for name in checks if not name.startswith(NOT_THERE)}
    if names != set(answer["checks"]):
        others.append(names ^ set(answer["checks"]))
    for name in names & set(answer["checks"]):
        (passes, achieved), (own, figure) = checks[name], answer["checks"][name]
        same = figure == "" if achieved is None else figure != "" and float(figure) == pytest.approx(achieved, abs=1e-9)
        others += [] if same and own == as_said(passes) else [(name, passes, achieved, own, figure)]
    return others


def read_case(case: Case) -> tuple[Claim, ReleasedFile]:
    claim = claim_from(case.report_bytes)
    return claim, read_file(case.content).under(claim.schema, labels=claim.knows_labels, sets=claim.sets)


def ask_checker(case: Case) -> tuple[bool, dict[str, tuple[bool | None, float | None]]]:
    """Whether the checker passes a file beside its report, and its checks; none where the file cannot be read."""
    try:
        claim, file = read_case(case)
        about: dict[str, Any] = {"beside": file.beside, "unjudged": file.unjudged, "left_out": claim.left_out}
        verification = verify(file.rows, claim.schema, **about, **claim.held_to)
        others = other_than_said(file.rows, claim)
    except AnonymizerError:
        return False, {}
    checks = {check.name: (check.passed, check.achieved) for check in verification.checks}
    unread = any(text not in ("", OUT_OF_ORDER) for text in others) and not checks["cells"][0]
    if claim.order == "content" and not unread and set(claim.schema.released) <= set(file.rows.columns):
        checks["order"] = (OUT_OF_ORDER not in others, None)
    same = not claim.differences(digest(case.content), len(file.rows), claim.schema)
    return verification.passed and same and not others, checks


@pytest.mark.sweep(1)
@pytest.mark.parametrize("part", range(25))
def test_page__says_of_changed_releases_what_the_checker_says(part: int, page: Any, path: Path) -> None:
    others = {}
    for number in range(20 * part, 20 * part + 20):
        case = changed(number)
        answer = ask_page(page, path, {"release.csv": case.content, "release.json": case.report_bytes})
        passed, checks = ask_checker(case)
        answer["checks"].pop("order", None) if "order" not in checks else None
        if answer["checks"].get("order") is None:
            checks.pop("order", None)
        if problems := differences(answer, passed, checks):
            others[number, case.what] = problems
    assert not others


def fits(members: dict[str, bytes], content: bytes) -> bytes:
    """The signed packet with another table, and a manifest, a report and a signature that were made to fit."""
    report = members[REPORT].replace(digest(members[CSV]).encode(), digest(content).encode())
    rest = {**members, CSV: content, REPORT: report}
    envelope = Envelope.of(rest.pop(SIGNATURE))
    again = members_of(with_manifest(rest))
    statement = json.loads(envelope.statement)
    for one in statement["subject"]:
        one["digest"]["sha256"] = digest(again[one["name"]])
    text = f"{json.dumps(statement, ensure_ascii=False, indent=2)}\n".encode()
    return archive({MANIFEST: again.pop(MANIFEST), SIGNATURE: KEY.sign(text), **again})


def packets() -> dict[str, tuple[bytes, str]]:
    """Packets that something was done to, and the key that is pasted for each."""
    members, mine, other = members_of(sealed()), KEY.public.text, OTHER.public.text
    statement = Envelope.of(members[SIGNATURE]).statement
    plain = archive(members)
    noted = BytesIO(plain)
    with zipfile.ZipFile(noted, "a") as packed:
        packed.comment = b"somebody was here"
    rows = members[CSV].splitlines(keepends=True)
    swapped = b"".join([rows[0], *rows[:0:-1]])
    cut = {name: content for name, content in members.items() if name != "report.pdf"}
    return {
        "as it is": (plain, mine), "no key": (plain, ""), "another key": (plain, other),
        "not signed": (packet("external"), ""), "not signed, with a key": (packet("external"), mine),
        "internal": (packet("internal"), ""),
        "signed by another": (archive({**members, SIGNATURE: OTHER.sign(statement)}), mine),
        "another statement": (archive({**members, SIGNATURE: KEY.sign(statement.replace(b"160", b"161"))}), mine),
        "blanks behind": (archive({**members, SIGNATURE: members[SIGNATURE] + b" "}), mine),
        "a file less": (archive(cut), mine), "a file more": (archive({**members, "notes.txt": b"x"}), mine),
        "another file": (archive({**members, "repeat.py": members["repeat.py"] + b"\n"}), mine),
        "another table": (archive({**members, CSV: swapped}), mine),
        "another order": (archive(dict(reversed(members.items()))), mine),
        "a comment": (noted.getvalue(), mine), "cut off": (plain[:-30], mine), "more behind": (plain + b"x", mine),
        "more before": (b"PK" + plain, mine), "a bit": (plain[:999] + bytes([plain[999] ^ 1]) + plain[1000:], mine),
        "no packet": (archive({"notes.txt": b"x"}), ""),
        "table out of order": (fits(members, swapped), mine),
        "table with fewer rows": (fits(members, b"".join(rows[:-3])), mine),
    }  # fmt: skip


SIGNED = {
    "as it is": "verified", "no key": "unchecked", "another key": "wrong", "not signed": "unsigned",
    "not signed, with a key": "missing", "signed by another": "wrong", "another statement": "verified",
    "blanks behind": "broken", "table out of order": "verified",
}  # fmt: skip
"""What the page says of the signature of some of them."""


def test_page__says_of_changed_packets_what_the_checker_says(page: Any, path: Path) -> None:
    others = {}
    for what, (content, key) in packets().items():
        answer = ask_page(page, path, {"packet.zip": content}, key)
        keys = {KEY.public.text: KEY.public, OTHER.public.text: OTHER.public}
        try:
            check = check_packet(content, key=keys.get(key))
            passed, table = check.passed, check.tables.get(CSV)
        except AnonymizerError:
            passed, table = False, None
        checks = {check.name: (check.passed, check.achieved) for check in table.checks} if table else {}
        answer["checks"].pop("order", None)
        problems = differences(answer, passed, checks if answer["checks"] else {})
        if what in SIGNED and answer["signature"] != SIGNED[what]:
            problems.append(answer["signature"])
        if table and answer["files"]:
            manifest = json.loads(members_of(content)[MANIFEST])
            digests = {one["path"]: one["sha256"] for one in manifest["members"]}
            rest = {name: text for name, text in members_of(content).items() if name not in (MANIFEST, SIGNATURE)}
            same = {name: digests.get(name) == digest(text) for name, text in rest.items()}
            problems += [] if same == {name: answer["files"][name] for name in rest} else [answer["files"]]
        if problems:
            others[what] = problems
    assert not others


def together(number: int) -> dict[str, Case]:
    """Some releases of one table, and now and then of another, of which one may be changed."""
    rng = np.random.default_rng(number)
    choices = rng.choice(len(CHOICES), 2 + int(rng.integers(4) == 0), replace=False)
    cases = {f"r{at}": release(int(choice), 1 + int(rng.integers(6) == 0))[1] for at, choice in enumerate(choices)}
    if not rng.integers(3):
        report = {**cases["r0"].report, "provenance": json.loads(json.dumps(cases["r0"].report["provenance"]))}
        report["provenance"]["parameters"]["k"] = int(rng.integers(1, 4))
        lines = cases["r0"].content.splitlines(keepends=True)
        cases["r0"] = replace(cases["r0"], content=b"".join(lines[: -int(rng.integers(1, 5))]), report=report)
    return cases


@pytest.mark.sweep(1)
@pytest.mark.parametrize("part", range(20))
def test_page__says_of_several_files_what_the_checker_says(part: int, page: Any, path: Path) -> None:
    others, verdicts = {}, {"holds": "holds", "fails": "fails", "the files cannot tell": "open"}
    for number in range(10 * part, 10 * part + 10):
        cases = together(number)
        files = {f"{name}.csv": case.content for name, case in cases.items()}
        answer = ask_page(page, path, files | {f"{name}.json": case.report_bytes for name, case in cases.items()})
        claims, tables = zip(*map(read_case, cases.values()), strict=True)
        try:
            k = max(claim.limits["k"] for claim in claims)
            proof = files_alone([file.rows for file in tables], [claim.schema for claim in claims], k)
            right = (verdicts[proof.verdict], str(proof.below), str(k))
        except AnonymizerError:
            right = ("fails", None, None)
        if (answer["verdict"], answer["below"], answer["k"]) != right:
            others[number] = (right, answer["verdict"], answer["below"])
    assert not others


def test_page__says_which_limits_are_not_asked_of_several_files(page: Any, path: Path) -> None:
    for numbers, names in (((0, 3), "l t"), ((0, 2), "l t rsd_min spread_min"), ((3, 4), None)):
        cases = [release(number)[1] for number in numbers]
        files = {f"r{at}.csv": case.content for at, case in enumerate(cases)}
        ask_page(page, path, files | {f"r{at}.json": case.report_bytes for at, case in enumerate(cases)})
        words = page.locator("[data-not-asked]")
        assert [one.get_attribute("data-not-asked") for one in words.all()] == ([] if names is None else [names])
        if names is not None:
            assert "this page checks k alone" in words.inner_text()


def test_page__shows_text_of_files_as_text(page: Any, path: Path) -> None:
    """Names and cells that are markup stay what they are, and the policy has nothing to forbid."""
    case = release(0)[1]
    name = "<img src=x onerror=alert(1)>.csv"
    head, _, rest = case.content.decode().partition("\n")
    odd = f'{head},"<script>alert(1)</script>"\n' + "".join(f'{line},"x"\n' for line in rest.splitlines())
    answer = ask_page(page, path, {name: odd.encode(), "r.json": case.report_bytes})
    assert answer["checks"]["columns"] == ("false", "1")
    assert page.locator("main img, main script").count() == 0
    assert "<script>alert(1)</script>" in page.locator("main").inner_text()


def test_page__asks_for_roles_where_no_report_is(page: Any, path: Path) -> None:
    case = release(0)[1]
    answer = ask_page(page, path, {"release.csv": case.content})
    assert answer["kind"] == "roles"
    assert page.get_by_label("Role of age").input_value() == "quasi-identifying"
    page.get_by_label("Role of illness").select_option("sensitive")
    page.get_by_label("Different values, l").fill("2")
    page.get_by_role("button", name="Check").click()
    page.locator("#result[data-kind=file]").wait_for(state="attached")
    assert "holds: 240 rows" in page.get_by_role("status").inner_text()
    assert page.locator("[data-check='distinct l-diversity of illness']").get_attribute("data-passed") == "true"
