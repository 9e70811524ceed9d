"""The Containerfile keeps to what the code needs, and the dashboard runs as it has it run."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from anonymizer.cli.app import PACKAGE
from anonymizer.cli.operating import CHOICES
from anonymizer.cli.warm import MARK, is_compiled, sources
from tests.conftest import ROOT, free_port
from ui.door.login import read_login

TEXT = (ROOT / "Containerfile").read_text("utf-8")
LINES = [line for line in re.sub(r"\\\n\s*", "", TEXT).splitlines() if line and not line.startswith("#")]
APART = ["unshare", "--mount", "--map-root-user"]


def steps(word: str) -> list[str]:
    """What stands after an instruction, each time it is there."""
    return [line.partition(" ")[2] for line in LINES if line.split()[0] == word]


def variables() -> dict[str, str]:
    """The environment that the image sets."""
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(steps("ENV"))))


def test_image__holds_what_the_dashboard_is_made_of_and_nothing_else() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    needs = {*wheel["packages"], *wheel["force-include"]}
    copies = {name for line in steps("COPY") for name in line.split()[:-1]}
    assert copies == needs | {"requirements.txt", "NOTICE", "LICENSE"}
    assert all((ROOT / name).exists() for name in copies)


def test_image__installs_by_digest_and_compiles_before_it_changes_the_user() -> None:
    words = [line for line in LINES if line.split()[0] in ("RUN", "USER", "ENTRYPOINT")]
    assert "--require-hashes -r requirements.txt" in words[0]
    assert "-m anonymizer compile" in words[1]
    assert re.fullmatch(r"USER [1-9]\d*:[1-9]\d*", words[2])
    assert words[3] == 'ENTRYPOINT ["python", "-m", "anonymizer", "app"]'


def test_image__sets_what_the_code_reads_and_no_secret() -> None:
    set_here = variables()
    assert {name for name in set_here if name.startswith("COPSE_")} <= {choice.variable for choice in CHOICES}
    assert set_here["COPSE_LOGIN"].startswith("/run/secrets/"), "without the file, it does not start for others"
    assert set_here["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0"
    assert set_here["HOME"] == set_here["TMPDIR"] == "/tmp"
    assert "CLIENT_SECRET" not in " ".join(LINES)


def test_image__asks_for_health_where_the_server_tells_it() -> None:
    (check,) = steps("HEALTHCHECK")
    assert "/_stcore/health" in check
    (code,) = re.findall(r'CMD \["python", "-c", "(.*)"\]', check)
    compile_only = subprocess.run([sys.executable, "-c", f"import ast; ast.parse({code!r})"], check=False)
    assert compile_only.returncode == 0


def compiled_loops(folder: Path) -> Path:
    """The loops of this checkout, laid out as numba lays them out in a folder of its own."""
    from numba.core.caching import UserProvidedCacheLocator

    for loop in PACKAGE.rglob("__pycache__/*.nb[ci]"):
        place = folder / UserProvidedCacheLocator.get_suitable_cache_subpath(str(loop.parents[1] / "module.py"))
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy2(loop, place)
    (folder / MARK).write_text(sources(), "utf-8")
    return folder


def test_dashboard__runs_where_nothing_can_be_written_and_compiles_nothing(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run([*APART, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no file system of its own can be made here (unshare --mount)")
    if not is_compiled():
        pytest.skip("the loops of this checkout are not compiled")
    if any(Path(place).is_relative_to("/tmp") for place in (ROOT, sys.executable)):
        pytest.skip("an empty folder takes the place of /tmp, where this checkout or its Python lies")
    if tmp_path.is_relative_to("/tmp"):
        folder = ROOT / "test-output" / "loops"
        shutil.rmtree(folder, ignore_errors=True)
    else:
        folder = tmp_path / "loops"
    command = [sys.executable, "-m", "tests.door.readonly", str(compiled_loops(folder)), str(free_port())]
    answer = subprocess.run([*APART, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    shutil.rmtree(folder)
    assert answer.returncode == 0, answer.stderr[-3000:]
    result = json.loads(answer.stdout.splitlines()[-1])
    assert result.pop("loops") > 50
    assert result == {"writable": False, "health": 200, "anew": 0}


def test_ignore_file__lets_through_what_the_image_copies() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    words = [line for line in lines if line and not line.startswith("#")]
    assert words[0] == "*"
    assert words[-1] == "**/__pycache__"
    assert {word.removeprefix("!") for word in words[1:-1]} == {
        name for line in steps("COPY") for name in line.split()[:-1]
    }


def test_compose__runs_the_image_as_its_words_say_beside_a_provider(tmp_path: Path) -> None:
    services = yaml.safe_load((ROOT / "compose.yml").read_text("utf-8"))["services"]
    own, provider = services["copse"], services["provider"]
    assert own["build"] == {"context": ".", "dockerfile": "Containerfile"}
    assert own["read_only"] is True
    assert own["cap_drop"] == ["ALL"]
    assert own["network_mode"] == "service:provider"
    assert all(port.startswith("127.0.0.1:") for port in provider["ports"]), "open to this machine alone"
    ((source, place, mode),) = [volume.split(":") for volume in own["volumes"]]
    assert (place, mode) == (variables()["COPSE_LOGIN"], "ro")
    copy = tmp_path / "login.toml"
    copy.write_text((ROOT / source).read_text("utf-8"), "utf-8")
    copy.chmod(0o600)
    login = read_login(copy, "a secret of a test, long enough")
    realm = json.loads((ROOT / "compose" / "realm.json").read_text("utf-8"))
    (client,) = realm["clients"]
    assert (client["clientId"], client["redirectUris"]) == (login.client_id, [f"{login.address}/oauth2callback"])
    assert login.issuer.endswith(f"/realms/{realm['realm']}")
    assert client["secret"] == "${COPSE_CLIENT_SECRET}"
    assert "COPSE_CLIENT_SECRET" in provider["environment"], "the secret stands in no file"


def test_security__says_where_reports_go_and_names_nobody() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    assert "where reports go" in text
    assert "@" not in text
