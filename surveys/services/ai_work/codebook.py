"""The codebook of an open question: themes named by a provider and changed by staff (rules 10.22 to 10.24).

    read(project=…, block_id=…)                  the codebook for staff
    change(project=…, block_id=…, themes=…)      renamed, added, pinned, removed and merged themes
    correct(response_id=…, block_id=…, …)        what staff read in one answer
    for_provider(block_id=…, …)                  the codebook to read against; a better provider begins anew
    add(block_id=…, named=…, …)                  themes that a provider has named

Each change raises the version. A theme with a new meaning gets the new version as `since`: the next analysis
reads all answers against this theme alone. No answer is read again for a renamed, merged or removed theme.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import CharField, Value
from django.db.models.functions import Cast, Concat

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound, ViolationJson, refuse_all, violation
from communities.ground.sent_text import appearance, first_unseen
from communities.ground.statements import fetch_rows
from communities.ground.transactions import in_transaction
from surveys.ai.provider import LOCAL, MAX_THEME_DESCRIPTION, MAX_THEME_TITLE, TextTheme
from surveys.models import Analysis, Block, Codebook, Project, Theme
from surveys.services.ai_work import readings
from surveys.services.conversations import repository
from surveys.services.ground import access, history
from surveys.services.representations.response import ResponseJson
from surveys.services.responses import service as responses

MAX_THEMES = 24  # A question has at most this many themes, with the themes of staff.
MAX_MERGED = 200  # A running analysis needs merged themes; at most this many are remembered for a question.
# A theme has at most this many phrases, and a phrase at most this many characters.
MAX_PHRASES, MAX_PHRASE = 20, 80
NOT_ONE_LINE = (
    "must be one line without semicolons, which separate titles in exports, and without characters that "
    "nobody sees."
)
NO_QUESTION = "This project has no open question with this id whose answers are read."


@dataclass(frozen=True, slots=True)
class ThemeChange:
    """A theme in the form that staff want. `id` is the id of an existing theme; None makes a new theme."""

    title: str
    description: str | None = None  # None leaves the description unchanged.
    is_pinned: bool | None = None
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """Themes that are merged into the theme `into`."""

    sources: Sequence[int]
    into: int


@dataclass(frozen=True, slots=True)
class ReadCodebook:
    """A codebook with its themes, oldest first."""

    version: int
    themes: Sequence[Theme] = field(default_factory=tuple)


def question(*, project: Project, block_id: int) -> Block:
    """Return the open question of this project. Raises NotFound for a question whose answers are
    never read.
    """
    block = Block.objects.filter(readings.IS_READ, project=project, pk=block_id).first()
    if block is None:
        raise NotFound(NO_QUESTION)
    return block


def read(*, project: Project, block_id: int) -> ReadCodebook:
    """Return the codebook of a question; before the first reading, version 0 without themes."""
    block = question(project=project, block_id=block_id)
    found = Codebook.objects.filter(pk=block.pk).first()
    return ReadCodebook(found.version, live(block_id=block.pk)) if found else ReadCodebook(0)


def lock(*, project: Project, block_id: int) -> Codebook:
    """Return the locked codebook of a question, created if missing. Raises NotFound if the question was
    deleted.
    """
    if (
        not Block.objects.select_for_update(no_key=True)
        .filter(pk=block_id)
        .values_list("pk", flat=True)
        .first()
    ):
        raise NotFound(NO_QUESTION)
    Codebook.objects.bulk_create([Codebook(block_id=block_id, project=project)], ignore_conflicts=True)
    return Codebook.objects.select_for_update().get(pk=block_id)


def live(*, block_id: int) -> list[Theme]:
    """The themes of a question, the oldest first, without merged themes."""
    return list(Theme.objects.filter(block_id=block_id, merged_into__isnull=True).order_by("pk"))


def ids_by_title(*, project_id: int) -> Mapping[int, Mapping[str, int]]:
    """The ids of the themes of each question of a project, by title."""
    found: dict[int, dict[str, int]] = {}
    rows = Theme.objects.filter(block__project_id=project_id, merged_into__isnull=True)
    for block_id, title, pk in rows.values_list("block_id", "title", "pk"):
        found.setdefault(block_id, {})[title] = pk
    return found


# --- Changes by staff -------------------------------------------------------------------------------------


@in_transaction
def change(
    *,
    project: Project,
    block_id: int,
    themes: Sequence[ThemeChange] | None,
    merges: Sequence[Merge],
    actor: Actor,
    at: datetime,
    versions_allowed: Set[int] | None = None,
) -> ReadCodebook:
    """Write the themes that a question is to have, and merge other themes into these.

    A theme that is neither in `themes` nor merged is removed; if `themes` is None, all themes remain. Raises
    Conflict if the version of the codebook is none of `versions_allowed`. Raises InvalidRequest for unknown
    ids, titles that occur twice, too many themes, and a merge of a theme into itself.
    """
    block = question(project=project, block_id=block_id)
    book = lock(project=project, block_id=block_id)
    if versions_allowed is not None and book.version not in versions_allowed:
        raise Conflict("The codebook was changed meanwhile. Read it again, then send your changes once more.")
    there = {theme.pk: theme for theme in live(block_id=block.pk)}
    _refuse_wrong(there, themes, merges)
    book.version += 1
    for merge in merges:
        _merge(book, [there.pop(pk) for pk in merge.sources], there[merge.into])
    _forget_merged(book)
    if themes is not None:
        _write(book, there, themes)
    book.save(update_fields=["version"])
    repository.note_change(project_id=project.pk)  # Finished analyses are out of date now.
    history.record_codebook(project, block_id=block.pk, actor=actor, at=at)
    return ReadCodebook(book.version, live(block_id=block.pk))


@in_transaction
def correct(
    *,
    actor: Actor,
    response_id: uuid.UUID,
    block_id: int,
    themes: Sequence[int],
    sentiment: str | None,
    at: datetime,
) -> ResponseJson:
    """Correct the reading of one answer, and return the response.

    Raises NotFound if the response or the answer does not exist, and for a question whose answers are not
    read. Raises InvalidRequest for themes that the question does not have.
    """
    conversation = repository.lock(conversation_id=response_id)
    if conversation is None or not conversation.is_listed:
        raise NotFound(responses.NO_RESPONSE)
    project = conversation.project
    access.require_owner(actor=actor, project=project, missing=responses.NO_RESPONSE)
    block = question(project=project, block_id=block_id)
    lock(project=project, block_id=block_id)
    known = {theme.pk for theme in live(block_id=block.pk)}
    unknown = [n for n, pk in enumerate(themes) if pk not in known or pk in themes[:n]]
    if unknown:
        refuse_all(_unknown(f"themes[{n}]") for n in unknown)
    if not readings.correct(
        project=project,
        conversation_id=response_id,
        block_id=block.pk,
        themes=themes,
        sentiment=sentiment,
        at=at,
    ):
        raise NotFound("This response has no answer to this question.")
    history.record_codebook(project, block_id=block.pk, actor=actor, at=at, action=Action.READING_CORRECTED)
    return responses.get(response_id=response_id, actor=actor, at=at)


def _refuse_wrong(
    there: Mapping[int, Theme], themes: Sequence[ThemeChange] | None, merges: Sequence[Merge]
) -> None:
    violations: list[ViolationJson] = []
    merged: set[int] = set()
    for n, merge in enumerate(merges):
        for m, pk in enumerate(merge.sources):
            if pk not in there or pk in merged:
                violations.append(_unknown(f"merge[{n}].from[{m}]"))
            merged.add(pk)
        if merge.into not in there or merge.into in merged:
            violations.append(_unknown(f"merge[{n}].into"))
    titles: dict[str, int] = {}
    seen: set[int] = set()
    for n, theme in enumerate(themes or ()):
        if theme.id is not None and (theme.id not in there or theme.id in merged or theme.id in seen):
            violations.append(_unknown(f"themes[{n}].id"))
        seen.add(theme.id or 0)
        if titles.setdefault(theme.title.lower(), n) != n:
            violations.append(violation(f"themes[{n}].title", "duplicate", "Another theme has this title."))
        if theme.title != one_line(theme.title):
            violations.append(violation(f"themes[{n}].title", "invalid", NOT_ONE_LINE))
    if len(themes or ()) > MAX_THEMES:
        violations.append(violation("themes", "too_many", f"A question has at most {MAX_THEMES} themes."))
    if violations:
        refuse_all(violations)


def _unknown(field: str) -> ViolationJson:
    return violation(field, "not_found", "must be a theme of this question, named once.")


def _merge(book: Codebook, sources: Sequence[Theme], into: Theme) -> None:
    """Give the answers of some themes to another theme, which counts each answer once."""
    ids = [theme.pk for theme in sources]
    fetch_rows(
        """
        UPDATE surveys_reading SET themes = ARRAY(
            SELECT theme FROM (
                SELECT CASE WHEN old = ANY(%(ids)s) THEN %(into)s ELSE old END AS theme, min(place) AS place
                FROM unnest(themes) WITH ORDINALITY AS every(old, place) GROUP BY 1
            ) once ORDER BY place
        ) WHERE block_id = %(block)s AND themes && %(ids)s::bigint[] RETURNING block_id
        """,
        {"ids": ids, "into": into.pk, "block": book.pk},
    )
    Theme.objects.filter(block_id=book.pk, merged_into_id__in=ids).update(merged_into=into)
    Theme.objects.filter(pk__in=ids).update(merged_into=into, since=book.version)
    # A provider recognises the merged theme by the phrases of its sources.
    phrases = [phrase for theme in (into, *sources) for phrase in (*theme.phrases, theme.title)]
    into.phrases = list(dict.fromkeys(phrases))[:MAX_PHRASES]
    into.save(update_fields=["phrases"])


def _forget_merged(book: Codebook) -> None:
    """Delete merged themes to which no answer can be assigned any more. While no analysis runs, these are
    all.

    An analysis that begins later never sees merged themes, because the analysis waits for the lock on the
    codebook. While an analysis runs, the MAX_MERGED latest merged themes remain.
    """
    is_read = Analysis.objects.filter(Analysis.UNFINISHED, project_id=book.project_id).exists()
    merged = Theme.objects.filter(block_id=book.pk, merged_into__isnull=False).order_by("-since", "-pk")
    forgotten = list(merged.values_list("pk", flat=True)[MAX_MERGED if is_read else 0 :])
    Theme.objects.filter(pk__in=forgotten).delete()


def _write(book: Codebook, there: Mapping[int, Theme], themes: Sequence[ThemeChange]) -> None:
    kept = {theme.id for theme in themes}
    remove(block_id=book.pk, ids=[pk for pk in there if pk not in kept])
    # Two titles may be swapped. So each theme first gets a text that no title can be, and then its new title.
    Theme.objects.filter(pk__in=[pk for pk in there if pk in kept]).update(
        title=Concat(Value("\x1f"), Cast("pk", CharField()))
    )
    for wanted in themes:
        theme = there.get(wanted.id or 0) or Theme(block_id=book.pk, since=book.version)
        description = theme.description if wanted.description is None else wanted.description
        if theme.description != description:
            theme.since = book.version
        theme.title, theme.description = wanted.title, description
        theme.is_pinned = theme.is_pinned if wanted.is_pinned is None else wanted.is_pinned
        theme.save()


def remove(*, block_id: int, ids: Sequence[int]) -> None:
    """Delete themes and the themes that were merged into them. Answers remain read, without these themes."""
    if not ids:
        return
    gone = [*ids, *Theme.objects.filter(merged_into_id__in=ids).values_list("pk", flat=True)]
    fetch_rows(
        """
        UPDATE surveys_reading SET is_emptied = themes <@ %(ids)s::bigint[], themes = ARRAY(
            SELECT theme FROM unnest(themes) WITH ORDINALITY AS every(theme, place)
            WHERE theme <> ALL(%(ids)s) ORDER BY place
        ) WHERE block_id = %(block)s AND themes && %(ids)s::bigint[] RETURNING block_id
        """,
        {"ids": gone, "block": block_id},
    )
    Theme.objects.filter(pk__in=gone).delete()


# --- For an analysis --------------------------------------------------------------------------------------


@in_transaction
def for_provider(*, project: Project, block_id: int, provider: str) -> tuple[Codebook, list[Theme]]:
    """Return the codebook of a question and its themes, for reading answers against them.

    When another provider begins, the themes of the local provider are deleted, because the other provider
    names better themes. Pinned themes remain, and so do corrections by staff with their themes (rule 10.27).
    """
    book = lock(project=project, block_id=block_id)
    themes = live(block_id=block_id)
    if book.generated_by == LOCAL and provider != LOCAL:
        kept = readings.corrected_themes(block_id=block_id)
        gone = [theme.pk for theme in themes if not theme.is_pinned and theme.pk not in kept]
        remove(block_id=block_id, ids=gone)
        book.version, book.unfit, book.generated_by = book.version + 1, 0, None
        book.save()
        themes = live(block_id=block_id)
    return book, themes


@in_transaction
def add(
    *, project: Project, block_id: int, named: Sequence[TextTheme], provider: str, unfit: int
) -> list[Theme]:
    """Add the themes that a provider has named, while there is room. A title that another theme already has
    is left out.

    Returns all themes. `unfit` is the number of answers that fitted no theme before.
    """
    book = lock(project=project, block_id=block_id)
    themes = live(block_id=block_id)
    taken = {theme.title.lower() for theme in themes}
    new: list[Theme] = []
    for theme in named:
        if theme.title.lower() not in taken and len(themes) + len(new) < MAX_THEMES:
            taken.add(theme.title.lower())
            new.append(_stored(theme, book))
    if new:
        book.version += 1
        for added in new:
            added.since = book.version
        Theme.objects.bulk_create(new)
    book.generated_by = book.generated_by or provider
    book.unfit = unfit
    book.save()
    return live(block_id=block_id)


def _stored(theme: TextTheme, book: Codebook) -> Theme:
    return Theme(
        block_id=book.pk,
        title=theme.title[:MAX_THEME_TITLE],
        description=theme.description[:MAX_THEME_DESCRIPTION],
        phrases=[phrase[:MAX_PHRASE] for phrase in theme.phrases[:MAX_PHRASES]],
        since=book.version,
    )


def one_line(title: str) -> str:
    """Return a title that fits into one cell of a table with others: visible, on one line, without
    semicolons.
    """
    kept = title if not first_unseen(title) else appearance(title)
    return " ".join(kept.replace(";", ",").split())


def as_text_themes(themes: Sequence[Theme]) -> list[TextTheme]:
    """The themes as a provider takes them."""
    return [TextTheme(theme.title, theme.description, tuple(theme.phrases)) for theme in themes]


def as_json(book: ReadCodebook) -> dict[str, Any]:
    """The codebook as the interface returns it."""
    return {
        "version": book.version,
        "themes": [
            {
                "id": theme.pk,
                "title": theme.title,
                "description": theme.description,
                "pinned": theme.is_pinned,
            }
            for theme in book.themes
        ],
    }
