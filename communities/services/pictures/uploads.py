"""Uploaded pictures: stored and served like our copies of foreign ones, with an address of this site."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, refuse
from communities.ground.transactions import in_transaction
from communities.models import Picture
from communities.models.picture import random_name
from communities.services.pictures import copies, encoding, space
from communities.services.pictures.encoding import EncodedPicture, NotAPicture
from communities.services.pictures.fetching import MAX_PICTURES
from communities.services.trail import audit

MAX_A_DAY = 200  # A community may upload at most this many pictures a day.


def upload(*, actor: Actor, file: bytes, at: datetime) -> Picture:
    """Store a picture of the actor's community, encoded again. The same picture is stored once.

    Refuses files that are no pictures or too large (as the field `content`), and a community whose pictures
    take too much space, or that has uploaded too many.
    """
    if len(file) > settings.PICTURE_BYTES:
        size = settings.PICTURE_BYTES / 1_048_576
        refuse("content", "too_large", f"The file is larger than {size:g} MB.")
    try:
        picture = encoding.encode(file, max_bytes=settings.PICTURE_BYTES)
    except NotAPicture as problem:
        refuse("content", "invalid", str(problem))
    return _store(actor=actor, picture=picture, at=at)


@in_transaction
def _store(*, actor: Actor, picture: EncodedPicture, at: datetime) -> Picture:
    problem = space.problem(actor.community_id, len(picture.content))  # The call takes the lock.
    own = Picture.objects.filter(community_id=actor.community_id)
    same = own.defer("content").filter(is_uploaded=True, digest=picture.digest).first()
    if same is not None:
        own.filter(pk=same.pk).update(wanted_at=at)
        return same
    if not problem and own.count() >= MAX_PICTURES:
        problem = f"The community has {MAX_PICTURES:,} pictures already."
    if (
        not problem
        and own.filter(is_uploaded=True, fetched_at__gt=at - timedelta(days=1)).count() >= MAX_A_DAY
    ):
        problem = f"The community has uploaded {MAX_A_DAY} pictures within a day. Try again tomorrow."
    if problem:
        raise Conflict(problem)
    name = random_name()
    row = Picture.objects.create(
        community_id=actor.community_id,
        address=copies.own_address(name),
        name=name,
        content=picture.content,
        content_type=picture.content_type,
        width=picture.width,
        height=picture.height,
        size=len(picture.content),
        digest=picture.digest,
        is_uploaded=True,
        wanted_at=at,
        fetched_at=at,
    )
    audit.record(
        actor=actor,
        action=Action.PICTURE_UPLOADED,
        on=audit.Subject(actor.community_id, "picture", row.pk),
        at=at,
        after={"width": row.width, "height": row.height, "size": row.size},
    )
    return row
