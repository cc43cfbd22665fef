"""The number of answers with each theme and each sentiment, from the rows of readings (rule 10.21).

    count(block_id, covers=…)                     the counts of one question as they are now
    part(block_ids, where, values, division)      the part of a statement that counts the same of selected
                                                  conversations, and of each segment; None without questions
    CountedReadings.of(counted).question(…)       the counts of one question, the most frequent theme first

Every result, analysis and answer about results takes its counts of themes from this module.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import orjson

from communities.ground.statements import Part, fetch_rows
from surveys.ai.provider import SENTIMENTS, CountedTheme, Sentiment
from surveys.engine.statistics import percentage
from surveys.services.counting.derived import Counted
from surveys.services.counting.divisions import Division

MAX_REPORTED_THEMES = 12  # A question reports at most this many themes.
ENTRIES = MAX_REPORTED_THEMES + len(SENTIMENTS)  # The number of entries of a question.
# A merged theme has no answers, so only existing themes get a name.
_COUNTED = """
    WITH read AS MATERIALIZED (
        SELECT r.block_id, r.themes, r.sentiment, {mark} AS mark{weighed}
        FROM surveys_reading r {joined} WHERE r.block_id = ANY(%s) {where}
    ),
    parts AS MATERIALIZED (
        SELECT NULL::text AS segment, block_id, themes, sentiment{weight} FROM read
        {segments}
    )
    SELECT json_build_object(
        'named', (SELECT json_agg(json_build_array(block_id, id, title, description) ORDER BY id)
            FROM surveys_theme WHERE block_id = ANY(%s) AND merged_into_id IS NULL),
        'read', (SELECT json_agg(json_build_array(block_id, segment, sentiment, people)) FROM (
            SELECT block_id, segment, sentiment, {people} AS people FROM parts GROUP BY 1, 2, 3) read_of),
        'themes', (SELECT json_agg(json_build_array(block_id, segment, theme, sentiment, people)) FROM (
            SELECT block_id, segment, theme, sentiment, {people} AS people
            FROM parts, unnest(themes) AS theme GROUP BY 1, 2, 3, 4) themes_of)
    )
"""
_SEGMENTS = """
    UNION ALL SELECT segment.name, block_id, themes, sentiment{} FROM read, LATERAL {} segment(name)
"""
_COVERS = {"completed": "c.completed_at IS NOT NULL", "partial": "c.completed_at IS NULL"}


def part(
    block_ids: Collection[int],
    where: str,
    values: Sequence[Any],
    division: Division | None,
    weight: Part | None = None,
) -> Part | None:
    """The part of a statement that counts the readings of these questions in selected conversations `c`, or
    adds up the conversations' weights.

    Without a condition all readings are counted, and no conversation is looked up.
    """
    if not block_ids:
        return None
    ids = list(block_ids)
    own = ", weight" if weight else ""
    sql = _COUNTED.format(
        mark=division.mark if division else "NULL::jsonb",
        joined="JOIN surveys_conversation c ON c.id = r.conversation_id" if where or division else "",
        where=f"AND {where}" if where else "",
        segments=_SEGMENTS.format(own, division.in_mark) if division else "",
        people="sum(weight)" if weight else "count(*)",
        weight=own,
        weighed=f", {weight[0]} AS weight" if weight else "",
    )
    marked = [*(division.values if division else []), *(weight[1] if weight else [])]
    return sql, [*marked, ids, *values, ids]


def count(block_id: int, *, covers: str) -> ThemeCounts:
    """The counts of a question as they are now."""
    statement = part([block_id], _COVERS.get(covers, ""), [], None)
    assert statement is not None
    sql, values = statement
    [(counted,)] = fetch_rows(f"SELECT ({sql})::text", values)
    found = CountedReadings.of(orjson.loads(counted)).question(block_id)
    return found or ThemeCounts(0, dict.fromkeys(SENTIMENTS, 0), [])


@dataclass(frozen=True, slots=True)
class ThemeCounts:
    """The themes of a question with their counts, and its answers by sentiment.

    `ranked` are pairs of a theme's id and its counts. `moods` leaves out answers that could not be judged.
    """

    read_count: int
    moods: Mapping[str, int]
    ranked: Sequence[tuple[int, CountedTheme]]

    @property
    def unjudged_count(self) -> int:
        return self.read_count - sum(self.moods.values())

    def as_json(self, *, answer_count: int | None) -> dict[str, Any]:
        """The `open_text` of an AnalysisBlock, without anybody's words."""
        return {
            "summary": None,
            "themes": [{**asdict(theme), "quotes": []} for _, theme in self.ranked],
            "sentiment": dict(self.moods) if any(self.moods.values()) or not self.unjudged_count else None,
            "answer_count": answer_count,
            "analysed_count": self.read_count,
        }


