"""Our copies of pictures: requested when an address is written, and looked up when a page is rendered.

want(…)   in the transaction that writes addresses
find(…)   the copies for a page: only fetched pictures have one
state(…)  the state of one picture, for staff
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from communities.ground import web_addresses
from communities.ground.queue import wake
from communities.ground.statements import prepared
from communities.ground.web_addresses import BadAddress
from communities.models import Picture
from communities.models.picture import random_name

FETCH = "communities.fetch_pictures"

_WANT = """
    INSERT INTO communities_picture AS picture (community_id, address, name, wanted_at, due_at)
    SELECT %s::bigint, address, name, now(), now()
    FROM unnest(%s::text[], %s::text[]) AS wanted (address, name)
    ON CONFLICT (community_id, md5(address)) DO UPDATE SET
        wanted_at = excluded.wanted_at, attempt_count = 0,
        due_at = CASE WHEN picture.is_uploaded THEN NULL ELSE excluded.due_at END
    WHERE picture.due_at IS NULL
        AND (picture.fetched_at IS NULL OR picture.fetched_at < now() - interval '1 minute')
    RETURNING id
"""
_FIND = """
    SELECT community_id, address, name, width, height FROM communities_picture
    WHERE community_id = ANY(%s::bigint[]) AND md5(address) = ANY(SELECT md5(unnest(%s::text[])))
        AND content IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that can be shown."""

    name: str
    width: int
    height: int

    @property
    def path(self) -> str:
        """Return the address of the copy on this site."""
        return reverse("picture", args=[self.name])

    def fitted(self, width: int, height: int) -> tuple[int, int]:
        """Return the width and height at which the copy is shown within these limits.

        Pages reserve this space until the copy is loaded.
        """
        share = min(1.0, width / self.width, height / self.height)
        return max(1, round(self.width * share)), max(1, round(self.height * share))

    @property
    def url(self) -> str:
        """Return the whole address of the copy, for other sites."""
        return f"{settings.BASE_URL}{self.path}"


def own_address(name: str) -> str:
    """The address of an uploaded picture, as scripts and settings contain it: always with https."""
    return f"https://{urlsplit(settings.BASE_URL).netloc}{reverse('picture', args=[name])}"


def name_in(address: str) -> str | None:
    """The name in an address of a picture of this site; None for other addresses."""
    start, _, name = address.rpartition("/")
    return name if f"{start}/" == own_address("x")[:-1] else None


def check_address(address: str) -> None:
    """Raise BadAddress if a picture must not have this address (rule 9.13). The host is not resolved."""
    if name_in(address):
        return
    web_addresses.check_url(
        address.partition("#")[0], allow_http=False, allow_private=settings.PICTURES_ALLOW_PRIVATE_NETWORKS
    )


def want(*, community_id: int, addresses: Iterable[str | None]) -> None:
    """Request that a worker fetches the pictures at addresses that were just written.

    Call this in the transaction that writes the addresses. A picture that was fetched more than a minute ago
    is fetched again, in case it has changed. A picture that was given up is tried again.
    """
    # The addresses are sorted, so that writers do not deadlock.
    wanted = sorted({address for address in addresses if address})
    if not wanted:
        return
    names = [random_name() for _ in wanted]
    with prepared() as cursor:
        cursor.execute(_WANT, [community_id, wanted, names])
        is_news = cursor.rowcount > 0
    if is_news:
        wake(FETCH)


def find(
    *, community_ids: Collection[int], addresses: Iterable[str | None]
) -> Mapping[tuple[int, str], Copy]:
    """The existing copies, by community and address. Without addresses no statement runs."""
    wanted = sorted({address for address in addresses if address})
    if not wanted:
        return {}
    with prepared() as cursor:
        cursor.execute(_FIND, [list(community_ids), wanted])
        return {(row[0], row[1]): Copy(*row[2:]) for row in cursor.fetchall()}


def in_community(community_id: int, addresses: Iterable[str | None]) -> Mapping[str | None, Copy]:
    """The existing copies in one community, by address."""
    found = find(community_ids=[community_id], addresses=addresses)
    return {address: copy for (_, address), copy in found.items()}


def problems(*, community_id: int, addresses: Iterable[str | None]) -> Mapping[str, str]:
    """Why pictures could not be fetched, by address, in words for staff. Without addresses no statement
    runs.
    """
    wanted = {address for address in addresses if address}
    if not wanted:
        return {}
    rows = Picture.objects.filter(community_id=community_id, address__in=wanted).exclude(problem="")
    return {row.address: _note_on(row) for row in rows.only("address", "problem", "due_at")}


def _note_on(row: Picture) -> str:
    later = " It is tried again later." if row.due_at else ""
    return f"The picture could not be fetched: {row.problem}{later}"


@dataclass(frozen=True, slots=True)
class PictureState:
    """The state of a picture: the copy that pages show, and a note for staff."""

    copy: Copy | None
    note: str = ""


def state(*, community_id: int, address: str) -> PictureState:
    """The state of the picture at an address, in words for the staff of its community."""
    rows = Picture.objects.defer("content").filter(community_id=community_id, address=address)
    row = rows.first()
    if row is None:
        try:
            check_address(address)
        except BadAddress as error:
            return PictureState(None, f"The address {error.reason}")
        return PictureState(None, "The picture is fetched and shown once the address is saved.")
    copy = Copy(row.name, row.width or 0, row.height or 0) if row.fetched_at else None
    if not row.problem:
        return PictureState(copy, "" if copy else "The picture is being fetched.")
    return PictureState(copy, _note_on(row))
