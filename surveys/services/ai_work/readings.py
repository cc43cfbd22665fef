"""A row for each answer that was read: finding unread answers, storing, correcting, quoting (rule 10.21).

    question_ids(project_id=…)                  the open questions that are read
    count_unread(project_id=…, covers=…)        how many answers an analysis would read
    to_read(…)                                  the next of them, in the order of conversations
    sample(…), sample_unfit(…)                  answers from which a provider names themes
    store(…)                                    what a provider read in a batch
    quotes(…)                                   some quotes of each theme

`surveys.services.counting.themes` counts the rows.

An answer without a row is unread. An answer that the local provider has read is unread while a better
provider is connected. An answer is outdated if a theme of the question is newer than the row: then only newer
themes are looked for. A correction by staff is neither unread nor outdated.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson
from django.db.models import Q

from communities.ground.statements import fetch_rows
from communities.ground.transactions import again_after_deadlock, in_transaction
from surveys.ai import provider_is_free
from surveys.ai.provider import LOCAL, SENTIMENTS, TextExample, TextReading
from surveys.engine.script import FACTS
from surveys.models import Answer, Block, Codebook, Project, Theme
from surveys.services.conversations import further, repository
from surveys.services.ground import anonymity, feed_order

# At most this many characters of one answer are read, because the price is the same for each text.
MAX_READ = 2_000
MAX_SAMPLE = 300  # Themes are named from at most this many answers.
MAX_THEMES_OF_ANSWER = 5
MAX_EXAMPLES = 20  # A provider gets at most this many corrections as examples.

_TEXT = f"left({further.WHOLE_TEXT}, {MAX_READ})"  # The text of an answer `a` in the conversation `c`.
_COVERS = {"completed": "AND c.completed_at IS NOT NULL", "partial": "AND c.completed_at IS NULL"}
# The condition for a usable row. `better` is true if a better provider than the local one is connected.
_IS_READ = f"(r.is_corrected OR NOT %(better)s OR r.generated_by <> '{LOCAL}')"
# An answer without themes. If staff removed the theme or corrected the answer, the answer is no reason to
# look for new themes.
_IS_UNFIT = "r.themes = '{}' AND NOT r.is_corrected AND NOT r.is_emptied"
_NEWEST_THEME = """
    coalesce((
        SELECT max(t.since) FROM surveys_theme t WHERE t.block_id = b.id AND t.merged_into_id IS NULL
    ), 0)
