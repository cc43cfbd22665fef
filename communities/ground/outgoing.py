"""HTTP sessions with the platforms, and with hosts of pictures.

Webhooks have the same rules (rule 9.14): only https and only public addresses, which `addresses.connect`
checks. Redirects are not followed, and proxies of the environment are not used. The host of a BASE_URL may
have any address.
"""

from __future__ import annotations

import functools
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from requests.adapters import HTTPAdapter
from urllib3 import PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError, NewConnectionError

from communities.ground.addresses import connect

TIMEOUT = 5.0  # In seconds: for connecting, for each wait for bytes, and for the whole body.
BOT_TIMEOUT = (3.0, 10.0)  # The bot's limits in seconds: for connecting, and for each wait for bytes.
BOT_CONNECTIONS = 8  # A process keeps at most this many connections open.
MAX_BODY_BYTES = 1024 * 1024
# In seconds: the limit of each wait and of the whole body. `time_limit` limits all waits together.
_SECONDS_FOR_PICTURES = 15.0
_CHAT = "https://discord.com"


def session() -> requests.Session:
    """A session that obeys the rules above. Its errors are `requests.RequestException`."""
    return _Session([each.base_url for each in settings.SIGN_IN_PROVIDERS.values() if each.base_url], TIMEOUT)


def session_of_bot(base_url: str) -> requests.Session:
    """Return a session for the bot. Its `base_url` may have any address, unless it is the platform's own
    address.

    Threads may share the session: it stores no cookies, and its connections are safe to share.
    """
    anywhere = [] if _origin(base_url) == _CHAT else [base_url]
    session = _Session(anywhere, BOT_TIMEOUT, pool_size=BOT_CONNECTIONS)
    session.headers["User-Agent"] = _user_agent_of_chat()
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return session


def session_of_pictures() -> requests.Session:
    """Return a session for files whose address anybody may choose: on public hosts, and on private hosts if
    the settings allow them.

    Raises TooLong for a file of more than PICTURE_BYTES. Use the session within a `time_limit`.
    """
    anywhere = ["http://", "https://"] if settings.PICTURES_ALLOW_PRIVATE_NETWORKS else []
    session = _Session([], _SECONDS_FOR_PICTURES, max_bytes=settings.PICTURE_BYTES, anywhere_below=anywhere)
    session.headers["Accept"] = "image/webp, image/png, image/jpeg, image/gif"
    return session


class TooLong(requests.ConnectionError):
    """The body of a response is longer than its session allows."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Close the connections of this thread after a time, and then raise TimeoutError.

    A timeout alone is not enough, because a host may send a byte now and then.
    """
    limit = _TimeLimit(seconds)
    token = _time_limit.set(limit)
    try:
        yield
    except requests.RequestException:
        if limit.is_over:
            raise TimeoutError from None
        raise
    finally:
        _time_limit.reset(token)
        limit.close()
    if limit.is_over:  # The data may be incomplete.
        raise TimeoutError


class _TimeLimit:
    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.is_over = seconds <= 0
        self._timer = threading.Timer(max(seconds, 0), self._end)
        self._timer.daemon = True
        self._timer.start()

    @property
    def remaining(self) -> float:
        return max(0.001, self._ends_at - time.monotonic())

    def watch(self, connected: socket.socket) -> None:
        """Shut this connection down when the time is over, even after TLS has taken over its socket."""
        with self._lock:
            if self.is_over:
                raise TimeoutError
            self._sockets.append(connected.dup())

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            while self._sockets:
                self._sockets.pop().close()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            for each in self._sockets:
                with suppress(OSError):  # The host may have closed the connection.
                    each.shutdown(socket.SHUT_RDWR)


_time_limit: ContextVar[_TimeLimit | None] = ContextVar("time_limit", default=None)


