"""Signed packets: what a signature covers, who made it, and every way in which it does not hold."""

import json
import shutil
import stat
import subprocess
import zipfile
from base64 import b64decode, b64encode
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from anonymizer.cli.main import main
from anonymizer.digests import digest
from anonymizer.errors import ParameterError, ReadError
from anonymizer.provenance.signature import PAYLOAD_TYPE, Envelope, PublicKey, SigningKey, to_sign
from anonymizer.releasing.files import archive
from anonymizer.releasing.release import read_release
from anonymizer.reporting.packet import check_packet, packet_of
from anonymizer.reporting.packet_files import MANIFEST, SIGNATURE
from tests.cli.test_main import folder, make
from tests.reporting.test_packet import STATEMENT, findings, flow, members_of, packet

__all__ = ["folder"]

SEED = bytes(range(32))
KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(SEED))
OTHER = SigningKey(Ed25519PrivateKey.from_private_bytes(SEED[::-1]))


@cache
def sealed() -> bytes:
    return packet_of(flow().leaving, findings(), STATEMENT, "external", key=KEY)


def with_envelope(envelope: bytes) -> bytes:
    """The signed packet with another signature."""
    return archive({name: envelope if name == SIGNATURE else text for name, text in members_of(sealed()).items()})


def test_signature__is_of_every_file_and_of_what_can_be_computed_again() -> None:
    members = members_of(sealed())
    envelope = Envelope.of(members.pop(SIGNATURE))
    statement = json.loads(envelope.statement)
    assert {one["name"]: one["digest"]["sha256"] for one in statement["subject"]} == {
        name: digest(content) for name, content in members.items()
    }
    predicate = statement["predicate"]
    rows = read_release(members["data/release.csv"], flow().schema)
    smallest = rows.groupby(list(flow().schema.quasi_identifying), observed=True).size().min()
    assert (predicate["rows"], predicate["passed"], predicate["limits"]["k"]) == (160, True, 5)
    assert {one["name"]: one["achieved"] for one in predicate["checks"]}["k-anonymity"] == smallest
    assert [one["name"] for one in predicate["columns"]] == list(flow().schema.released)


def test_packet__signed_twice_is_the_same_file() -> None:
    assert packet_of(flow().leaving, findings(), STATEMENT, "external", key=KEY) == sealed()


def test_check__says_who_signed() -> None:
    without, right, wrong = (check_packet(sealed(), key=key) for key in (None, KEY.public, OTHER.public))
    assert (without.passed, without.signed_by) == (True, KEY.public.id)
    assert KEY.public.id in without.signature
    assert "takes the key" in without.signature
    assert right.passed
    assert KEY.public.groups in right.signature
    assert not wrong.passed
    assert OTHER.public.groups in wrong.sentence


def test_packet__without_a_signature_fails_where_a_key_is_given() -> None:
    assert check_packet(packet("external")).passed
    check = check_packet(packet("external"), key=KEY.public)
    assert not check.passed
    assert "not signed" in check.sentence


def test_packet__whose_signature_was_taken_out_is_not_whole() -> None:
    members = members_of(sealed())
    del members[SIGNATURE]
    assert not check_packet(archive(members)).passed


def test_packet__with_anything_changed_is_not_whole() -> None:
    members = members_of(sealed())
    envelope = Envelope.of(members[SIGNATURE])
    statement = json.loads(envelope.statement)
    statement["predicate"]["rows"] = 161
    more = {**json.loads(envelope.statement), "note": "anything"}
    changes = {
        "signed by somebody else": OTHER.sign(envelope.statement),
        "another statement": Envelope(json.dumps(statement).encode(), envelope.key_id, envelope.signature).to_json(),
        "another statement, signed": KEY.sign(json.dumps(statement, indent=2).encode()),
        "more in the statement, signed": KEY.sign(json.dumps(more, indent=2).encode()),
        "blanks": members[SIGNATURE] + b" ",
        "another field": members[SIGNATURE].replace(b'"payload":', b'"note": "anything", "payload":', 1),
        "two signatures": json.dumps(
            (lambda one: one | {"signatures": one["signatures"] * 2})(json.loads(members[SIGNATURE])), indent=2
        ).encode(),
        "no base64": members[SIGNATURE].replace(b'"payload": "', b'"payload": "*', 1),
        "another type": members[SIGNATURE].replace(PAYLOAD_TYPE.encode(), b"application/json", 1),
        "nothing": b"",
    }
    for what, content in changes.items():
        check = check_packet(with_envelope(content), key=KEY.public)
        assert not check.passed, what
        assert check.differences, what


def test_signature__of_another_packet_does_not_fit() -> None:
    inner = packet_of(flow().leaving, findings(), STATEMENT, "internal", key=KEY)
    assert check_packet(inner, key=KEY.public).passed
    assert not check_packet(with_envelope(members_of(inner)[SIGNATURE]), key=KEY.public).passed


