"""A host of pictures: a real HTTP server on 127.0.0.1 with scripted responses."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


@dataclass(frozen=True)
class Served:
    """A response of the host. `drip` is the number of seconds between two bytes of its head and body."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: float = 0.0


class PictureHost:
    """The server. `served` are its responses by path, `asked` are the requested paths."""

    def __init__(self) -> None:
        self.served: dict[str, Served] = {}
        self.asked: list[str] = []
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host.asked.append(self.path)
                host.answer(self, host.served.get(self.path, Served(status=404)))

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def serve(self, path: str, body: bytes = b"", **options: object) -> str:
        """Serve a file from now on, and return its address."""
        self.served[path] = Served(body, **options)  # type: ignore[arg-type]
        return f"{self.url}{path}"

    def answer(self, request: BaseHTTPRequestHandler, served: Served) -> None:
        headers = {"Content-Length": str(len(served.body)), **served.headers}
        head = f"HTTP/1.1 {served.status} Spoken\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        sent = f"{head}\r\n".encode() + served.body
        request.close_connection = True
        try:
            if not served.drip:
                request.connection.sendall(sent)
                return
            for n in range(len(sent)):
                request.connection.sendall(sent[n : n + 1])
                time.sleep(served.drip)
        except OSError:  # the client has closed the connection
            pass

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
