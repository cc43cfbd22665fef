"""The audit trail in the admin: a list, one entry with before and after, and a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.html import escape, format_html

from communities.gate.downloads import Chunks, File, download
from communities.ground import spreadsheets
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.slots import of_community
from communities.models import AuditEntry
from communities.services.trail import audit_listing
from communities.services.trail.audit_listing import Filters
from communities.staff import day_range
from communities.staff.day_range import DayRange
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.site import time_zone_of
from communities.staff.texts import moment

FORMATS = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}
PERIODS = {"1": "Last 24 hours", "7": "Last 7 days", "30": "Last 30 days"}  # The keys are days.
KINDS = {
    "project": "Projects",
    "script": "Scripts",
    "response": "Responses",
    "responses": "Exports",
    "link": "Personal links",
    "analysis": "Analyses",
    "member": "Members",
    "xp": "XP",
    "achievement": "Achievements",
    "api_key": "API keys",
    "webhook": "Webhooks",
    "settings": "Settings",
    "history": "Exports of this history",
    "community": "Community",
}
COLUMNS = (
    *("happened_at", "action", "actor_name", "actor_pseudonym", "source", "key_prefix"),
    *("object_type", "object_id", "object_name", "project_id", "before", "after", "id"),
)
MAX_SHOWN = 2_000  # One value is shown with at most this many characters.
# The differences of one entry take at most this many bytes on a page, which has less than 1 MB (rule 6.40).
MAX_BYTES = 800_000
_ROW = 500  # A difference takes these bytes in addition to its texts.
# Changes of a few fields each. Changes of scripts are missing: they are large, and their fields say little
# without their block.
SHORT = frozenset(value for value in Action.values if value.endswith(".updated")) - {Action.SCRIPT_UPDATED}


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that an entry changed, in words. `part` is the part that it belongs to, such as a block."""

    field: str
    before: str
    after: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences of one entry, as many as a page shows. `are_all` is false if there are more."""

    rows: Sequence[Difference]
    are_all: bool


DifferenceSource = Callable[[AuditEntry], Iterable[Difference] | None]
_sources: list[DifferenceSource] = []


def add_differences(source: DifferenceSource) -> DifferenceSource:
    """Register a function that converts one kind of entry to words, and returns None for others. A decorator.

    The result is read only as far as a page shows it.
    """
    _sources.append(source)
    return source


ProjectAddresses = Callable[[Actor, Collection[int]], Mapping[int, str]]
_projects: list[ProjectAddresses] = []


def add_project_addresses(source: ProjectAddresses) -> ProjectAddresses:
    """Register a function that returns the addresses of those projects that an actor may see. A decorator."""
    _projects.append(source)
    return source


def project_addresses(actor: Actor, ids: Collection[int]) -> dict[int, str]:
    """The addresses of these projects by id, without deleted projects and projects that the actor may not
    see.
    """
    return {key: address for source in _projects for key, address in source(actor, ids).items()}


def rows(*, actor: Actor, project_id: int | None = None) -> QuerySet[AuditEntry]:
    """The entries of the actor's community, or of one project in it that they may edit."""
    entries = AuditEntry.objects.filter(community_id=actor.community_id).defer("words", "before", "after")
    return entries if project_id is None else entries.filter(project_id=project_id)


