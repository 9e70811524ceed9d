"""Streamlit behind one door: what the dashboard imports of it beyond its public names comes from here alone.

``tests/server/test_framework.py`` looks for each of these names, for what is used of their objects, and for the
elements that the style sheet and the scripts speak of, so that a version of Streamlit without one fails in one place.
"""

from collections.abc import Callable, Collection
from typing import Any

from streamlit.auth_util import encode_provider_token, get_cookie_with_chunks
from streamlit.config import set_option
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime, exists, get_instance, media_file_manager
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state import SessionState
from streamlit.web import bootstrap, cli
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

__all__ = [
    "USER_COOKIE_NAME", "AppSession", "BackMsg", "DeltaGenerator", "ForwardMsg", "Runtime", "app_session",
    "decode_signed_value", "delete_files", "drop_uploads", "encode_provider_token", "forget_widgets_but",
    "get_cookie_secret", "get_cookie_with_chunks", "get_instance", "headers_of", "media_file_manager", "running",
    "serve", "session_of_click", "session_name", "set_option", "widgets_drawn",
]  # fmt: skip


def serve(words: list[str], before: Callable[[], None]) -> None:
    """Serve ``app.py`` until it is stopped. ``words``: options of Streamlit; ``before``: called when they are known,
    before anything is printed."""
    own = bootstrap.run_asgi_app

    def run(*values: Any) -> None:
        before()
        own(*values)

    bootstrap.run_asgi_app = run
    cli.main(["run", "app.py", *words], prog_name="copse app")


def running() -> Any:
    """Return what the framework knows of the drawing that this thread does; ``None`` outside of one."""
    return get_script_run_ctx(suppress_warning=True)


def session_name() -> str:
    """Return what the framework calls the running session; "" outside of one."""
    context = running()
    return "" if context is None else str(context.session_id)


def app_session() -> AppSession | None:
    """Return the running session; ``None`` outside of one, and where nothing is served."""
    name = session_name()
    return get_instance().get_app_session(name) if exists() and name else None


def widgets_drawn() -> Collection[str]:
    """Return the names of the widgets that the running drawing has drawn so far."""
    names: Collection[str] = running().shared.widget_ids_this_run.snapshot()
    return names


def forget_widgets_but(state: SessionState, here: Collection[str]) -> None:
    """Forget what the widgets of a session with this state offered, but for those named ``here``."""
    metadata = state._new_widget_state.widget_metadata
    for name in [name for name in metadata if name not in here]:
        del metadata[name]


def drop_uploads() -> None:
    """Remove all files that were uploaded in the running session from the framework's memory: they were read."""
    context = running()
    if context is not None:
        context.uploaded_file_mgr.remove_session_files(context.session_id)


def headers_of(session: str) -> Collection[tuple[str, str]]:
    """Return the headers with which the page of a session connected, as pairs; none where it is not connected."""
    client = get_instance().get_client(session)
    context = client.client_context if client is not None else None
    return () if context is None else context.headers  # type: ignore[return-value]


def session_of_click(files: Any, file: str) -> str:
    """Return the session for whose click a file of a manager of files is made; "" where it is not known."""
    entry = files._deferred_callables.get(file)
    return str(entry["session_id"]) if entry else ""


def delete_files(may_go: Callable[[Any], bool]) -> None:
    """Delete every file that no page offers and for which ``may_go``, of what is known of it, is true."""
    if not exists():
        return
    manager = get_instance().media_file_mgr
    with manager._lock:
        for file in manager._get_inactive_file_ids():
            if may_go(manager._file_metadata[file]):
                manager._delete_file(file)