"""


@dataclass(frozen=True, slots=True)
class Text:
    """An answer to read. `version` is the version of the codebook at its last reading; 0 before the first."""

    conversation_id: uuid.UUID
    text: str
    version: int = 0


# The blocks whose answers are read. `engine.Block.is_read` says the same.
IS_READ = (
    Q(type="open_text") & ~Q(section=Block.Section.INTRO) & (Q(format__isnull=True) | ~Q(format__in=FACTS))
)

# --- What is to be read -----------------------------------------------------------------------------------


def question_ids(*, project_id: int) -> frozenset[int]:
    """The open questions whose answers are read, removed questions included.

    Questions of the intro are left out: an intro asks for facts such as a name, which contains no theme.
    Questions for an address, a telephone number or a date are left out, too.
    """
    return frozenset(Block.objects.filter(IS_READ, project_id=project_id).values_list("pk", flat=True))


def has_any(*, project_id: int) -> bool:
    """Return whether an open question that analyses read has an answer."""
    asked = Block.objects.filter(IS_READ, project_id=project_id)
    return Answer.objects.filter(block__in=asked).exists()


def count_unread(*, project_id: int, covers: str) -> int:
    """The number of answers that an analysis would read: unread and outdated answers."""
    joined = (
        f"JOIN surveys_conversation c ON c.id = a.conversation_id {_COVERS[covers]}"
        if covers in _COVERS
        else ""
    )
    sql = f"""
        SELECT count(*) FROM (
            SELECT b.id, {_NEWEST_THEME} AS newest FROM surveys_block b
            WHERE b.project_id = %(project)s AND b.type = 'open_text' AND b.section <> 'intro'
                AND coalesce(b.format, 'line') = 'line'
        ) question
        JOIN surveys_answer a ON a.block_id = question.id {joined}
        LEFT JOIN surveys_reading r ON r.conversation_id = a.conversation_id AND r.block_id = a.block_id
        WHERE r.version IS NULL OR NOT {_IS_READ} OR (r.version < question.newest AND NOT r.is_corrected)
    """
    return int(fetch_rows(sql, {"project": project_id, "better": not provider_is_free()})[0][0])


def to_read(
    *,
    project_id: int,
    block_id: int,
    covers: str,
    after: uuid.UUID | None,
    length: int,
    older_than: int | None,
    since: int = 0,
) -> list[Text]:
    """The next answers to read, cut to MAX_READ: unread answers, or answers that were read before a version
    of the codebook, and not before `since`.

    The cost is the same at any depth, because hand-written SQL looks up one answer for each conversation.
    With a plain join PostgreSQL would read all answers from the first one: 50 ms for the 100 after the
    150,000th, instead of 1 ms.
    """
    version, condition = "0", f"(r.version IS NULL OR NOT {_IS_READ})"
    if older_than is not None:
        version, condition = "r.version", f"r.version < {older_than} AND NOT r.is_corrected AND {_IS_READ}"
        condition = f"r.version >= {since} AND {condition}"
    sql = f"""
        SELECT c.id, {_TEXT}, {version}
        FROM surveys_conversation c CROSS JOIN LATERAL (
            SELECT value, block_id FROM surveys_answer
            WHERE conversation_id = c.id AND block_id = %(block)s LIMIT 1
        ) a
        LEFT JOIN surveys_reading r ON r.conversation_id = c.id AND r.block_id = %(block)s
        WHERE c.project_id = %(project)s AND c.id > %(after)s {_COVERS.get(covers, "")} AND {condition}
        ORDER BY c.id LIMIT %(length)s
    """
    values = {
        "block": block_id,
        "project": project_id,
        "after": after or uuid.UUID(int=0),
        "length": length,
        "better": not provider_is_free(),
    }
    return [Text(*row) for row in fetch_rows(sql, values)]


def texts(*, block_id: int, conversation_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The answers to a question in these conversations, cut to MAX_READ."""
    sql = f"""
        SELECT c.id, {_TEXT} FROM surveys_answer a JOIN surveys_conversation c ON c.id = a.conversation_id
        WHERE a.block_id = %s AND a.ordinal = 0 AND a.conversation_id = ANY(%s)
    """
    return dict(fetch_rows(sql, [block_id, list(conversation_ids)]))


def sample(*, block_id: int) -> list[str]:
    """At most MAX_SAMPLE answers to a question, evenly over the order of their conversations.

    Ids of conversations follow time, so answers of all times are in the sample. On anonymous projects ids are
    random, so the sample is random. The same answers give the same sample.
    """
    return _evenly("surveys_answer a", "a.block_id = %(block)s AND a.ordinal = 0", block_id)


def sample_unfit(*, block_id: int) -> list[str]:
    """At most MAX_SAMPLE of the answers that fit no theme, chosen as in `sample`."""
    rows = "surveys_reading r JOIN surveys_answer a USING (conversation_id, block_id)"
    return _evenly(rows, f"r.block_id = %(block)s AND {_IS_UNFIT}", block_id)


def _evenly(rows: str, condition: str, block_id: int) -> list[str]:
    sql = f"""
        SELECT {_TEXT} FROM (
            SELECT a.value, a.block_id, a.conversation_id, count(*) OVER () AS total,
                row_number() OVER (ORDER BY a.conversation_id) - 1 AS place
            FROM {rows} WHERE {condition}
        ) a JOIN surveys_conversation c ON c.id = a.conversation_id
        WHERE total <= {MAX_SAMPLE}
            OR place * {MAX_SAMPLE} / total <> (place - 1) * {MAX_SAMPLE} / total OR place = 0
        ORDER BY place
    """
    return [text for (text,) in fetch_rows(sql, {"block": block_id})]


def count_answers(*, block_id: int, covers: str) -> int:
    """How many people have answered a question."""
    joined = (
        f"JOIN surveys_conversation c ON c.id = a.conversation_id {_COVERS[covers]}"
        if covers in _COVERS
        else ""
    )
    sql = f"SELECT count(*) FROM surveys_answer a {joined} WHERE a.block_id = %s AND a.ordinal = 0"
    return int(fetch_rows(sql, [block_id])[0][0])


def unfit_share(*, block_id: int) -> tuple[int, int]:
    """The number of answers to a question that fit no theme, and the number of answers that were read."""
    sql = f"""
        SELECT count(*) FILTER (WHERE {_IS_UNFIT}), count(*) FROM surveys_reading r WHERE block_id = %s
    """
    [(unfit, read)] = fetch_rows(sql, [block_id])
    return unfit, read


