"""Nobody else comes in where nobody asks who they are, however the dashboard was started."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from anonymizer.cli.app import is_loopback, refusal, start
from anonymizer.errors import ParameterError
from tests.conftest import COMMAND, ROOT, free_port, serve
from tests.waiting import PATIENCE
from ui.door.doors import is_from_here

LOCAL = ["localhost", "127.0.0.1"]


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True),
        ("::ffff:127.0.0.1", True), ("0.0.0.0", False), ("::", False), ("192.0.2.1", False), ("", False),
        ("::ffff:192.0.2.1", False), ("localhost.elsewhere.example", False), ("127.0.0.1.elsewhere.example", False),
    ],
)  # fmt: skip
def test_is_loopback__this_machine_only(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


@pytest.mark.parametrize(
    ("address", "hosts", "starts"),
    [
        ("127.0.0.1", LOCAL, True), ("0.0.0.0", LOCAL, False), (None, LOCAL, False), ("192.0.2.1", LOCAL, False),
        ("127.0.0.1", [*LOCAL, "copse.example.org"], False), ("127.0.0.1", ["*"], False), ("127.0.0.1", [], False),
    ],
)  # fmt: skip
def test_refusal__says_what_to_do(address: str | None, hosts: list[str], starts: bool) -> None:
    reason = refusal(address, hosts, login=False, knows=False)
    assert (reason == "") is starts
    assert starts or ("--login" in reason and "--i-know" in reason)
    assert refusal(address, hosts, login=True, knows=False) == refusal(address, hosts, login=False, knows=True) == ""


@pytest.mark.parametrize(
    ("server", "client", "here"),
    [
        (("127.0.0.1", 8501), ("127.0.0.1", 5000), True),
        (("::ffff:127.0.0.1", 8501), ("::1", 5000), True),
        (("192.0.2.1", 8501), ("127.0.0.1", 5000), False),
        (("127.0.0.1", 8501), ("192.0.2.7", 0), False),
        (("copse.socket", None), None, False),
        (None, None, False),
    ],
)
def test_is_from_here__both_ends(server: Any, client: Any, here: bool) -> None:
    assert is_from_here({"server": server, "client": client}) is here


def test_start__options_of_ours_and_of_streamlit() -> None:
    words, environment = start(["--address", "0.0.0.0", "--server.headless", "true", "--i-know", "--port=8600"])
    assert words == ["--server.headless", "true"]
    assert environment == {
        "STREAMLIT_SERVER_ADDRESS": "0.0.0.0", "STREAMLIT_SERVER_PORT": "8600", "COPSE_I_KNOW": "1"
    }  # fmt: skip
    assert start(["--login", "a.toml"]) == ([], {"COPSE_LOGIN": str(Path("a.toml").resolve())})
    assert start(["--logins", "a.toml"]) == (["--logins", "a.toml"], {})
    with pytest.raises(ParameterError, match="--login"):
        start(["--login"])


STREAMLIT = [sys.executable, "-m", "streamlit", "run", "app.py"]


@pytest.mark.sweep(1)
@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ([*COMMAND, "--address", "0.0.0.0"], {}),
        ([*COMMAND, "--server.allowedHosts", "copse.example.org"], {}),
        ([*STREAMLIT, "--server.address", "0.0.0.0"], {}),
        (STREAMLIT, {"STREAMLIT_SERVER_ADDRESS": "::"}),
        ([*COMMAND, "--login", "absent.toml"], {}),
    ],
    ids=["ours", "a name", "Streamlit", "environment", "no file"],
)
def test_server_that_others_could_open__does_not_start(command: list[str], environment: dict[str, str]) -> None:
    words = ["--server.port", str(free_port()), "--server.headless", "true"]
    answer = subprocess.run(
        [*command, *words], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert answer.returncode == 2
    if "streamlit" not in command:
        assert (answer.stdout, answer.stderr.count("\n")) == ("", 1), "another program has its say"
    assert answer.stderr.count("copse: ") == 1
    assert "Traceback" not in answer.stderr
    assert "docs/OPERATING.md" in answer.stderr.splitlines()[-1]


def own_address() -> str:
    """An address of this machine that is not its loopback; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return ""


def test_request_from_beyond__is_refused_whatever_the_configuration_says(tmp_path: Path) -> None:
    """Started by a server that is not Streamlit's: the configuration says 127.0.0.1, and the socket is open to all."""
    port, other = free_port(), own_address()
    if not other or is_loopback(other):
        pytest.skip("this machine has no address but its loopback")
    program = tmp_path / "other.py"
    program.write_text(f"import uvicorn; uvicorn.run('app:app', host='0.0.0.0', port={port}, log_level='warning')")
    wait = serve([sys.executable, str(program)], ROOT, tmp_path / "server.log", port=port)
    with wait as running, httpx.Client(timeout=PATIENCE, headers={"Host": "localhost"}) as client:
        assert client.get(running.address).status_code == 200
        refused = client.get(f"http://{other}:{port}/", headers={"Accept": "text/html"})
        forwarded = client.get(running.address, headers={"X-Forwarded-For": "192.0.2.7"})
    assert (refused.status_code, forwarded.status_code) == (403, 403)
    assert "This dashboard answers to its own machine only" in refused.text


def test_operator_who_knows__opens_it_to_others(tmp_path: Path) -> None:
    names = [word for name in ("127.0.0.1", "copse.example.org") for word in ("--server.allowedHosts", name)]
    command = [*COMMAND, "--i-know", *names]
    with serve(command, ROOT, tmp_path / "server.log") as running:
        headers = {"Host": "copse.example.org", "X-Forwarded-For": "192.0.2.7"}
        assert httpx.get(running.address, headers=headers, timeout=PATIENCE).status_code == 200
