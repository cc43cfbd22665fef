"""A script as JSON (chapter 3), with warnings about parts of it that will have no effect.

    serialize(project, script)         after a write; serialize_block(…) for one block
    all_blocks(project, script)        with the outro
    rendered(project, outro=…, …)      for a read: parts that are JSON text already, cached between reads

Warnings depend on the project's current rewards and privacy.
"""

from __future__ import annotations

import orjson

from communities import services as communities
from communities.ground.errors import NotFound
from surveys import ai
from surveys.engine.intake.serialization import block_as_json, script_as_json, without_solutions
from surveys.engine.rules.warnings import ScriptWarning, first_of, warnings
from surveys.engine.script import Script
from surveys.models import Project
from surveys.services.ground import script_settings
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import outro as outro_blocks
from surveys.services.scripts.cache import CachedScript
from xp.services import achievements


def serialize(project: Project, script: Script) -> dict[str, object]:
    """The Script object, without its outro."""
    return {
        "project_id": str(project.pk),
        "revision": project.revision,
        "blocks": script_as_json(script),
        "warnings": warnings_about(project, script),
    }


def warnings_about(project: Project, script: Script) -> list[dict[str, object]]:
    """The warnings about parts of this script that have no effect; it need not be the stored script.

    Those about settings that name parts of it follow, with the path of the setting.
    """
    of_script = warnings(
        script,
        uses_xp=project.uses_xp,
        is_anonymous=project.is_anonymous,
        known_achievements=_known_achievements(project, script),
        declared_fields=_declared_fields(project),
        has_model=not ai.provider_is_free(),
    )
    of_settings = (
        ScriptWarning(each.field, each.code, each.message) for each in script_settings.doubts(project, script)
    )
    return [*of_script, *first_of(of_settings)]


def _declared_fields(project: Project) -> frozenset[str] | None:
    """The fields that the page takes from its address; None if responses are given in the chat."""
    if project.response_channel == Project.ResponseChannel.CHAT:
        return None
    return frozenset(project.hidden_fields)


def all_blocks(project: Project, script: Script) -> list[dict[str, object]]:
    """The blocks of the script and of its outro, as a read with `expand=outro` returns them to its
    authors.
    """
    if outro_blocks.gives_xp(project):
        script = _with_amounts(project, script)
    return script_as_json(script, outro=True)


def rendered(project: Project, *, outro: bool, solutions: bool) -> tuple[int, dict[str, object]]:
    """The revision and the Script object, with its outro blocks if `outro` is set.

    Without `solutions` the result contains no more than a respondent could know (rule 1.35). Then warnings
    are left out too, because they are for authors and may quote a formula.

    Runs one statement if the script is not in memory. For some scripts it runs two more statements: for the
    achievements that the script grants, and for the community's settings if the outro gives XP.
    """
    cached = script_cache.of(project)
    blocks: object
    if outro and outro_blocks.gives_xp(project):
        script = cached.script if solutions else without_solutions(cached.script)
        blocks = script_as_json(_with_amounts(project, script), outro=True)
    else:
        blocks = orjson.Fragment(cached.rendered_blocks(outro=outro, solutions=solutions))
    return cached.stored.revision, {
        "project_id": str(project.pk),
        "revision": cached.stored.revision,
        "blocks": blocks,
        "warnings": orjson.Fragment(_rendered_warnings(project, cached)) if solutions else [],
    }


def one_block(project: Project, block_id: int, *, solutions: bool) -> tuple[int, dict[str, object]]:
    """The revision and one block of the script or of its outro, with no more than `rendered` contains.

    Raises NotFound.
    """
    cached = script_cache.of(project)
    script = cached.script if solutions else without_solutions(cached.script)
    if all(block.id != block_id for block in (*script.blocks, *script.outro)):
        raise NotFound("There is no such block in this script.")
    return cached.stored.revision, serialize_block(project, script, block_id)


def serialize_block(project: Project, script: Script, block_id: int) -> dict[str, object]:
    """One block of the script or of its outro."""
    blocks = script.blocks
    if block_id not in script.index_by_id:
        blocks = _with_amounts(project, script).outro
    (block,) = (each for each in blocks if each.id == block_id)
    return block_as_json(block, scoring=script.scoring_enabled)


def _rendered_warnings(project: Project, cached: CachedScript) -> bytes:
    return cached.rendered_warnings(
        uses_xp=project.uses_xp,
        is_anonymous=project.is_anonymous,
        known_achievements=_known_achievements(project, cached.script),
        declared_fields=_declared_fields(project),
        has_model=not ai.provider_is_free(),
    )


def _with_amounts(project: Project, script: Script) -> Script:
    settings = communities.get_settings(community_id=project.community_id)
    return outro_blocks.with_amounts(script, project=project, settings=settings)


def _known_achievements(project: Project, script: Script) -> frozenset[int]:
    """The achievements in the script that have a description. Takes no query if the script grants none."""
    if not script.achievements:
        return frozenset()
    known = achievements.by_number(community_id=project.community_id, numbers=script.achievements)
    return frozenset(number for number, achievement in known.items() if achievement.is_described)