def corrected_themes(*, block_id: int) -> set[int]:
    """The themes of the answers that staff have corrected. A merged theme counts as the theme into which it
    was merged.
    """
    sql = """
        SELECT DISTINCT coalesce(theme.merged_into_id, theme.id)
        FROM surveys_reading r JOIN surveys_theme theme ON theme.id = ANY(r.themes)
        WHERE r.block_id = %s AND r.is_corrected
    """
    return {theme_id for (theme_id,) in fetch_rows(sql, [block_id])}


def examples(*, block_id: int, themes: Sequence[Theme]) -> list[TextExample]:
    """The latest answers that staff corrected, for a provider that reads against these themes."""
    sql = f"""
        SELECT {_TEXT}, r.themes, r.sentiment
        FROM surveys_reading r JOIN surveys_answer a USING (conversation_id, block_id)
        JOIN surveys_conversation c ON c.id = r.conversation_id
        WHERE r.block_id = %s AND r.is_corrected ORDER BY r.conversation_id DESC LIMIT {MAX_EXAMPLES}
    """
    places = {theme.pk: place for place, theme in enumerate(themes)}
    return [
        TextExample(text, tuple(places[pk] for pk in theme_ids if pk in places), sentiment)
        for text, theme_ids, sentiment in fetch_rows(sql, [block_id])
    ]


# --- Storing ----------------------------------------------------------------------------------------------

# A row is not written if its answer was changed or deleted meanwhile. If themes were read again, only the new
# result for these themes counts; earlier sentiments remain.
_STORE = """
    INSERT INTO surveys_reading AS r
        (conversation_id, block_id, themes, sentiment, quote, version, generated_by, is_corrected)
    SELECT read.id, %(block)s, read.themes::bigint[], read.sentiment, read.quote, %(version)s, %(by)s, FALSE
    FROM jsonb_to_recordset(%(read)s::jsonb)
        AS read(id uuid, text text, themes bigint[], sentiment text, quote text)
    JOIN surveys_conversation c ON c.id = read.id
    JOIN surveys_answer a ON a.conversation_id = read.id AND a.block_id = %(block)s AND a.ordinal = 0
        AND {text} = read.text
    ON CONFLICT (conversation_id, block_id) DO UPDATE SET
        themes = CASE WHEN %(again)s THEN (ARRAY(
            SELECT kept FROM unnest(r.themes) AS kept WHERE kept <> ALL(%(against)s)
        ) || excluded.themes)[:{themes}] ELSE excluded.themes END,
        sentiment = CASE WHEN %(again)s THEN r.sentiment ELSE excluded.sentiment END,
        quote = CASE WHEN excluded.quote = '' AND %(again)s THEN r.quote ELSE excluded.quote END,
        version = excluded.version,
        generated_by = excluded.generated_by,
        is_emptied = FALSE
    WHERE NOT r.is_corrected
    RETURNING conversation_id
"""


