"""A session with decisions on made-up people, and what is kept of it."""

from typing import Any

from anonymizer.schema import Role
from anonymizer.whatif.project import to_json
from ui.decisions.project_file import project_of
from ui.release.state import ReleaseState
from ui.workspace import Workspace

PEOPLE = ("name;age;dose;city;income\n" + "".join(
    f"Zebulon{n:03d};{20 + n % 50};{('low', 'medium', 'high')[n % 3]};Qcity{n % 4};{('poor', 'rich')[n % 2]}\n"
    for n in range(120)
)).encode()  # fmt: skip
DOUBT = b"a;d\n1.234;01/02/2024\n5.678;03/04/2024\n"


def people(*, decided: bool = True) -> Workspace:
    """A session with the people, and some decisions on them."""
    ws = Workspace()
    assert ws.bring(PEOPLE, "people.csv")
    if decided:
        ws.set_schema(ws.suggest())
        ws.remember()
        ws.set_schema(ws.suggest().with_column("city", role=Role.INSENSITIVE).with_column("age", domain=(0, 120)))
        ws.set(k=7)
        ws.remember()
        ws.state(ReleaseState).fill({"purpose": "a study of sleep", "approvers": "Ann, Ben"})
        ws.spend(1.5)
    return ws


def file_of(ws: Workspace) -> bytes:
    """The project file of a session."""
    return to_json(project_of(ws), ws.suggest()).encode()


def state(ws: Workspace) -> tuple[Any, ...]:
    return (ws.schema, ws.settings, ws.scenarios, ws.history, ws.state(ReleaseState).words, ws.spent)