@dataclass(frozen=True, slots=True)
class CountedReadings:
    """The counts of a statement, by question and segment. The segment None has all selected answers.

    `sentiments` are numbers of answers. `themes` are numbers of answers with each theme, by sentiment. The
    sentiment None means that the answer was not judged.
    """

    named: Mapping[int, Sequence[tuple[int, str, str]]]  # The id, title and description of each theme.
    sentiments: Mapping[tuple[int, str | None], Mapping[str | None, int]]
    themes: Mapping[tuple[int, str | None], Mapping[int, Mapping[str | None, int]]]

    @classmethod
    def of(cls, counted: Counted) -> Self:
        named: dict[int, list[tuple[int, str, str]]] = {}
        for block_id, theme, title, description in counted.get("named") or ():
            named.setdefault(block_id, []).append((theme, title, description))
        sentiments: dict[tuple[int, str | None], dict[str | None, int]] = {}
        for block_id, segment, sentiment, count in counted.get("read") or ():
            sentiments.setdefault((block_id, segment), {})[sentiment] = count
        themes: dict[tuple[int, str | None], dict[int, dict[str | None, int]]] = {}
        for block_id, segment, theme, sentiment, count in counted.get("themes") or ():
            themes.setdefault((block_id, segment), {}).setdefault(theme, {})[sentiment] = count
        return cls(named, sentiments, themes)

    def question(self, block_id: int) -> ThemeCounts | None:
        """Return the counts of a question, the most frequent themes first. Themes without an answer are left
        out.

        Returns None if no answer to the question was read.
        """
        if (block_id, None) not in self.sentiments:
            return None
        moods = self.themes.get((block_id, None), {})
        named = [theme for theme in self.named.get(block_id, ()) if theme[0] in moods]
        named.sort(key=lambda theme: (-sum(moods[theme[0]].values()), theme[0]))
        return self._counts(block_id, None, named[:MAX_REPORTED_THEMES])

    def segment(self, block_id: int, name: str, *, whole: ThemeCounts | None) -> dict[str, Any] | None:
        """Return the counts of a segment as JSON. The themes and their order are the same as for the whole
        question.

        Data that the `open_text` of the question contains is not repeated.
        """
        if whole is None:
            return None
        named = [(theme_id, theme.title, theme.description) for theme_id, theme in whole.ranked]
        told = self._counts(block_id, name, named).as_json(answer_count=0)
        names = ("title", "count", "percentage", "sentiment")
        return {
            "themes": [{name: theme[name] for name in names} for theme in told["themes"]],
            "sentiment": told["sentiment"],
            "analysed_count": told["analysed_count"],
        }

    def _counts(
        self, block_id: int, segment: str | None, named: Sequence[tuple[int, str, str]]
    ) -> ThemeCounts:
        sentiments = self.sentiments.get((block_id, segment), {})
        themes = self.themes.get((block_id, segment), {})
        read_count = sum(sentiments.values())
        ranked = []
        for theme_id, title, description in named:
            moods = themes.get(theme_id, {})
            count = sum(moods.values())
            share = percentage(count, read_count)
            ranked.append((theme_id, CountedTheme(title, description, count, share, _most_frequent(moods))))
        return ThemeCounts(read_count, {mood: sentiments.get(mood, 0) for mood in SENTIMENTS}, ranked)


def _most_frequent(moods: Mapping[str | None, int]) -> Sentiment | None:
    """Return the most frequent sentiment among answers; None if no answer could be judged."""
    if not any(moods.get(each) for each in SENTIMENTS):
        return None
    return max(SENTIMENTS, key=lambda each: moods.get(each, 0))