class _Session(requests.Session):
    def __init__(
        self,
        anywhere: Sequence[str],
        timeout: float | tuple[float, float],
        *,
        pool_size: int = 1,
        max_bytes: int = MAX_BODY_BYTES,
        anywhere_below: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.trust_env = False
        self.headers.update(
            {"User-Agent": f"Colloquy/1.0 ({settings.BASE_URL})", "Accept-Encoding": "identity"}
        )
        self._timeout = timeout
        self.adapters.clear()
        self.mount("https://", _Adapter(_PublicPools, pool_size, max_bytes))
        for each in (*(f"{_origin(each)}/" for each in anywhere), *anywhere_below):
            self.mount(each, _Adapter(_AnyPools, pool_size, max_bytes))

    def request(self, method: str, url: str, **kwargs: Any) -> requests.Response:  # type: ignore[override]
        if _origin(url) in _origins_of_chat():
            kwargs["headers"] = {**(kwargs.get("headers") or {}), "User-Agent": _user_agent_of_chat()}
        return super().request(method, url, **kwargs | {"timeout": self._timeout, "allow_redirects": False})


class _Adapter(HTTPAdapter):
    def __init__(self, pools: type[PoolManager], pool_size: int, max_bytes: int) -> None:
        self._pools, self._pool_size, self._max_bytes = pools, pool_size, max_bytes
        super().__init__()

    def init_poolmanager(self, *_: Any, **__: Any) -> None:
        self.poolmanager = self._pools(num_pools=2, maxsize=self._pool_size, ssl_context=_tls())

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """Do nothing: the TLS context decides whom to trust."""
        conn.cert_reqs = "CERT_REQUIRED"

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        response = super().send(request, *args, **kwargs)
        try:
            response._content = _body(response.raw, max_bytes=self._max_bytes)
            # With this attribute, closing the response keeps the connection for the next request.
            response._content_consumed = True
        except TooLong:
            raise
        except (HTTPError, OSError) as failure:
            raise requests.ConnectionError(failure, request=request) from failure
        finally:
            response.close()
        return response


def _body(raw: Any, *, max_bytes: int) -> bytes:
    seconds = limit.remaining if (limit := _time_limit.get()) else TIMEOUT
    body, ends_at = bytearray(), time.monotonic() + seconds
    while part := raw.read1(64 * 1024, decode_content=False):
        body += part
        if len(body) > max_bytes:
            raise TooLong("The response is too long.")
        if time.monotonic() > ends_at:
            raise HTTPError("The response is too slow.")
    return bytes(body)


class _Checked:
    """Connects to an address that was checked before. The address is public, unless private addresses are
    allowed.
    """

    allows_private: bool

    def _new_conn(self: Any) -> socket.socket:
        seconds = _seconds_to_connect(self)
        try:
            plain = connect(self._dns_host, self.port, allow_private=self.allows_private, seconds=seconds)
        except OSError as failure:
            raise NewConnectionError(self, str(failure)) from failure
        # The timeout is for TLS. All other waits have the timeout of one address.
        plain.settimeout(_seconds_to_connect(self))
        if limit := _time_limit.get():
            limit.watch(plain)
        return plain


class _PublicConnection(_Checked, HTTPSConnection):
    allows_private = False


class _AnyConnection(_Checked, HTTPConnection):
    allows_private = True


class _AnySecureConnection(_Checked, HTTPSConnection):
    allows_private = True


class _PublicPool(HTTPSConnectionPool):
    ConnectionCls = _PublicConnection


class _AnyPool(HTTPConnectionPool):
    ConnectionCls = _AnyConnection


class _AnySecurePool(HTTPSConnectionPool):
    ConnectionCls = _AnySecureConnection


class _PublicPools(PoolManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pool_classes_by_scheme = {"https": _PublicPool}


class _AnyPools(PoolManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pool_classes_by_scheme = {"http": _AnyPool, "https": _AnySecurePool}


def _seconds_to_connect(connection: Any) -> float:
    seconds = float(connection.timeout) if isinstance(connection.timeout, int | float) else TIMEOUT
    limit = _time_limit.get()
    return min(seconds, limit.remaining) if limit else seconds


@functools.cache
def _tls() -> ssl.SSLContext:
    """Return the TLS context, read once. It trusts the system's certificates, or the certificates in
    SSL_CERT_FILE.
    """
    return ssl.create_default_context()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _origins_of_chat() -> set[str]:
    """The origins of the chat platform, which requires a user agent in a certain format."""
    provider = settings.SIGN_IN_PROVIDERS.get("chat")
    own = {_origin(provider.base_url)} if provider and provider.base_url else set()
    return {_CHAT, *own}


def _user_agent_of_chat() -> str:
    return f"DiscordBot ({settings.BASE_URL}, 1.0) Colloquy/1.0"
