"""A page of a browser without the browser: it speaks the framework's protocol over a WebSocket, as Chromium would.

Light enough that twenty of them measure the server and not themselves. It keeps the elements of the page that is drawn,
answers as widgets do, and draws parts again that ask for it.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import requests
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect

from tests.waiting import PATIENCE

STREAM = "/_stcore/stream"
HEALTH = "/_stcore/health"
FULL = "No place is free"
"""What a page says that cannot be opened now."""


class Refusal(Exception):
    """The page says that it does not let anybody in: why, in its own words."""


class Visitor:
    """One page that is open. ``elements``: what is drawn, by place. ``texts``: every sentence that was ever drawn."""

    def __init__(self, address: str, patience: float = PATIENCE) -> None:
        self.address, self.patience = address, patience
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.headers["Origin"] = address
        self.http.get(address, timeout=patience)  # the cookie that names this browser
        self.http.get(address + HEALTH, timeout=patience)  # and the framework's own
        self.elements: dict[tuple[int, ...], Any] = {}
        self.texts: list[str] = []
        self.states: dict[str, WidgetState] = {}
        self.pages: dict[str, str] = {}
        self.page = self.session = ""
        self._part_of: dict[tuple[int, ...], str] = {}
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.http.cookies)
        self.stack = ExitStack()
        self.line = self.stack.enter_context(connect(
            address.replace("http", "ws", 1) + STREAM, origin=address, max_size=None,  # type: ignore[arg-type]
            subprotocols=["streamlit", "none"],  # type: ignore[list-item]
            additional_headers={"Cookie": cookies}, open_timeout=patience, proxy=None, compression=None,
        ))  # fmt: skip

    def __enter__(self) -> "Visitor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the page, as a browser does."""
        self.line.close(1001)
        self.stack.close()
        self.http.close()

    # What is drawn.

    def element(self, kind: str, label: str) -> Any:
        """The first element of a kind whose label begins so; raises :class:`LookupError` when there is none."""
        for _, element in sorted(self.elements.items()):
            if element.WhichOneof("type") == kind and getattr(element, kind).label.startswith(label):
                return getattr(element, kind)
        raise LookupError(f"no {kind} {label!r} among {self.words()}")

    def words(self) -> list[str]:
        """What is written on the page, in its order, without Markdown's escapes."""
        texts = (words_of(element) for _, element in sorted(self.elements.items()))
        return [words.replace("\\", "") for words in texts if words]

    def shows(self, words: str) -> bool:
        """Whether these words stand on the page."""
        return any(words in line for line in self.words())

    # What a person does.

    def open(self, path: str = "") -> float:
        """Go to a page of this dashboard; seconds until it is drawn."""
        request = ClientState(page_name=path) if path not in self.pages else None
        if request is None:
            self.page = self.pages[path]
            request = ClientState(page_script_hash=self.page)
        return self.run(request)

    def click(self, label: str) -> float:
        """Press a button; seconds until the page is drawn."""
        return self.change(self.element("button", label).id, once=True, trigger_value=True)

    def move(self, label: str, value: float) -> float:
        """Let go of a slider's thumb; seconds until the page is drawn."""
        state = WidgetState(id=self.element("slider", label).id)
        state.double_array_value.data.append(value)
        return self.put(state)

    def upload(self, data: bytes, name: str) -> float:
        """Drop a file on the page; seconds until what it led to is drawn."""
        began = time.perf_counter()
        widget = self.element("file_uploader", "").id
        request = BackMsg()
        request.file_urls_request.request_id = "1"
        request.file_urls_request.session_id = self.session
        request.file_urls_request.file_names.append(name)
        self.line.send(request.SerializeToString())
        urls = self.receive(lambda message: message.HasField("file_urls_response")).file_urls_response.file_urls[0]
        token = self.http.cookies.get("_streamlit_xsrf", "")
        answer = self.http.put(
            f"{self.address}/{urls.upload_url.lstrip('/')}", files={"file": (name, data)},
            headers={"X-Xsrftoken": token}, timeout=self.patience,
        )  # fmt: skip
        answer.raise_for_status()
        state = WidgetState(id=widget)
        file = state.file_uploader_state_value.uploaded_file_info.add(name=name, size=len(data), file_id=urls.file_id)
        file.file_urls.CopyFrom(urls)
        self.put(state)
        return time.perf_counter() - began

    def choose(self, label: str, option: str) -> float:
        """Take an option of a select box; seconds until the page is drawn."""
        return self.change(self.element("selectbox", label).id, string_value=option)

    def change(self, widget: str, *, once: bool = False, **value: Any) -> float:
        """Set a widget, ``once``: for this time only; seconds until the page is drawn."""
        return self.put(WidgetState(id=widget, **value), once=once)

    def put(self, state: WidgetState, *, once: bool = False) -> float:
        """Set the state of a widget; seconds until the page is drawn."""
        before = dict(self.states)
        self.states[state.id] = state
        try:
            return self.run(self.request_of(state.id))
        finally:
            if once:
                self.states = before

    def request_of(self, widget: str) -> ClientState:
        """What is asked when a widget changes: the part that it stands in, or the whole page."""
        places = [place for place, element in self.elements.items() if id_of(element) == widget]
        return ClientState(page_script_hash=self.page, fragment_id=self._part_of[places[0]])

    # What goes over the line.

    def send(self, request: ClientState) -> None:
        """Ask for the page, or a part of it."""
        request.widget_states.widgets.extend(self.states.values())
        request.context_info.timezone = "UTC"
        request.context_info.url = self.address
        message = BackMsg()
        message.rerun_script.CopyFrom(request)
        self.line.send(message.SerializeToString())

    def run(self, request: ClientState) -> float:
        """Ask, and wait until the page is drawn; seconds that it took. Raises :class:`Refusal`."""
        began = time.perf_counter()
        self.send(request)
        finished = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
        self.receive(lambda m: m.WhichOneof("type") == "script_finished" and m.script_finished in finished)
        took = time.perf_counter() - began
        if self.shows(FULL):
            raise Refusal(" ".join(self.words()))
        return took

    def receive(self, fits: Callable[[ForwardMsg], bool], seconds: float | None = None) -> ForwardMsg:
        """Take messages until one fits, and return it; raises :class:`TimeoutError`."""
        until = time.perf_counter() + (self.patience if seconds is None else seconds)
        while True:
            data = self.line.recv(timeout=max(0.0, until - time.perf_counter()))
            message = ForwardMsg()
            message.ParseFromString(data)  # type: ignore[arg-type]
            self.take(message)
            if fits(message):
                return message

    def take(self, message: ForwardMsg) -> None:
        """Draw what a message says."""
        kind = message.WhichOneof("type")
        if kind == "new_session":
            new = message.new_session
            self.session, self.page = new.initialize.session_id or self.session, new.page_script_hash
            if not message.metadata.run.fragment_ids:
                self.elements, self._part_of = {}, {}
        elif kind == "navigation":
            self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            self.page = message.navigation.page_script_hash
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            place = tuple(message.metadata.delta_path)
            self.elements[place] = message.delta.new_element
            self._part_of[place] = message.delta.fragment_id
            self.texts.append(words_of(message.delta.new_element))
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_transient":
            self.texts.extend(map(words_of, message.delta.new_transient.elements))


def words_of(element: Any) -> str:
    """What an element says, in a line; "" where it says nothing."""
    kind = element.WhichOneof("type")
    if kind is None:
        return ""
    value = getattr(element, kind)
    parts: Iterable[str] = (str(getattr(value, name, "")) for name in ("body", "text", "label"))
    return " ".join(filter(None, parts))


def id_of(element: Any) -> str:
    """The id of a widget; "" of anything else."""
    kind = element.WhichOneof("type")
    return "" if kind is None else str(getattr(getattr(element, kind), "id", ""))