def test_signature__stands_behind_the_manifest() -> None:
    assert zipfile.ZipFile(BytesIO(sealed())).namelist()[:2] == [MANIFEST, SIGNATURE]
    members = members_of(sealed())
    last = {name: content for name, content in members.items() if name != SIGNATURE} | {SIGNATURE: members[SIGNATURE]}
    assert not check_packet(archive(last), key=KEY.public).passed


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_signature__is_one_for_openssl(tmp_path: Path) -> None:
    envelope = Envelope.of(members_of(sealed())[SIGNATURE])
    public = Ed25519PrivateKey.from_private_bytes(SEED).public_key()
    (tmp_path / "key.pem").write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (tmp_path / "signature").write_bytes(envelope.signature)
    (tmp_path / "text").write_bytes(to_sign(envelope.statement))
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "text"]
    done = subprocess.run([*command, "-sigfile", "signature"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_to_sign__is_what_dsse_says() -> None:
    assert to_sign(b"hello world") == b"DSSEv1 28 application/vnd.in-toto+json 11 hello world"


def test_public_key__is_read_from_a_line_or_a_file() -> None:
    public = Ed25519PrivateKey.from_private_bytes(SEED).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert PublicKey.of(f" {KEY.public.text}\n") == PublicKey.of(pem) == KEY.public
    assert KEY.public.groups.replace(" ", "")[:16] == KEY.public.id == digest(KEY.public.data)[:16]
    for text in ("", "key", KEY.public.text[:-4], b64encode(bytes(33)).decode(), "é" * 44):
        with pytest.raises(ParameterError):
            PublicKey.of(text)


def test_private_key__is_opened_by_its_password_alone() -> None:
    pem = KEY.to_pem("a long password")
    assert SEED not in b64decode(b"".join(pem.splitlines()[1:-1]))
    assert SigningKey.of(pem, "a long password").public == KEY.public
    rsa = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for content, word in ((pem, "another"), (pem, ""), (b"no key", "word"), (pem[:80], "a long password"), (rsa, "")):
        with pytest.raises(ParameterError) as caught:
            SigningKey.of(content, word)
        assert caught.value.remedy
    with pytest.raises(ParameterError):
        KEY.to_pem("")


def test_envelope__of_another_file_is_refused() -> None:
    for content in (b"", b"{}", b"[]", b'{"payloadType": 1}', b"\xff"):
        with pytest.raises(ReadError):
            Envelope.of(content)


@pytest.mark.usefixtures("folder")
def test_command__makes_a_key_signs_and_checks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COPSE_KEY_PASSWORD", "a long password")
    assert main(["key", "new", "own.pem"]) == 0
    output = capsys.readouterr().out
    line = next(one.split()[-1] for one in output.splitlines() if one.startswith("Public key"))
    assert stat.S_IMODE(Path("own.pem").stat().st_mode) == 0o600
    assert main(["key", "show", "own.pem"]) == 0
    assert line in capsys.readouterr().out
    assert main(["key", "new", "own.pem"]) == 2
    assert "is there already" in capsys.readouterr().err

    assert make("--packet", "release.zip", "--sign", "own.pem") == 0
    capsys.readouterr()
    assert main(["verify", "release.zip", "--key", line]) == 0
    assert "signed it." in capsys.readouterr().out
    assert main(["verify", "release.zip", "--key", OTHER.public.text]) == 1
    assert "is not signed with key" in capsys.readouterr().out
    Path("public.txt").write_text(f"{line}\n")
    assert main(["verify", "release.zip", "--key", "public.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["signed_by"] == PublicKey.of(line).id


def test_command__shows_no_key_that_the_file_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.pem"
    monkeypatch.setenv("COPSE_KEY_PASSWORD", "a long password")
    monkeypatch.setattr("anonymizer.cli.key.write_once", lambda path, _: path.write_bytes(b"another's"))
    assert main(["key", "new", str(path)]) == 2
    printed = capsys.readouterr()
    assert "is there already" in printed.err
    assert "Public key" not in printed.out


def test_command__says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.pem").write_bytes(KEY.to_pem("a long password"))
    Path("table.csv").write_text("age,ill\n" + "1,a\n" * 20)
    monkeypatch.delenv("COPSE_KEY_PASSWORD", raising=False)
    run = ["anonymize", "table.csv", "--quasi-identifying", "age", "--sensitive", "ill", "--sign"]
    commands = {
        "nobody can be asked": [*run, "own.pem", "--packet", "release.zip"],
        "none is asked for": [*run, "own.pem"],
        "own.pem is no public key": ["verify", "release.zip", "--key", "own.pem"],
        "--key speaks of one file": ["verify", "table.csv", "table.csv", "--key", KEY.public.text],
        "--key is of a packet": ["verify", "table.csv", "--key", KEY.public.text, "--quasi-identifying", "age"],
    }
    Path("release.zip").write_bytes(sealed())
    for sentence, words in commands.items():
        assert main(words) == 2, words
        assert sentence in capsys.readouterr().err
    monkeypatch.setenv("COPSE_KEY_PASSWORD", "another")
    assert main([*run, "own.pem", "--packet", "other.zip"]) == 2
    assert "cannot be opened" in capsys.readouterr().err
    assert not Path("other.zip").exists()
