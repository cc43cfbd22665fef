"""Fetching pictures in a worker. No page waits for the code here.

Each community has one picture fetched at a time, and communities take turns. So slow hosts of one community
do not delay the pictures of others.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urljoin

import requests
from django.conf import settings
from django.db import models
from django.utils import timezone

from communities.ground import outgoing as connections
from communities.ground import web_addresses
from communities.ground.errors import Unavailable
from communities.ground.queue import wake
from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction
from communities.ground.web_addresses import BadAddress
from communities.models import Picture
from communities.models.picture import random_name
from communities.services.pictures import copies, encoding, space
from communities.services.pictures.copies import FETCH
from communities.services.pictures.encoding import EncodedPicture, NotAPicture

SECONDS = 15.0  # The limit for one picture, with redirects.
LEASE = timedelta(minutes=2)
SECONDS_TO_WAIT = 60.0  # A worker waits this long for other pictures that its process encodes.
WAITS = (timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1), timedelta(hours=6))
AT_ONCE = 2  # A process fetches at most this many pictures at a time, so that webhooks have threads, too.
SECONDS_OF_A_RUN = 30
MAX_REDIRECTS = 3
MAX_PICTURES = 2_000  # A community has at most this many pictures; no more are fetched or uploaded.

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAY_PASS = frozenset({408, 425, 429})  # After these statuses below 500, a retry may succeed.
_free = threading.BoundedSemaphore(AT_ONCE)

_CLAIM = """
    UPDATE communities_picture SET leased_until = %(until)s, attempt_count = attempt_count + 1
    WHERE id = (
        SELECT id FROM (
            SELECT DISTINCT ON (community_id) id FROM communities_picture waiting
            WHERE due_at <= %(at)s AND NOT EXISTS (
                SELECT FROM communities_picture busy
                WHERE busy.community_id = waiting.community_id AND busy.leased_until > %(at)s
                    AND busy.due_at IS NOT NULL
            )
            ORDER BY community_id, due_at, id
        ) next ORDER BY random() LIMIT 1
    ) AND due_at <= %(at)s AND (leased_until IS NULL OR leased_until <= %(at)s)
    RETURNING id, community_id, address, attempt_count, leased_until
"""


class _Failed(Exception):
    """The picture was not fetched. If `is_final`, a retry would fail as well."""

    def __init__(self, problem: str, *, is_final: bool = False) -> None:
        super().__init__(problem)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class _Claimed:
    id: int
    community_id: int
    address: str
    attempt_count: int
    leased_until: datetime


def fetch_due(*, at: datetime) -> None:
    """Fetch the pictures that are due for the time of one run; then wake another run."""
    if not _free.acquire(blocking=False):
        return
    try:
        started = time.monotonic()
        while claimed := _claim(at=at):
            _attempt(claimed, at=at)
            if time.monotonic() - started > SECONDS_OF_A_RUN:
                wake(FETCH)
                return
            at = max(at, timezone.now())
    finally:
        _free.release()


def _claim(*, at: datetime) -> _Claimed | None:
    with prepared() as cursor:
        cursor.execute(_CLAIM, {"at": at, "until": at + LEASE})
        row = cursor.fetchone()
    return _Claimed(*row) if row else None


def _attempt(claimed: _Claimed, *, at: datetime) -> None:
    try:
        _require_sense(claimed)
        file = _fetched(claimed.address)
        picture = encoding.encode(file, max_bytes=settings.PICTURE_BYTES, max_wait=SECONDS_TO_WAIT)
        _store(claimed, picture, at=at)
    except (_Failed, NotAPicture, Unavailable) as failure:
        is_final = failure.is_final if isinstance(failure, _Failed) else isinstance(failure, NotAPicture)
        number = claimed.attempt_count - 1
        _held(claimed).update(
            problem=str(failure)[:300],
            due_at=None if is_final or number >= len(WAITS) else at + WAITS[number],
            leased_until=None,
        )


def _held(claimed: _Claimed) -> models.QuerySet[Picture]:
    """The row, unless the lease has passed to another worker."""
    return Picture.objects.filter(pk=claimed.id, leased_until=claimed.leased_until)


def _require_sense(claimed: _Claimed) -> None:
    if claimed.attempt_count > len(WAITS) + 2:  # This picture may have killed the worker that read it.
        raise _Failed("It was tried too often.", is_final=True)
    earlier = Picture.objects.filter(community_id=claimed.community_id, pk__lt=claimed.id)
    if earlier.count() >= MAX_PICTURES:
        raise _Failed(f"The community has {MAX_PICTURES:,} pictures already.", is_final=True)


def _fetched(address: str) -> bytes:
    """The file at an address. Each redirect is checked like the address itself."""
    if name := copies.name_in(address):
        return _uploaded(name)
    deadline = time.monotonic() + SECONDS
    for _ in range(1 + MAX_REDIRECTS):
        response = _response(address, seconds=deadline - time.monotonic())
        location = response.headers.get("Location")
        if response.status_code not in _REDIRECTS or not location:
            return _file(response)
        address = urljoin(address, location)
    raise _Failed("The address leads on too often.", is_final=True)


def _uploaded(name: str) -> bytes:
    """Return an uploaded picture of any community, because this site does not fetch from itself."""
    content = Picture.objects.filter(name=name).values_list("content", flat=True).first()
    if content is None:
        raise _Failed("There is no such picture here any more. Upload it again.", is_final=True)
    return bytes(content)


def _response(address: str, *, seconds: float) -> requests.Response:
    allow_private = settings.PICTURES_ALLOW_PRIVATE_NETWORKS
    url = address.partition("#")[0]
    try:
        web_addresses.check_url(url, allow_http=allow_private, allow_private=allow_private)
        with connections.time_limit(seconds), connections.session_of_pictures() as session:
            return session.get(url)
    except BadAddress as error:
        raise _Failed(f"The address {error.reason}", is_final=True) from error
    except connections.TooLong as error:
        size = settings.PICTURE_BYTES / 1_048_576
        raise _Failed(f"The file is larger than {size:g} MB.", is_final=True) from error
    except TimeoutError as error:
        raise _Failed(f"The host did not send the picture within {SECONDS:g} seconds.") from error
    # ValueError means that a redirect leads to an invalid address.
    except (requests.RequestException, ValueError) as error:
        raise _Failed("The host could not be reached, or has an address that is not public.") from error


def _file(response: requests.Response) -> bytes:
    status = response.status_code
    if status != 200:
        is_final = status < 500 and status not in _MAY_PASS
        raise _Failed(f"The host answered with the status {status}.", is_final=is_final)
    return response.content


@in_transaction
def _store(claimed: _Claimed, picture: EncodedPicture, *, at: datetime) -> None:
    """Store a copy. Raises _Failed if the community's pictures take too much space already."""
    if problem := space.problem(claimed.community_id, len(picture.content), but_id=claimed.id):
        raise _Failed(problem, is_final=True)
    held = _held(claimed)
    done = {"fetched_at": at, "problem": "", "attempt_count": 0, "due_at": None, "leased_until": None}
    if held.filter(digest=picture.digest).update(**done):
        return
    held.update(
        **done,
        name=random_name(),  # Browsers cache the earlier copy for ever under the earlier name.
        content=picture.content,
        content_type=picture.content_type,
        width=picture.width,
        height=picture.height,
        size=len(picture.content),
        digest=picture.digest,
    )
