"""The list of a project's responses for people: the rows, the search for a person, and the values in each
row.

The interface's own listing is in `service`. On anonymous projects no row contains anything about a person,
and the search for a person finds nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from communities.ground.actors import Actor
from communities.ground.ids import id_of
from communities.ground.statements import fetch_rows
from communities.models import Identity, Member
from communities.services.people import identities
from communities.services.tenants.member_search import MAX_FOUND, find_members
from surveys.engine.language.values import number_text
from surveys.models import Conversation, Project, ResponseDeletion
from surveys.services.ground import selecting
from surveys.services.representations.response import read_part
from surveys.services.responses.service import KEPT_ROWS
from surveys.services.scripts import cache as script_cache

_SHOWN = (
    *("id", "provider", "started_at", "updated_at", "completed_at"),
    *("is_listed", "is_suspected", "outcome"),
)
_NAMED = (*_SHOWN, "user_id", "platform_id", "session_number")
_ANSWERED = """
    SELECT conversation_id, count(DISTINCT block_id) FROM {}
    WHERE conversation_id = ANY(%s) GROUP BY conversation_id
"""
FIRST = 3  # A row shows the answers to this many questions, the first ones of the script.
_FIRST_ANSWERS = """
    SELECT conversation_id, block_id, option_id, value FROM {}
    WHERE conversation_id = ANY(%s) AND block_id = ANY(%s) ORDER BY conversation_id, block_id, ordinal
"""
_ROWS = "surveys_answer"
_KEPT_ROWS = f"(SELECT c.id AS conversation_id, kept.* FROM surveys_conversation c, {KEPT_ROWS}) kept"
_SCORES = "SELECT id, state->'scores' FROM surveys_conversation WHERE id = ANY(%s)"


@dataclass(frozen=True, slots=True)
class ListedScore:
    """The points of one response as text: of all buckets, and of each bucket if there are several."""

    points: str
    most: str
    by_bucket: Sequence[tuple[str, str]] = ()


def rows(*, project: Project, screened_out: bool = False) -> QuerySet[Conversation]:
    """The responses of a project without those that are about to be deleted, with the values that a list
    shows; or those that were screened out.
    """
    leaving = ResponseDeletion.objects.filter(project_id=project.pk).values("response_id")
    kind = {"outcome__startswith": Conversation.SCREENED_OUT} if screened_out else {"is_listed": True}
    listed = Conversation.objects.filter(project_id=project.pk, **kind).exclude(pk__in=leaving)
    return listed.only(*(_SHOWN if project.is_anonymous else _NAMED))


def matching(
    responses: QuerySet[Any],
    *,
    project: Project,
    fields: Sequence[tuple[str, str]] = (),
    where: str | None,
) -> QuerySet[Any]:
    """Return the responses that have these values of fields and satisfy an expression without faults."""
    script = partial(script_cache.script_of, project)
    chosen = selecting.parts(fields=fields, where=where, script=script, state="state")
    for sql, values in chosen:
        responses = responses.filter(RawSQL(sql, values, output_field=BooleanField()))
    return responses


def of_person(
    responses: QuerySet[Conversation], *, actor: Actor, project: Project, term: str
) -> QuerySet[Conversation]:
    """Responses of the people whom a term matches: by a name, by an id on a platform, or by their user id.

    Only admins learn who has an account outside the chat. For other readers the term matches such an id only
    in responses that show it. Returns no responses on anonymous projects.
    """
    if project.is_anonymous:
        return responses.none()
    accounts = _accounts(project.community_id, term)
    people = _people(actor, term)
    providers = identities.searched(community_id=project.community_id, all_accounts=actor.is_admin)
    people |= {user_id for user_id, provider in accounts if provider in providers}
    anybody = people | {user_id for user_id, _ in accounts}
    return responses.filter(Q(user_id__in=people) | Q(platform_id=term), user_id__in=anybody)


def answered_blocks(*, ids: Collection[uuid.UUID], screened_out: bool = False) -> Mapping[uuid.UUID, int]:
    """How many blocks each of these responses answers. All or none of them were screened out."""
    sql = _ANSWERED.format(_KEPT_ROWS if screened_out else _ROWS)
    return dict(fetch_rows(sql, [list(ids)])) if ids else {}


def first_answers(
    *, ids: Collection[uuid.UUID], project: Project, screened_out: bool = False
) -> Mapping[uuid.UUID, Sequence[str]]:
    """The first FIRST answers of these responses in words, in the order of the script. All or none of them
    were screened out.
    """
    catalogue = script_cache.of(project).catalogue
    asked = [block.id or 0 for block in catalogue.script.blocks if block.asks][:FIRST]
    found: dict[uuid.UUID, dict[int, list[str]]] = {}
    sql = _FIRST_ANSWERS.format(_KEPT_ROWS if screened_out else _ROWS)
    rows = fetch_rows(sql, [list(ids), asked]) if ids and asked else []
    for response_id, block_id, option_id, value in rows:
        words = catalogue.words(block_id, option_id, value)
        found.setdefault(response_id, {}).setdefault(block_id, []).append(words)
    return {
        response_id: [", ".join(words[block_id]) for block_id in asked if block_id in words]
        for response_id, words in found.items()
    }


def scores(*, ids: Collection[uuid.UUID], project: Project) -> Mapping[uuid.UUID, ListedScore]:
    """The stored scores of these responses; no script is walked (rules 5.12 and 5.13).

    Responses from before scoring was enabled have no score. The caller has checked that scores may be read.
    """
    catalogue = script_cache.of(project).catalogue
    buckets = {bucket.key: bucket.name for bucket in catalogue.script.buckets}
    return {
        response_id: _score(read_part(stored), buckets)
        for response_id, stored in (fetch_rows(_SCORES, [list(ids)]) if ids else [])
        if stored is not None
    }


def _score(stored: Mapping[str, Sequence[Any]], buckets: Mapping[str, str]) -> ListedScore:
    """One response's score.

    Each bucket has its points and its highest possible points. The graded buckets follow.
    """
    in_order = [*(key for key in buckets if key in stored), *(key for key in stored if key not in buckets)]
    points = {key: Decimal(str(stored[key][0])) for key in in_order}
    most = sum((Decimal(str(numbers[1])) for numbers in stored.values()), Decimal(0))
    by_bucket = [(buckets.get(key, key), number_text(value)) for key, value in points.items()]
    total = number_text(sum(points.values(), Decimal(0)))
    return ListedScore(total, number_text(most), by_bucket if len(by_bucket) > 1 else ())


def _accounts(community_id: int, term: str) -> list[tuple[int, str]]:
    """The users who have the term as their id on a platform, each with the provider."""
    here = Q(community__isnull=True) | Q(community_id=community_id)
    accounts = Identity.objects.filter(here, provider__in=Identity.Provider.values, platform_id=term)
    return list(accounts.values_list("user_id", "provider")[:MAX_FOUND])


def _people(actor: Actor, term: str) -> set[int]:
    """The user with this id, and the users whose name matches the term in the actor's community, at most
    MAX_FOUND.
    """
    members = find_members(community_id=actor.community_id, term=term, by_all_accounts=actor.is_admin)
    people = set(Member.objects.filter(pk__in=members).values_list("user_id", flat=True))
    if (user_id := id_of(term)) is not None:
        people.add(user_id)
    return people
