"""A folder served on the loopback address in the protocol of ``webhdfs://``, which is plain HTTP."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.waiting import PATIENCE


def status(path: Path, name: str) -> dict[str, Any]:
    kind = "DIRECTORY" if path.is_dir() else "FILE"
    return {"pathSuffix": name, "type": kind, "length": path.stat().st_size if path.is_file() else 0}


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Yield the address at which what is in a folder is served."""

    class Handler(BaseHTTPRequestHandler):
        """Answers the three questions that reading asks."""

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            ask = {key: values[0] for key, values in parse_qs(url.query).items()}
            path = folder / unquote(url.path).removeprefix("/webhdfs/v1").strip("/")
            if not path.exists():
                return self.answer(404, {"RemoteException": {"exception": "FileNotFoundException", "message": "none"}})
            if ask["op"] == "GETFILESTATUS":
                return self.answer(200, {"FileStatus": status(path, "")})
            if ask["op"] == "LISTSTATUS":
                inside = [status(one, one.name) for one in sorted(path.iterdir())]
                return self.answer(200, {"FileStatuses": {"FileStatus": inside}})
            start, length = int(ask["offset"]), int(ask["length"])
            return self.answer(200, path.read_bytes()[start : start + length])

        def answer(self, code: int, content: Any) -> None:
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"webhdfs://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)
