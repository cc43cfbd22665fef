"""Changes of a script that AI proposes by an instruction (rules 10.50 to 10.52). This module saves nothing.

prepare(actor=…, project_id=…, instruction=…, …)    begin the work, and wait for its result
propose(actor=…, project_id=…, generation_id=…)     the proposed script, with the differences by block
request_of(project, blocks=…, instruction=…)        the request to the provider, also about a draft
require_model()                                     refuses where no model works
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any

from communities import services as communities
from communities.ground.actors import Actor
from communities.ground.errors import Conflict
from communities.ground.transactions import in_transaction
from surveys import ai
from surveys.ai.local import NEEDS_A_MODEL
from surveys.ai.provider import RevisionRequest
from surveys.models import Generation, Project
from surveys.services.ai_work import generation
from surveys.services.drafts import starting
from surveys.services.ground import access, lookup
from surveys.services.representations import script as script_json
from surveys.services.scripts import cache as script_cache

Json = dict[str, Any]
_DERIVED = ("id", "position", "precondition")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A changed script, with its differences from the stored script at the revision of the request."""

    revision: int
    body: Json


def prepare(
    *,
    actor: Actor,
    project_id: int,
    instruction: str,
    claim: str | None,
    fingerprint: str,
    is_answered: Callable[[], bool],
    at: datetime,
) -> int | None:
    """Have AI change the script of a project, and wait for the result, outside any transaction.

    The arguments, and None as a result, are explained in `generation.begin`. Refuses an actor who may not
    edit the project, raises Conflict where no model is configured, and refuses as `generation.begin` does.
    """
    project = lookup.in_community(community_id=actor.community_id, project_id=project_id)
    access.require_editor(actor=actor, project=project)
    require_model()
    generation_id = generation.begin(
        community_id=actor.community_id,
        kind=Generation.Kind.REVISION,
        request=request_of(project, blocks=_stored_blocks(project), instruction=instruction),
        revised=project,
        claim=claim,
        fingerprint=fingerprint,
        is_answered=is_answered,
        at=at,
    )
    if generation_id is not None:
        generation.wait(generation_id=generation_id)
        generation.require_end(generation_id=generation_id, claim=claim)
    return generation_id


def require_model() -> None:
    """Raise Conflict where only the local provider is configured."""
    if ai.provider_is_free():
        raise Conflict(NEEDS_A_MODEL)


def request_of(project: Project, *, blocks: Sequence[Json], instruction: str) -> RevisionRequest:
    """Return the request to the provider about these blocks; each block has an id."""
    script = script_cache.script_of(project)
    return RevisionRequest(
        blocks=blocks,
        instruction=instruction,
        type=project.type,
        bucket_names=tuple(bucket.name for bucket in script.buckets),
        for_chat=project.response_channel == Project.ResponseChannel.CHAT,
        locale=communities.get_settings(community_id=project.community_id).locale,
    )


@in_transaction
def propose(*, actor: Actor, project_id: int, generation_id: int | None) -> Proposal:
    """Return the script that AI proposes. Refuses as `generation.fetch` does."""
    project = lookup.in_community(community_id=actor.community_id, project_id=project_id)
    access.require_editor(actor=actor, project=project)
    fetched = generation.fetch(generation_id=generation_id)
    before = fetched.request["blocks"]
    assert fetched.draft is not None
    understood, unmet = generation.met_and_unmet(fetched, project)
    blocks = starting.complete(fetched.draft["blocks"])
    return Proposal(
        fetched.request["revision"],
        {
            "blocks": blocks,
            "changes": list(_changes(before, blocks)),
            "understood": understood,
            "unmet": unmet,
            "generated_by": fetched.generated_by,
            "credits_used": fetched.credits_used,
        },
    )


def _stored_blocks(project: Project) -> list[Json]:
    script = script_cache.script_of(project)
    blocks: list[Json] = script_json.serialize(project, script)["blocks"]  # type: ignore[assignment]
    return blocks


def _changes(before: Sequence[Json], after: Sequence[Json]) -> Iterator[Json]:
    """Yield the differences by block, in the order of the new script; removed blocks are last."""
    old = {block["id"]: block for block in before}
    kept = [block["id"] for block in after if block["id"] in old]
    placed = _in_place([block_id for block_id in old if block_id in kept], kept)
    for n, block in enumerate(after):
        was = old.pop(block["id"], None)
        if was is None:
            yield _change("added", block, n)
            continue
        if fields := _differing(was, block):
            yield _change("changed", block, n, fields)
        if block["id"] not in placed:
            yield _change("moved", block, n)
    for was in old.values():
        yield _change("removed", was, None)


def _change(change: str, block: Json, index: int | None, fields: Sequence[str] = ()) -> Json:
    return {
        "block_id": block["id"],
        "name": block["name"],
        "change": change,
        "index": index,
        "fields": list(fields),
    }


def _in_place(before: Sequence[int], after: Sequence[int]) -> set[int]:
    """Return the ids that kept their place; the other blocks moved around them."""
    alike = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return {block_id for match in alike for block_id in before[match.a : match.a + match.size]}


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    (was,) = starting.complete([before])
    has_ids = bool(after["correct_answer_ids"])  # With ids, the indexes follow from the ids.
    ignored = (*_DERIVED, "correct_answer_index", "correct_answer_indexes") if has_ids else _DERIVED
    return [name for name in after if name not in ignored and after[name] != was.get(name)]