@again_after_deadlock
@in_transaction
def store(
    *,
    project: Project,
    block_id: int,
    version: int,
    against: Sequence[Theme],
    texts: Sequence[Text],
    readings: Sequence[TextReading | None],
    quotes: Sequence[str],
    generated_by: str,
    at: datetime,
) -> int:
    """Store the result of a provider that compared answers with some themes. Returns how many rows were
    written.

    `version` is the version of the codebook when the provider began. A theme that was merged meanwhile counts
    as the theme into which it was merged. A theme that was removed does not count. The content of each
    response changes, so `updated_at` moves.
    """
    # Corrections by staff lock in the same order: conversations, then the codebook.
    ids = sorted(text.conversation_id for text in texts)
    fetch_rows("SELECT id FROM surveys_conversation WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [ids])
    if Codebook.objects.select_for_update(of=("self",)).filter(pk=block_id).first() is None:
        return 0  # The question was deleted.
    current = {
        pk: into or pk
        for pk, into in Theme.objects.filter(block_id=block_id).values_list("pk", "merged_into_id")
    }
    rows = [
        {
            "id": str(text.conversation_id),
            "text": text.text,
            "themes": _current_ids(reading, against, current),
            "sentiment": reading.sentiment if reading.sentiment in SENTIMENTS else None,
            "quote": quote,
        }
        for text, reading, quote in zip(texts, map(_kept, texts, readings), quotes, strict=True)
        if reading is not None
    ]
    stored = fetch_rows(
        _STORE.format(text=_TEXT, themes=MAX_THEMES_OF_ANSWER),
        {
            "block": block_id,
            "version": version,
            "by": generated_by,
            "read": orjson.dumps(rows).decode(),
            "again": bool(texts and texts[0].version),
            "against": [theme.pk for theme in against],
        },
    )
    _tell(project, [pk for (pk,) in stored], at=at)
    return len(stored)


@in_transaction
def correct(
    *,
    project: Project,
    conversation_id: uuid.UUID,
    block_id: int,
    themes: Sequence[int],
    sentiment: str | None,
    at: datetime,
) -> bool:
    """Correct the reading of one answer. No analysis changes the correction. Returns False if there is no
    such answer.

    `themes` are ids of the question's themes. The caller has locked the conversation.
    """
    sql = """
        INSERT INTO surveys_reading
            (conversation_id, block_id, themes, sentiment, quote, version, generated_by, is_corrected)
        SELECT a.conversation_id, a.block_id, %(themes)s::bigint[], %(sentiment)s, '', k.version, '', TRUE
        FROM surveys_answer a JOIN surveys_codebook k ON k.block_id = a.block_id
        WHERE a.conversation_id = %(id)s AND a.block_id = %(block)s AND a.ordinal = 0
        ON CONFLICT (conversation_id, block_id) DO UPDATE SET themes = excluded.themes,
            sentiment = excluded.sentiment, version = excluded.version, is_corrected = TRUE
        RETURNING conversation_id
    """
    values = {
        "id": conversation_id,
        "block": block_id,
        "themes": list(themes),
        "sentiment": sentiment,
    }
    written = [pk for (pk,) in fetch_rows(sql, values)]
    _tell(project, written, at=at)
    repository.note_change(project_id=project.pk)  # A finished analysis is out of date.
    return bool(written)


def _kept(text: Text, reading: TextReading | None) -> TextReading | None:
    """Return the reading to store. An answer that could not be read again keeps its earlier reading."""
    return TextReading() if reading is None and text.version else reading


def _current_ids(reading: TextReading, against: Sequence[Theme], current: Mapping[int, int]) -> list[int]:
    """The ids of the themes of a reading after merges and removals, each id once."""
    chosen = (against[place].pk for place in reading.themes if 0 <= place < len(against))
    once = dict.fromkeys(current[pk] for pk in chosen if pk in current)
    return list(once)[:MAX_THEMES_OF_ANSWER]


def _tell(project: Project, ids: Sequence[uuid.UUID], *, at: datetime) -> None:
    """Record that the content of responses has changed. Anonymous responses are recorded once they are
    settled.
    """
    is_anonymous = project.is_anonymous
    position = (
        f"CASE WHEN is_settled THEN {feed_order.NOW} ELSE changed_in END" if is_anonymous else feed_order.NOW
    )
    fetch_rows(
        f"""
        UPDATE surveys_conversation SET changed_in = {position}, updated_at = greatest(updated_at, %s)
        WHERE id = ANY(%s) AND is_listed AND (NOT %s OR is_settled) RETURNING id
        """,
        [anonymity.rounded(project=project, at=at), list(ids), is_anonymous],
    )


# --- Quotes -----------------------------------------------------------------------------------------------

QUOTES_TO_CHOOSE_FROM = 12


def quotes(*, block_id: int, covers: str, themes: Sequence[int]) -> Mapping[int, Sequence[str]]:
    """Return some quotes of each theme in a random but constant order, for choosing different quotes."""
    joined = (
        f"JOIN surveys_conversation c ON c.id = r.conversation_id {_COVERS[covers]}"
        if covers in _COVERS
        else ""
    )
    sql = f"""
        SELECT theme.id, found.quote FROM unnest(%(themes)s::bigint[]) AS theme(id), LATERAL (
            SELECT r.quote FROM surveys_reading r {joined}
            WHERE r.block_id = %(block)s AND r.themes @> ARRAY[theme.id] AND r.quote <> ''
            ORDER BY md5(r.conversation_id::text) LIMIT {QUOTES_TO_CHOOSE_FROM}
        ) found
    """
    found: dict[int, list[str]] = {}
    for theme, quote in fetch_rows(sql, {"themes": list(themes), "block": block_id}):
        found.setdefault(theme, []).append(quote)
    return found