def listing(
    request: HttpRequest,
    *,
    kinds: Sequence[str],
    address_of: Callable[[AuditEntry], str],
    links_for: Actor | None = None,
) -> Listing[AuditEntry]:
    """A list of entries, newest first, with filters for these kinds of objects.

    Names of projects that `links_for` may see link to these projects.
    """
    whats = dict[UUID, str]()
    projects = dict[int, str]()

    def load(entries: Sequence[AuditEntry]) -> None:
        short = [entry.pk for entry in entries if entry.action in SHORT]
        changes = AuditEntry.objects.filter(pk__in=short).only("action", "before", "after")
        whats.update({entry.pk: what_changed(entry) for entry in changes})
        if links_for is not None:
            ids = {entry.project_id for entry in entries if entry.project_id is not None}
            projects.update(project_addresses(links_for, ids))

    def which(entry: AuditEntry) -> str:
        name = entry.object_name or entry.object_id or "–"
        address = projects.get(entry.project_id or 0) if entry.object_type == "project" else None
        return format_html('<a href="{}">{}</a>', address, name) if address else name

    return Listing(
        columns=[
            Column("What", lambda entry: whats.get(entry.pk) or what(entry), is_title=True),
            Column("Which", which),
            Column("Who", who),
            Column("When", lambda entry: moment(entry.happened_at)),
        ],
        orders={"newest": Order("Newest first", ("-happened_at", "-pk"))},
        filters=[
            Filter("kind", "What", [(kind, KINDS[kind]) for kind in kinds], _of_kind),
            Filter("source", "By", [(each.value, each.label) for each in AuditEntry.Source], _of_source),
            Filter("days", "When", list(PERIODS.items()), _of_days),
        ],
        empty=Empty("Every change appears here: who made it, when, and what was before and after."),
        searches="names of people and objects, pseudonyms, ids and key prefixes",
        search=audit_listing.search,
        address_of=address_of,
        days=_days(request),
        load=load,
    )


def what_changed(entry: AuditEntry) -> str:
    """The action of an entry, with the field if only one changed: `Project renamed`."""
    found = plain_differences(entry.before, entry.after) if entry.action in SHORT else ()
    if len(found) != 1:
        return what(entry)
    field = found[0].field
    return f"{what(entry).removesuffix(' changed')} renamed" if field == "Name" else f"{what(entry)}: {field}"


def what(entry: AuditEntry) -> str:
    """The action of an entry, in words."""
    try:
        return str(Action(entry.action).label)
    except ValueError:  # A newer version has written the entry.
        return entry.action


def who(entry: AuditEntry) -> str:
    """The author of an entry, and the key or page they used."""
    if entry.source == AuditEntry.Source.SYSTEM:
        return "Colloquy itself"
    if entry.actor_pseudonym:
        return f"Former staff {entry.actor_pseudonym}"
    name = entry.actor_name or "Somebody who was erased"
    return f"{name}, API key {entry.key_prefix}…" if entry.key_prefix else name


def differences(entry: AuditEntry) -> Differences:
    """The fields that changed, in at most MAX_BYTES of a page. Later fields are left out.

    Fields of kinds that no app converts to words are listed by their path.
    """
    rows: list[Difference] = []
    size = 0
    for each in _all_differences(entry):
        row = replace(each, before=value_words(each.before), after=value_words(each.after))
        size += _ROW + sum(map(_bytes_in_page, (row.field, row.before, row.after, row.part)))
        if size > MAX_BYTES:
            return Differences(rows, are_all=False)
        rows.append(row)
    return Differences(rows, are_all=True)


def _all_differences(entry: AuditEntry) -> Iterable[Difference]:
    for source in _sources:
        found = source(entry)
        if found is not None:
            return found
    return plain_differences(entry.before, entry.after)


def _bytes_in_page(text: str) -> int:
    return len(escape(text).encode(errors="surrogatepass"))


def plain_differences(before: Any, after: Any) -> list[Difference]:
    """The fields that differ between two JSON values, in the words of their paths and in their order."""
    was, now = dict(_flat(before)), dict(_flat(after))
    return [
        Difference(field_words(path), was.get(path, ""), now.get(path, ""))
        for path in sorted({*was, *now})
        if was.get(path, "") != now.get(path, "")
    ]


def field_words(path: str) -> str:
    """`delivery.opening.time` → `Delivery · Opening · Time`."""
    names = (name.replace("_", " ") for name in path.split("."))
    return " · ".join(f"{name[:1].upper()}{name[1:]}" for name in names)


