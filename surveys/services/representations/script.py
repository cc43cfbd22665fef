"""A script as the interface tells it (interface 2.4), with warnings about what it will not do.

    told(project, script)              after a write; block_told(…) one block of it
    rendered(project, outro=…)         for a read: the parts as JSON already, kept from one read to the next

Warnings are about the script as it stands beside the project's rewards and privacy at this moment.
"""

from __future__ import annotations

import orjson

from communities import services as communities
from surveys.engine.intake.serialization import block_as_json, script_as_json
from surveys.engine.rules.warnings import warnings
from surveys.engine.script import Script
from surveys.models import Project
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import outro as outro_blocks
from xp.services import achievements


def told(project: Project, script: Script) -> dict[str, object]:
    """The Script object, without its outro."""
    return {
        "project_id": str(project.pk),
        "revision": project.revision,
        "blocks": script_as_json(script),
        "warnings": warnings(
            script,
            uses_xp=project.uses_xp,
            is_anonymous=project.is_anonymous,
            known_achievements=_known_achievements(project, script),
        ),
    }


def rendered(project: Project, *, outro: bool) -> tuple[int, dict[str, object]]:
    """The revision, and the Script object; with its outro blocks where they are asked for.

    One statement where the script is not in memory. Two more are needed by few scripts: the achievements
    that a script grants, and the community's settings where the outro gives XP.
    """
    kept = script_cache.get(project.pk, project.revision)
    told_warnings = kept.rendered_warnings(
        uses_xp=project.uses_xp,
        is_anonymous=project.is_anonymous,
        known_achievements=_known_achievements(project, kept.script),
    )
    blocks = None
    if outro and outro_blocks.gives_xp(project):
        blocks = script_as_json(_with_amounts(project, kept.script), outro=True)
    return kept.stored.revision, {
        "project_id": str(project.pk),
        "revision": kept.stored.revision,
        "blocks": orjson.Fragment(kept.rendered_blocks(outro=outro)) if blocks is None else blocks,
        "warnings": orjson.Fragment(told_warnings),
    }


def block_told(project: Project, script: Script, block_id: int) -> dict[str, object]:
    """One block of the script, also of its outro."""
    blocks = script.blocks
    if block_id not in script.index_by_id:
        blocks = _with_amounts(project, script).outro
    (block,) = (each for each in blocks if each.id == block_id)
    return block_as_json(block, scoring=script.scoring_enabled)


def _with_amounts(project: Project, script: Script) -> Script:
    settings = communities.get_settings(community_id=project.community_id)
    return outro_blocks.with_amounts(script, project=project, settings=settings)


def _known_achievements(project: Project, script: Script) -> frozenset[int]:
    """Those of the achievements in the script that are described; nobody is asked where it grants none."""
    if not script.achievements:
        return frozenset()
    known = achievements.by_number(community_id=project.community_id, numbers=script.achievements)
    return frozenset(number for number, achievement in known.items() if achievement.is_described)
