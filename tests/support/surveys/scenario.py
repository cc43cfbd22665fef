"""Projects for conversations, in a short notation, and the moves of a conversation.

Values that may be None, such as the step at the end, have the type Any here: a test knows its own step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from communities.models import Community, Member
from surveys.engine.script import Block, Option, Script
from surveys.models import Answer, Completion, Project
from surveys.services.conversations import admission, moves
from surveys.services.conversations import service as conversations
from surveys.services.conversations.view import ConversationView
from surveys.services.ground import lookup
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import editing as scripts
from tests.factories import IdentityFactory, MemberFactory, ProjectFactory
from tests.support.moments import LUNCHTIME

CHOICE = {"type": "single_punch", "options": ["red", "green"]}
TEXT = {"type": "open_text"}
SAYING = {"type": "content_block"}
OUTRO = {"type": "content_block", "section": "outro", "name": "thanks"}


def community(number: int = 1) -> Community:
    return Community.objects.get_or_create(id=number, defaults={"name": f"Community {number}"})[0]


def member(name: str = "Ann", *, chat_id: str | None = None, number: int = 1) -> Member:
    member = MemberFactory.create(community=community(number), user__name=name)
    if chat_id:
        IdentityFactory.create(user=member.user, platform_id=chat_id)
    return member


def project(*blocks: Mapping[str, Any], thanks: str = "Thank you.", **fields: Any) -> Project:
    """An open project on the open web, with these blocks named q0, q1, ..."""
    own_fields = {"community": community(), "created_at": LUNCHTIME, "script_is_scored": True, **fields}
    project = ProjectFactory.create(is_open=True, **own_fields)
    write(project, *blocks, thanks=thanks)
    return project


def write(made: Project, *blocks: Mapping[str, Any], thanks: str = "Thank you.") -> None:
    built = [_block(n, raw) for n, raw in enumerate(blocks)]
    outro = [_block(len(blocks), {**OUTRO, "prompt": thanks})]
    scripts.add(made.pk, built, outro=outro, like=Script(()))


def _block(n: int, raw: Mapping[str, Any]) -> Block:
    fields = dict(raw)
    options = tuple(
        replace(Option(**option) if isinstance(option, dict) else Option(option), display_order=m)
        for m, option in enumerate(fields.pop("options", []))
    )
    return Block(**{"name": f"q{n}", "prompt": f"Prompt {n}.", "position": n, **fields}, options=options)


def script(made: Project) -> Any:
    return script_cache.script_of(made)


def option_id(made: Project, name: str, place: int) -> int | None:
    """The id of an option of the block with this name, by its place from 0."""
    block = next(block for block in script(made).blocks if block.name == name)
    option_id: int | None = block.options[place].id
    return option_id


def answers_of(made: Project) -> list[tuple[str, str]]:
    """The prompts and values of all stored answers, in the order of the script."""
    rows = Answer.objects.filter(conversation__project=made).order_by("block", "ordinal")
    return list(rows.values_list("block__prompt", "value"))


def poll(**fields: Any) -> Project:
    return project(CHOICE, **{"type": "poll", **fields})


def begin(made: Project, who: str | None = None, *, at: datetime = LUNCHTIME) -> Any:
    respondent = admission.external(external_id=who) if who else admission.NAMELESS
    return conversations.begin(project_id=made.pk, respondent=respondent, at=at)


def raw(told: ConversationView, said: object) -> dict[str, Any]:
    """An answer to the current block: an option by its place, a list of places, a text; None for a skip."""
    assert told.step is not None
    block = told.step.block
    if isinstance(said, int) and block.options:
        return {"block_id": block.id, "option_id": block.options[said].id}
    if isinstance(said, list):
        key = "ranking" if block.type == "ranking" else "option_ids"
        return {"block_id": block.id, key: [block.options[n].id for n in said]}
    return {"block_id": block.id, "skip": True} if said is None else {"block_id": block.id, "value": said}


def say(told: ConversationView, *said: object, at: datetime = LUNCHTIME) -> Any:
    """Answer the current block and the blocks after it; statements are passed."""
    for each in said:
        told = moves.answer(conversation_id=told.conversation.pk, raw=raw(told, each), at=at)
    return told


def go_on(told: ConversationView, *, at: datetime = LUNCHTIME) -> Any:
    return moves.go_on(conversation_id=told.conversation.pk, at=at)


def back(told: ConversationView, *, at: datetime = LUNCHTIME) -> Any:
    return moves.back(conversation_id=told.conversation.pk, at=at)


def counts(made: Project) -> dict[str, int]:
    found = lookup.with_details([made.pk])[made.pk]
    return {
        "answered": found.response_count,
        "completed": found.completion_count,
        "listed": found.listed_count,
    }


def recounted(made: Project) -> dict[str, int]:
    """The same numbers, counted from the rows themselves."""
    rows = Answer.objects.filter(conversation__project=made)
    return {
        "answered": rows.values("conversation", "block").distinct().count(),
        "completed": made.conversations.filter(completed_at__isnull=False).count(),
        "listed": made.conversations.filter(is_listed=True).count(),
    }


def stored(told: ConversationView) -> list[tuple[str, int, str]]:
    """Answer rows: the block's name, the ordinal, the value."""
    rows = Answer.objects.filter(conversation=told.conversation).order_by("block", "ordinal")
    return list(rows.values_list("block__name", "ordinal", "value"))


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """Asserts the largest number of statements. Statements that begin or end transactions do not count."""
    with CaptureQueriesContext(connection) as captured:
        yield
    bounds = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
    sent = [query["sql"] for query in captured if not query["sql"].startswith(bounds)]
    assert len(sent) <= count, "\n".join(sent)


def completions(made: Project) -> list[int]:
    return sorted(Completion.objects.filter(project=made).values_list("completions", flat=True))
