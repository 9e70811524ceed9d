"""What Copse is made of: a bill of materials from the lock, and whether a weakness of any of it has become known.

Uses nothing but the standard library; the look-up of weaknesses runs pip-audit, which the tests' environment has.
"""

import json
import re
import subprocess
import uuid
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent
LOCK = "requirements.txt"
AUDITED = (LOCK, "requirements-dev.txt", "requirements-solver.txt")
UNREACHABLE = ("ConnectionError", "Could not connect", "Max retries exceeded", "Connection refused", "your network may")
"""Words by which pip-audit says that nobody answered."""


class Package(NamedTuple):
    """A package of the lock: its version, for which machines it is, and the SHA-256 of each file that may be installed.

    ``marker``: empty for all machines.
    """

    name: str
    version: str
    marker: str
    digests: tuple[str, ...]


def read_lock(text: str) -> list[Package]:
    """Return the packages of a lock, in its order."""
    packages = []
    for entry in re.split(r"\n(?=\S)", text):
        match = re.match(r"([\w.-]+)(?:\[[\w,]+\])?==([^\s;]+)(?: ; ([^\\\n]+?))?\s*(?:\\|$)", entry)
        if match:
            digests = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
            packages.append(Package(match[1].lower(), match[2], match[3] or "", digests))
    return packages


def read_licences(text: str) -> dict[str, str]:
    """Return the SPDX expression of each package, as the table in NOTICE states it."""
    return dict(re.findall(r"^([\w.-]+) {2,}(\S.*)$", text, re.MULTILINE))


def bill() -> dict[str, Any]:
    """Return the bill of materials: CycloneDX 1.6, of all that the lock would install on any machine.

    The same lock gives the same bill. A marker says for which machines a package is, where it is not for all.
    """
    lock = (ROOT / LOCK).read_text("utf-8")
    licences = read_licences((ROOT / "NOTICE").read_text("utf-8"))
    match = re.search(r'VERSION = "([^"]+)"', (ROOT / "anonymizer" / "version.py").read_text("utf-8"))
    version = match[1] if match else ""
    packages = [(f"pkg:pypi/{package.name}@{package.version}", package) for package in read_lock(lock)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, f"copse {version} {lock}").urn,
        "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": "copse", "name": "copse", "version": version,
            "licenses": [{"expression": "Apache-2.0"}],
        }},
        "components": [
            {
                "type": "library", "bom-ref": address, "name": package.name, "version": package.version,
                "purl": address,
                "licenses": [{"expression": licences[package.name]}],
                "externalReferences": [{
                    "type": "distribution", "url": address,
                    "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.digests],
                }],
                **({"properties": [{"name": "copse:marker", "value": package.marker}]} if package.marker else {}),
            }
            for address, package in packages
        ],
        "dependencies": [{"ref": "copse", "dependsOn": [address for address, _ in packages]}],
    }  # fmt: skip


def print_bill() -> int:
    """Print the bill of materials; the exit status."""
    print(json.dumps(bill(), indent=1))
    return 0


def audit(python: str) -> int:
    """Look up known weaknesses of the packages in the locks, and say what there is; 1 when there is one.

    Where no index of weaknesses answers, one sentence says so, and the status is 0.
    """
    files = [word for name in AUDITED for word in ("-r", name)]
    command = [python, "-m", "pip_audit", *files, "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    answer = subprocess.run([*command, "--format", "json"], cwd=ROOT, capture_output=True, text=True, check=False)
    status, words = judge(answer.stdout, answer.stderr)
    print(words)
    return status


def judge(output: str, errors: str) -> tuple[int, str]:
    """Return the exit status, and in words what came of a look-up: pip-audit's output as JSON, and its complaints."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        if any(words in errors for words in UNREACHABLE):
            return 0, "No index is reachable: the packages were not audited."
        return 1, f"The packages could not be audited: {errors.strip()[-2000:]}"
    weak = [
        f"{package['name']} {package.get('version', '')}: {flaw['id']}"
        + (f", fixed in {', '.join(flaw['fix_versions'])}" if flaw["fix_versions"] else "")
        for package in packages
        for flaw in package.get("vulns", ())
    ]
    unread = [f"{package['name']}: {package['skip_reason']}" for package in packages if "skip_reason" in package]
    if len(unread) == len(packages):
        return 0, "An index answers, but knows none of the packages: they were not audited."
    if weak or unread:
        return 1, "\n".join(["Known weaknesses, or packages that could not be looked up:", *weak, *unread])
    return 0, f"No weakness is known of the {len(packages)} packages that this machine would install."
