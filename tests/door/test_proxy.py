"""Behind nginx with TLS, set up as docs/OPERATING.md says."""

import datetime
import ipaddress
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from playwright.sync_api import Browser, expect

from tests.browser.steps import download, drop, listen, settle, step
from tests.browser.test_forgotten import MARK, canaries
from tests.conftest import ROOT, free_port, patient
from tests.door.provider import run_provider
from tests.door.signing_in import Guarded, serve_guarded
from tests.server import scan
from tests.test_docs import blocks
from tests.waiting import PATIENCE, wait_until

AROUND = """
daemon off; pid FOLDER/pid; error_log FOLDER/error.log;
events {}
http {
    client_body_temp_path FOLDER/body; proxy_temp_path FOLDER/proxy; fastcgi_temp_path FOLDER/fastcgi;
    uwsgi_temp_path FOLDER/uwsgi; scgi_temp_path FOLDER/scgi;
    SITE
}
"""


def certify(folder: Path) -> None:
    """Write a certificate for 127.0.0.1 that nobody but this test believes."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(1))
        .not_valid_after(now + datetime.timedelta(1)).add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "copse.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "copse.key").write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Guarded]:
    """A dashboard with a login, as nginx serves it by TLS."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin") or shutil.which("nginx")
    if nginx is None:
        pytest.skip("there is no nginx here")
    port = free_port()
    folder = tmp_path / "nginx"
    folder.mkdir()
    certify(folder)
    with run_provider() as provider, serve_guarded(tmp_path, provider, f"https://127.0.0.1:{port}") as guarded:
        own = re.search(r"http://127\.0\.0\.1:(\d+)", guarded.log.read_text("utf-8"))
        assert own
        (site,) = blocks(ROOT / "docs" / "OPERATING.md", "nginx")
        changes = {
            "listen 443": f"listen 127.0.0.1:{port}", "http://127.0.0.1:8501": f"http://127.0.0.1:{own[1]}",
            "/etc/ssl": str(folder), "copse.example.org": "127.0.0.1",
        }  # fmt: skip
        for old, new in changes.items():
            assert old in site
            site = site.replace(old, new)
        (folder / "nginx.conf").write_text(AROUND.replace("SITE", site).replace("FOLDER", str(folder)), "utf-8")
        server = subprocess.Popen([nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")])
        try:
            wait_until((folder / "pid").is_file)
            yield guarded
        finally:
            server.terminate()
            server.wait(PATIENCE)


def test_dashboard__works_behind_a_proxy_with_tls(proxied: Guarded, browser: Browser, tmp_path: Path) -> None:
    stranger = httpx.get(proxied.address, verify=False, timeout=PATIENCE)
    assert stranger.status_code == 401
    context = patient(browser.new_context(ignore_https_errors=True, accept_downloads=True))
    page = context.new_page()
    listen(page)
    page.goto(proxied.address)
    page.get_by_role("link", name="Sign in").click()
    page.get_by_role("link", name="ana", exact=True).click()
    expect(step(page, "Data")).to_be_visible()
    drop(page, canaries(), "people.csv")
    expect(page.get_by_role("heading", name="people.csv")).to_be_visible()
    for title in ("Roles", "Tree", "Release"):
        step(page, title).click()
        settle(page)
    assert download(page, "CSV", tmp_path).stat().st_size > 0
    cookies = [cookie for cookie in context.cookies() if cookie["domain"] == "127.0.0.1"]
    assert {"_streamlit_user", "copse_browser"} <= {cookie["name"] for cookie in cookies}
    assert [cookie["name"] for cookie in cookies if not cookie["secure"]] == []
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("Sign in first: ")).to_be_visible()
    assert scan.in_folder(tmp_path / "nginx", MARK) == []
    assert MARK not in proxied.log.read_text("utf-8")
    context.close()
