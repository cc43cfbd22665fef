"""The least HTTP client that does it: kept-alive sockets, cookies, forms. Its CPU time is not counted."""

import html
import itertools
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

import orjson

SECONDS_TO_WAIT = 60
_FORM = re.compile(rb"<form\b([^>]*)>(.*?)</form>", re.DOTALL | re.IGNORECASE)
_INPUT = re.compile(rb"<(?:input|button|select|textarea)\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"([a-zA-Z_:-]+)(?:\s*=\s*\"([^\"]*)\")?")


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, object]:
        answer = orjson.loads(self.body)
        assert isinstance(answer, dict)
        return answer


class Failed(Exception):
    """The server answered with something else than was asked for."""


class Connection:
    """One socket, opened again if the server has closed it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._socket: socket.socket | None = None
        self._rest = b""

    def send(self, request: bytes) -> Reply:
        for attempt in (1, 2):
            try:
                if self._socket is None:
                    self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS_TO_WAIT)
                    self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._socket.sendall(request)
                return self._read()
            except (ConnectionError, EOFError):  # closed while idle
                self.close()
                if attempt == 2:
                    raise
        raise AssertionError

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._rest = None, b""

    def _read(self) -> Reply:
        head = self._until(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        cookies: dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            name = name.lower()
            headers[name] = value.strip()
            if name == "set-cookie":
                key, _, cookie = value.strip().partition("=")
                cookies[key] = cookie.partition(";")[0]
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self._exactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.close()
        return Reply(int(lines[0].split()[1]), headers, cookies, body)

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self._until(b"\r\n"), 16):
            yield self._exactly(size)
            self._exactly(2)
        self._until(b"\r\n")

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._rest:
            self._more()
        found, _, self._rest = self._rest.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._more()
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def _more(self) -> None:
        assert self._socket is not None
        received = self._socket.recv(262_144)
        if not received:
            raise EOFError
        self._rest += received


class Client:
    """A caller of one server, over a few connections in turn, so that every worker process gets its share."""

    def __init__(self, port: int, *, connections: int = 4) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self._host = f"127.0.0.1:{port}".encode()
        self._connections = itertools.cycle([Connection(port) for _ in range(connections)])

    def call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        expect: int = 200,
    ) -> Reply:
        lines = [f"{method} {path} HTTP/1.1\r\nHost: ".encode(), self._host]
        if body:
            lines.append(f"\r\nContent-Length: {len(body)}".encode())
        lines += [f"\r\n{name}: {value}".encode() for name, value in (headers or {}).items()]
        reply = next(self._connections).send(b"".join([*lines, b"\r\n\r\n", body]))
        if reply.status != expect:
            told = reply.body[:600].decode(errors="replace")
            raise Failed(f"{method} {path} answered {reply.status} instead of {expect}: {told}")
        return reply


@dataclass
class Form:
    """A page's form: its address and its values."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)

    def filled(self, answer: int) -> bytes:
        """The body of the request, with one of the choices of each group, by number."""
        chosen = {name: values[answer % len(values)] for name, values in self.choices.items()}
        return urlencode({**self.fields, **chosen}).encode()


def form_in(page: bytes, *, at: str) -> Form:
    """The first posting form of a page that was read at a path."""
    for attributes, inside in _FORM.findall(page):
        told = _attributes(attributes)
        if told.get("method", "get").lower() == "post":
            form = Form(told.get("action") or at)
            for tag in _INPUT.findall(inside):
                _note(form, _attributes(tag))
            return form
    raise Failed(f"No form was found in the page {at}.")


def _note(form: Form, tag: dict[str, str]) -> None:
    name, kind = tag.get("name"), tag.get("type", "text")
    if not name:
        return
    if kind in {"radio", "checkbox"}:
        form.choices.setdefault(name, []).append(tag.get("value", "on"))
    elif kind != "submit" and kind != "button":
        form.fields[name] = tag.get("value", "")


def _attributes(tag: bytes) -> dict[str, str]:
    return {name.decode().lower(): html.unescape(value.decode()) for name, value in _ATTRIBUTE.findall(tag)}


class Visitor:
    """Somebody with a browser of their own."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._cookies: dict[str, str] = {}

    def over(self, client: Client) -> "Visitor":
        """The same visitor, on another's connections."""
        self._client = client
        return self

    def get(self, path: str, *, expect: int = 200) -> Reply:
        return self._call("GET", path, expect=expect)

    def post(self, form: Form, *, answer: int = 0, expect: int = 200) -> Reply:
        """Send a form like the page's own script, so the response has only the changed part."""
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "HX-Request": "true",
            "Origin": self._client.origin,
        }
        return self._call("POST", form.action, form.filled(answer), headers=headers, expect=expect)

    def _call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        expect: int,
    ) -> Reply:
        sent = dict(headers or {})
        if self._cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        reply = self._client.call(method, path, body, headers=sent, expect=expect)
        self._cookies.update(reply.cookies)
        return reply
