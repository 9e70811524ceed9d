"""What a timer asks for waits while something else is due on its page."""

import asyncio

import pytest
from starlette.types import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ui.server.timers import LARGEST, Page


def asks(timer: bool = False) -> Message:
    """What a browser sends when its page is to be drawn, by a timer or by somebody."""
    ask = BackMsg()
    ask.rerun_script.is_auto_rerun = timer
    ask.rerun_script.fragment_id = "clock" if timer else ""
    return {"type": "websocket.receive", "bytes": ask.SerializeToString()}


def says(kind: str) -> Message:
    """What a server sends when it begins, or ends, to draw a page."""
    message = ForwardMsg()
    if kind == "begins":
        message.new_session.SetInParent()
    else:
        message.script_finished = ForwardMsg.ScriptFinishedStatus.Value(kind)
    return {"type": "websocket.send", "bytes": message.SerializeToString()}


def passed(*messages: Message) -> list[Message]:
    """Which of these messages, in this order, are passed on."""
    waiting = list(messages)
    through: list[Message] = []

    async def take() -> Message:
        while waiting and waiting[0]["type"] == "websocket.send":
            await page.send(waiting.pop(0))
        return waiting.pop(0) if waiting else {"type": "websocket.disconnect"}

    async def send(message: Message) -> None:
        through.append(message)

    async def talk() -> None:
        while (message := await page.receive())["type"] != "websocket.disconnect":
            through.append(message)

    page = Page(take, send)
    asyncio.run(talk())
    return through


BEGINS, ENDS, EARLY = says("begins"), says("FINISHED_SUCCESSFULLY"), says("FINISHED_EARLY_FOR_RERUN")
CLICK, TIMER = asks(), asks(timer=True)


@pytest.mark.parametrize(
    "before", [(CLICK,), (CLICK, BEGINS), (BEGINS,), (BEGINS, EARLY), (CLICK, BEGINS, EARLY, BEGINS)]
)
def test_a_timer__waits_while_something_is_due(before: tuple[Message, ...]) -> None:
    assert passed(*before, TIMER, CLICK) == [*before, CLICK]


@pytest.mark.parametrize("before", [(), (CLICK, BEGINS, ENDS), (BEGINS, EARLY, BEGINS, ENDS)])
def test_a_timer__is_heard_when_nothing_is(before: tuple[Message, ...]) -> None:
    assert passed(*before, TIMER) == [*before, TIMER]


def test_a_request_that_no_drawing_follows__is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.server.timers.FORGOTTEN", -1.0)
    assert passed(CLICK, TIMER) == [CLICK, TIMER]


@pytest.mark.parametrize("content", [b"\xff\xff\xff", b"", None, b"x" * (LARGEST + 1)])
def test_other_messages__are_passed_on_as_they_are(content: bytes | None) -> None:
    messages = [{"type": f"websocket.{kind}", "bytes": content} for kind in ("receive", "send")]
    if content == b"\xff\xff\xff":  # a server sends nothing that it cannot read itself
        messages.pop()
    assert passed(*messages, CLICK) == [*messages, CLICK]
