"""Reading the audit trail: listed page by page, one entry, and in batches for a file.

Every reader calls this module with a community, or a project of it, that they may read: see `page`.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q, QuerySet

from communities.ground import word_matches
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import NotFound
from communities.ground.statements import page_up_to_size
from communities.ground.transactions import in_transaction
from communities.models import ApiKey, AuditEntry
from communities.services.trail import audit

Json = dict[str, Any]
BATCH_SIZE = 500
NEWEST = ("-happened_at", "-pk")
NO_ENTRY = "There is no such entry."


@dataclass(frozen=True, slots=True)
class Filters:
    """The entries to show; None and empty values mean all. `since` is inclusive, `until` is not.

    `search` finds entries with words that begin with each of its words. It searches the names of the author
    and of the object, the object's id, the prefix of the API key, and the pseudonym of erased staff.
    """

    project_id: int | None = None
    actions: Sequence[str] = ()
    actor_id: int | None = None
    actor_pseudonym: str = ""
    source: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    search: str = ""


NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True)
class AuditPage:
    entries: Sequence[AuditEntry]
    has_more: bool


def page(
    *, community_id: int, filters: Filters = NO_FILTERS, after: uuid.UUID | None = None, per_page: int
) -> AuditPage:
    """Return a page of a community's entries, newest first. The cost is the same at any depth.

    With `after`, the page starts after that entry. A page of long entries ends early. Raises NotFound if
    there is no such entry.
    """
    entries = _matching(community_id, filters)
    if after is not None:
        last = get(community_id=community_id, entry_id=after)
        entries = _older_than(entries, last)
    rows, has_more = page_up_to_size(entries, texts=("before", "after"), per_page=per_page)
    return AuditPage(rows, has_more=has_more)


def get(*, community_id: int, entry_id: uuid.UUID) -> AuditEntry:
    """One entry of the community. Raises NotFound."""
    entry = AuditEntry.objects.filter(community_id=community_id, pk=entry_id).defer("words").first()
    if entry is None:
        raise NotFound(NO_ENTRY)
    return entry


def batches(*, community_id: int, filters: Filters = NO_FILTERS) -> Iterator[Sequence[AuditEntry]]:
    """All entries of a listing, newest first. Each batch is read when the caller asks for it."""
    entries = _matching(community_id, filters)
    rows = list(entries[:BATCH_SIZE])
    while rows:
        yield rows
        rows = list(_older_than(entries, rows[-1])[:BATCH_SIZE])


@in_transaction
def record_export(*, actor: Actor, project_id: int | None, format: str, at: datetime) -> None:
    """Write an entry about a file of the trail. The entry contains no filters, which may name a person."""
    audit.record(
        actor=actor,
        action=Action.HISTORY_EXPORTED,
        on=audit.Subject(actor.community_id, "history", None, project_id=project_id),
        at=at,
        after={"format": format},
    )


def as_json(entry: AuditEntry) -> Json:
    """An entry as the interface shows it."""
    return {
        "id": str(entry.pk),
        "happened_at": entry.happened_at,
        "action": entry.action,
        "source": entry.source,
        "actor_id": _as_text(entry.actor_id),
        "actor_name": entry.actor_name or None,
        "actor_pseudonym": entry.actor_pseudonym or None,
        "api_key_id": _as_text(entry.api_key_id),
        "key_prefix": entry.key_prefix or None,
        "object_type": entry.object_type,
        "object_id": entry.object_id,
        "object_name": entry.object_name or None,
        "project_id": _as_text(entry.project_id),
        "before": entry.before,
        "after": entry.after,
        "request_id": entry.request_id,
    }


def entries_of_person(*, community_id: int, member_id: int, user_ids: Collection[int]) -> Iterator[Json]:
    """Entries with a person as author or object, as JSON for their personal data, newest first.

    An entry of the author names its object only if that is the person themselves, or no person at all.
    `user_ids` are the person's user and the users merged into it.
    """
    keys = ApiKey.objects.filter(community_id=community_id, user_id__in=user_ids)
    own_keys = keys.values_list("pk", flat=True)
    member_ids = {str(each) for each in audit.member_ids_of(community_id=community_id, member_id=member_id)}
    of_them = (
        Q(actor_id__in=user_ids)
        | Q(object_type="member", object_id__in=member_ids)
        | Q(object_type="api_key", object_id__in=list(map(str, own_keys)))
    )
    entries = _matching(community_id, NO_FILTERS).filter(of_them)
    rows = list(entries[:BATCH_SIZE])
    while rows:
        for entry in rows:
            yield _for_person(entry, member_ids=member_ids, user_ids=user_ids)
        rows = list(_older_than(entries, rows[-1])[:BATCH_SIZE])


def _for_person(entry: AuditEntry, *, member_ids: Collection[str], user_ids: Collection[int]) -> Json:
    is_about_another = entry.object_type == "member" and entry.object_id not in member_ids
    is_by_them = entry.actor_id in user_ids
    return {
        "id": str(entry.pk),
        "happened_at": entry.happened_at,
        "action": entry.action,
        "is_by_them": is_by_them,
        "key_prefix": (entry.key_prefix or None) if is_by_them else None,
        "object_type": entry.object_type,
        "object_id": None if is_about_another else entry.object_id,
        "object_name": None if is_about_another else entry.object_name or None,
    }


def search(entries: QuerySet[AuditEntry], term: str) -> QuerySet[AuditEntry]:
    """Entries with words that begin with each word of the term; all entries for an empty term.

    `entries` are the entries of a community or of a project, without other filters: an index finds rare
    words.
    """
    words = term.split()
    if not words:
        return entries
    has_words = Q(words=SearchQuery(_prefixes(words), config="simple", search_type="raw"))
    return word_matches.narrow(entries, has_words=has_words, newest=NEWEST)


def _matching(community_id: int, filters: Filters) -> QuerySet[AuditEntry]:
    entries = AuditEntry.objects.filter(community_id=community_id).defer("words")
    if filters.project_id is not None:
        entries = entries.filter(project_id=filters.project_id)
    entries = search(entries, filters.search)
    if len(filters.actions) == 1:
        entries = entries.filter(action=filters.actions[0])
    elif filters.actions:
        entries = entries.filter(action__in=filters.actions)
    if filters.actor_id is not None:
        entries = entries.filter(actor_id=filters.actor_id)
    if filters.actor_pseudonym:
        entries = entries.filter(actor_pseudonym=filters.actor_pseudonym)
    if filters.source:
        entries = entries.filter(source=filters.source)
    if filters.since is not None:
        entries = entries.filter(happened_at__gte=filters.since)
    if filters.until is not None:
        entries = entries.filter(happened_at__lt=filters.until)
    return entries.order_by(*NEWEST)


def _older_than(entries: QuerySet[AuditEntry], last: AuditEntry) -> QuerySet[AuditEntry]:
    is_before = Q(happened_at__lt=last.happened_at) | Q(pk__lt=last.pk)
    return entries.filter(is_before, happened_at__lte=last.happened_at)


def _prefixes(words: Sequence[str]) -> str:
    """A query for PostgreSQL's full text search: entries with a word that begins with each of these words."""
    quoted = (word.replace("\\", "\\\\").replace("'", "''") for word in words)
    return " & ".join(f"'{word}':*" for word in quoted)


def _as_text(id: int | None) -> str | None:
    return None if id is None else str(id)
