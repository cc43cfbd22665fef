"""Texts that respondents wrote, for readers of single responses: all answers to a question, and the newest.

Each text has its further questions beside it. A search looks through these, too.

Responses that are about to be deleted are left out. The ids of anonymous projects are random; there the order
of ids replaces the order by time.

No index has the answers to a question in the order of their responses. So the query reads responses in an
order that has an index, and looks up the answer of each response. The query reads a limited number of
responses, even if it finds nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Concat
from django.utils.text import Truncator

from communities.ground.replica import from_replica
from surveys.models import Answer, Conversation, Project, Reading
from surveys.services.responses import listing
from surveys.services.results.figures import ALL, Selection

NEWEST = 5  # Each question shows this many of its newest answers.
# Newest answers are read for at most this many questions, because each question makes the statement longer.
MOST_QUESTIONS = 20
WALKED = 1_000  # The query reads this many responses to find the newest answers.
FEW = 2_000  # Up to this number, answers are found without reading responses in order.
_COVERS = {"completed": {"completed_at__isnull": False}, "partial": {"completed_at__isnull": True}}


@dataclass(frozen=True, slots=True)
class WrittenAnswers:
    """The responses that answer a question, with the fields to order them by. Each has its `text` and the
    further questions about it (`asked`, None without any).

    `walked` are the responses to search, in the same order; None if no search is needed.
    """

    rows: QuerySet[Conversation]
    order: Sequence[str]
    walked: QuerySet[Conversation] | None


def answers(
    *, project: Project, block_id: int, selection: Selection, other_id: int | None = None
) -> WrittenAnswers:
    """The answers to an open question in selected responses.

    For a choice, the texts that were written for its option `other_id`.
    """
    rows = _answering(project, block_id, selection, other_id)
    # The order is that of the index. In another order PostgreSQL may read the table to find the first rows.
    given = Answer.objects.filter(block_id=block_id).order_by("option", "ordinal")
    if other_id is not None:
        given = Answer.objects.filter(option_id=other_id).order_by("option")
    ids = list(given.values_list("conversation_id", flat=True)[: FEW + 1])
    if len(ids) <= FEW:
        return WrittenAnswers(rows.filter(pk__in=ids), _by_id(project), None)
    walked, order = _walk(project, selection)
    return WrittenAnswers(rows, order, walked)


def containing(
    rows: QuerySet[Conversation], *, block_id: int, term: str, other_id: int | None = None
) -> QuerySet[Conversation]:
    """Responses whose answer to a question contains each word of a term, in upper or lower case.

    A response matches, too, if a further question or an answer to it has the word. For a choice, the text for
    its option `other_id` contains the words.
    """
    if other_id is not None:
        for word in dict.fromkeys(term.split()):
            rows = rows.filter(Q(text__icontains=word))
        return rows
    asked = RawSQL(
        "jsonb_path_query_array(state, %s::jsonpath)::text",
        [f'$.follow_ups."{block_id}"[*].*'],
        output_field=TextField(),
    )
    answer = _answer_to(block_id).alias(whole=Concat("value", Value(" "), asked, output_field=TextField()))
    for word in dict.fromkeys(term.split()):
        answer = answer.filter(whole__icontains=word)
    return rows.alias(match=Subquery(answer[:1])).filter(match__isnull=False)


def with_theme(rows: QuerySet[Conversation], *, block_id: int, theme: int | None) -> QuerySet[Conversation]:
    """Responses whose answer to a question has a theme; with None, responses whose answer has no theme."""
    wanted = {"themes": []} if theme is None else {"themes__contains": [theme]}
    read = _reading_of(block_id).filter(**wanted).values("version")
    return rows.alias(theme=Subquery(read[:1])).filter(theme__isnull=False)


def with_sentiment(rows: QuerySet[Conversation], *, block_id: int, sentiment: str) -> QuerySet[Conversation]:
    """Responses whose answer to a question has a sentiment."""
    return rows.alias(mood=Subquery(_reading_of(block_id).values("sentiment")[:1])).filter(mood=sentiment)


def answer(*, project: Project, block_id: int, response_id: uuid.UUID) -> Any:
    """Return a response with its answer to an open question as `text`, and the further questions as `asked`;
    None without an answer.
    """
    return _answering(project, block_id, ALL).filter(pk=response_id).first()


def asked_of(row: Any, *, longest: int) -> Sequence[Mapping[str, str | None]]:
    """Yield the further questions about an answer, each with the beginning of its answer; None for a skipped
    question.
    """
    return [
        {**each, "answer": each["answer"] and Truncator(each["answer"]).chars(longest)}
        for each in row.asked or ()
    ]


@from_replica
def newest(
    *,
    project: Project,
    block_ids: Sequence[int],
    selection: Selection,
    others: Mapping[int, int] = MappingProxyType({}),
) -> Mapping[int, list[Any]]:
    """Return the newest answers to open questions, at most NEWEST for each question: responses with their
    `text`, by block.

    `others` are the options of choices among them, by block, whose texts are read. A question without an
    answer in the newest responses is left out.
    """
    if not block_ids:
        return {}
    walked, order = _walk(project, selection)
    stretch = _first(walked, order)
    parts = [
        _answering(project, block_id, selection, others.get(block_id))
        .filter(**stretch)
        .annotate(block_id=Value(block_id))
        .order_by(*order)[:NEWEST]
        for block_id in block_ids[:MOST_QUESTIONS]
    ]
    rows = list(parts[0].union(*parts[1:], all=True))
    for name in reversed(order):
        rows.sort(key=attrgetter(name.lstrip("-")), reverse=name.startswith("-"))
    found: dict[int, list[Any]] = {}
    for row in rows:
        found.setdefault(row.block_id, []).append(row)
    return found


def _answering(
    project: Project, block_id: int, selection: Selection, other_id: int | None = None
) -> QuerySet[Any]:
    """Selected responses with their answer as `text`: a subquery, because a join may read all answers
    first.
    """
    rows = listing.rows(project=project).filter(**_COVERS.get(selection.covers, {}), **_completed(selection))
    if selection.provider:
        rows = rows.filter(provider=selection.provider)
    if selection.suspected is not None:
        rows = rows.filter(is_suspected=selection.suspected)
    rows = listing.matching(
        rows,
        project=project,
        fields=selection.fields,
        where=selection.where,
    )
    asked = KeyTransform(str(block_id), KeyTransform("follow_ups", "state"))
    text: Any = Subquery(_answer_to(block_id)[:1])
    if other_id is not None:
        text = KeyTextTransform("text", KeyTransform(str(block_id), KeyTransform("other", "state")))
    return rows.annotate(text=text, asked=asked).filter(text__isnull=False)


def _answer_to(block_id: int) -> QuerySet[Any]:
    return Answer.objects.filter(conversation_id=OuterRef("pk"), block_id=block_id).values("value")


def _reading_of(block_id: int) -> QuerySet[Any]:
    return Reading.objects.filter(conversation_id=OuterRef("pk"), block_id=block_id)


def _walk(project: Project, selection: Selection) -> tuple[QuerySet[Conversation], Sequence[str]]:
    """A project's responses in an order that has an index, filtered by the part of the selection that the
    index contains.
    """
    rows = Conversation.objects.filter(project_id=project.pk)
    completed = _completed(selection)
    if completed and not project.is_anonymous:
        return rows.filter(**completed), ("-completed_at", "-id")
    if selection.provider:
        rows = rows.filter(provider=selection.provider, is_listed=True)
    if selection.suspected:
        rows = rows.filter(is_suspected=True)
    return rows, _by_id(project)


def _by_id(project: Project) -> Sequence[str]:
    return ("id",) if project.is_anonymous else ("-id",)


def _completed(selection: Selection) -> dict[str, Any]:
    bounds = {"completed_at__gte": selection.submitted_after, "completed_at__lt": selection.submitted_before}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _first(walked: QuerySet[Conversation], order: Sequence[str]) -> dict[str, Any]:
    """Return the condition for the first WALKED of these responses."""
    field = order[0].lstrip("-")
    ends = walked.order_by(*order).values_list(field, flat=True)[WALKED - 1 : WALKED]
    return {f"{field}__{'gte' if order[0].startswith('-') else 'lte'}": end for end in ends}