def value_words(value: object) -> str:
    """A single value of JSON as text."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "Yes", False: "No"}[value]
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def facts(entry: AuditEntry) -> list[tuple[str, object]]:
    """The known facts about an entry besides the change."""
    known: list[tuple[str, object]] = [
        ("Who", who(entry)),
        ("When", moment(entry.happened_at)),
        ("Which", entry.object_name or "–"),
        ("Kind", entry.object_type.replace("_", " ")),
        ("Id", entry.object_id or "–"),
    ]
    return [*known, ("Request", entry.request_id)] if entry.request_id else known


def export(
    request: HttpRequest, *, actor: Actor, project_id: int | None, format: str, file_name: str
) -> HttpResponseBase:
    """Stream the entries that match the filters of the address, and record that. Raises Unavailable."""
    filters = _filters(request, project_id)
    batches = audit_listing.batches(community_id=actor.community_id, filters=filters)
    write = _as_csv if format == "csv" else _as_ndjson
    file = File(FORMATS[format], f"{file_name}.{format}", write(batches))
    response = download(request, file, owner=of_community(actor.community_id))
    if request.method != "HEAD":
        audit_listing.record_export(actor=actor, project_id=project_id, format=format, at=timezone.now())
    return response


def _as_csv(batches: Iterator[Sequence[AuditEntry]]) -> Chunks:
    yield spreadsheets.csv_line(COLUMNS)
    for batch in batches:
        entries = map(audit_listing.as_json, batch)
        yield b"".join(spreadsheets.csv_line([_cell(entry[name]) for name in COLUMNS]) for entry in entries)


def _as_ndjson(batches: Iterator[Sequence[AuditEntry]]) -> Chunks:
    for batch in batches:
        yield b"".join(orjson.dumps(audit_listing.as_json(entry)) + b"\n" for entry in batch)


def _cell(value: object) -> str:
    """A cell as text that no spreadsheet reads as a formula."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value).decode().strip('"')
    return spreadsheets.neutralise(text)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of nested JSON, each by its path.

    Elements of lists are identified by their name, or else by their index.
    """
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for place, inner in enumerate(value):
            name = inner.get("name") or inner.get("value") if isinstance(inner, Mapping) else None
            yield from _flat(inner, f"{path}[{name or place}]")
    elif isinstance(value, list) and path:
        yield path, value_words(", ".join(map(value_words, value)))
    elif path:
        yield path, value_words(value)


def _actions_of(kind: str) -> list[str]:
    return [value for value in Action.values if value.startswith(f"{kind}.")]


def _of_kind(entries: QuerySet[AuditEntry], kind: str) -> QuerySet[AuditEntry]:
    return entries.filter(action__in=_actions_of(kind))


def _of_source(entries: QuerySet[AuditEntry], source: str) -> QuerySet[AuditEntry]:
    return entries.filter(source=source)


def _of_days(entries: QuerySet[AuditEntry], days: str) -> QuerySet[AuditEntry]:
    return entries.filter(happened_at__gte=timezone.now() - timedelta(days=int(days)))


def _days(request: HttpRequest) -> DayRange:
    return day_range.of_address(request, label="Happened", field="happened_at", zone=time_zone_of(request))


def _filters(request: HttpRequest, project_id: int | None) -> Filters:
    query = request.GET
    kind, source, days = query.get("kind", ""), query.get("source", ""), query.get("days", "")
    range_of_days = _days(request)
    ago = timezone.now() - timedelta(days=int(days)) if days in PERIODS else None
    return Filters(
        project_id=project_id,
        actions=_actions_of(kind) if kind in KINDS else (),
        source=source if source in AuditEntry.Source.values else None,
        since=max(filter(None, (ago, range_of_days.since)), default=None),
        until=range_of_days.until,
        search=query.get("q", "").replace("\x00", "")[:200],
    )
