"""The outro of a script: thanks, and the project's rewards. Colloquy creates it, not the author (rule 3.27).

    initial(project, settings)         the outro of a new project
    thanks(project, settings)          the community's thanks
    with_own_thanks(script, project)   the script without the community's thanks
    updated(outro, project, was=…)     the outro after a change; existing blocks keep their ids and texts
    with_amounts(script, …)            with the XP that it gives now

The thanks are the community's, and follow its settings until somebody edits them
(`projects.script_writes.follow_thanks`). The other blocks are added and removed with the project's rewards;
their names identify them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from communities import services as communities
from communities.ground.ids import id_of
from communities.models import CommunitySettings
from surveys.engine.intake.fields import MAX_XP
from surveys.engine.rules.script import has_link, has_token_in_link
from surveys.engine.script import ActionConfig, Block, Continue, Script
from surveys.models import Project
from surveys.services.ground import field_groups
from xp.models import Achievement
from xp.services import achievements

# The names are in the order of the section.
THANK_YOU, XP, ACHIEVEMENT, ROLE = "thank_you", "xp", "achievement", "role"
MAX_ACHIEVEMENT_NAME = 200
_GIVING = frozenset({XP, ACHIEVEMENT, ROLE})
_THANKS = {
    Project.Type.CONVO: "Thank you! Your answers have been saved.",
    Project.Type.POLL: "Thank you! Your vote has been counted.",
}
_SOBER_THANKS = {
    Project.Type.CONVO: "Your response has been recorded.",
    Project.Type.POLL: "Your vote has been recorded.",
}
XP_GIVEN = "You have earned [xp_points] [xp_name]."
_ROLE_GIVEN = "You have been given a new role."
# The texts of an outro that nobody has edited, which pages say in their language.
OWN_TEXTS = frozenset({*_THANKS.values(), *_SOBER_THANKS.values(), _ROLE_GIVEN})

_NO_SCRIPT = Script(blocks=())
Described = Mapping[int, Achievement]


# --- Its blocks -----------------------------------------------------------------------------------


def initial(project: Project, settings: CommunitySettings) -> tuple[Block, ...]:
    """The outro of a new project, with the community's thank-you text."""
    return updated([thanks(project, settings)], project)


def updated(outro: Sequence[Block], project: Project, *, was: Project | None = None) -> tuple[Block, ...]:
    """The outro that fits the project's rewards, based on the current one.

    Blocks that remain keep their ids and their edits. `was` is the project before the change: texts and
    pictures that nobody has edited change with the project.
    """
    described = _described(project, was)
    stored = {block.name: block for block in outro}
    before = {block.name: block for block in _giving(was, {})} if was else {}
    thanks = [block for block in outro if block.name not in _GIVING]
    giving = [
        _followed(stored.get(now.name), before.get(now.name), now) for now in _giving(project, described)
    ]
    return (*thanks, *giving)


def _followed(stored: Block | None, before: Block | None, now: Block) -> Block:
    if stored is None:
        return now
    followed = replace(stored, action_kind=now.action_kind, action_config=now.action_config)
    if before is None:
        return followed
    return replace(
        followed,
        prompt=now.prompt if stored.prompt == before.prompt else stored.prompt,
        image_url=now.image_url if stored.image_url == before.image_url else stored.image_url,
    )


def thanks(project: Project, settings: CommunitySettings) -> Block:
    """The community's thanks at the end of a project of this type and privacy."""
    kind, kinds = settings.thank_you_type, CommunitySettings.ThankYouType
    words = (_SOBER_THANKS if kind == kinds.FORM_STANDARD else _THANKS)[Project.Type(project.type)]
    label = None
    own = settings.thank_you_custom_message
    if kind == kinds.CUSTOM and not (project.is_anonymous and has_token_in_link(own, _NO_SCRIPT)):
        words, label = own or words, settings.thank_you_custom_label
    return Block(
        type="content_block",
        section="outro",
        name=THANK_YOU,
        prompt=words,
        continue_=Continue(after="click", label=label) if label else None,
    )


def with_own_thanks(script: Script, project: Project) -> Script:
    """The script, with empty thanks if its thanks are the community's. An anonymous project shows these
    without links where some people alone see them (rule 1.182).
    """
    if not any(has_link(block.prompt) for block in script.outro):
        return script
    words = thanks(project, communities.get_settings(community_id=project.community_id)).prompt
    outro = tuple(
        replace(block, prompt="") if block.name == THANK_YOU and block.prompt == words else block
        for block in script.outro
    )
    return replace(script, outro=outro)


def _giving(project: Project, described: Described) -> list[Block]:
    """The blocks that give the project's rewards."""
    rewards = project.rewards or field_groups.empty("rewards")
    blocks = []
    if gives_xp(project):
        blocks.append(_action(XP, "give_xp", ActionConfig(), XP_GIVEN))
    number = achievement_number(project)
    if number is not None:
        picture = rewards["achievement_image_url"] or _of(number, described, "image_url")
        name = rewards["achievement_name"] or _of(number, described, "name") or achievement_name(project)
        words = f"You have earned the achievement “{_without_tokens(name)}”."
        blocks.append(
            _action(ACHIEVEMENT, "give_achievement", ActionConfig(xp_role_id=number), words, picture)
        )
    if rewards["discord_role_id"]:
        role = ActionConfig(role_id=rewards["discord_role_id"])
        blocks.append(_action(ROLE, "give_role", role, _ROLE_GIVEN))
    return blocks


def _action(name: str, kind: str, config: ActionConfig, prompt: str, image_url: str | None = None) -> Block:
    return Block(
        type="action_block",
        section="outro",
        name=name,
        prompt=prompt,
        image_url=image_url,
        action_kind=kind,
        action_config=replace(config, fire_scope="respondent"),
    )


# --- XP -------------------------------------------------------------------------------------------


def gives_xp(project: Project) -> bool:
    """Whether the outro gives XP. A poll gives it with the vote instead (rules 8.15 and 8.16)."""
    return project.uses_xp and not project.is_poll


def with_amounts(script: Script, *, project: Project, settings: CommunitySettings) -> Script:
    """The script with the XP that its outro gives now: an amount for each question (rules 8.15 and 8.16).

    The amount is not stored, so that it follows the community's settings. It is 0 if these settings give no
    XP.
    """
    if not gives_xp(project):
        return script
    questions = sum(block.asks for block in script.blocks)
    amount = min(MAX_XP, settings.xp_for_a_question * questions) if settings.gives_xp else 0
    outro = tuple(
        replace(block, action_config=replace(block.action_config or ActionConfig(), xp_amount=amount))
        if block.name == XP
        else block
        for block in script.outro
    )
    return replace(script, outro=outro)


# --- The achievement --------------------------------------------------------------------------------


def number_achievement(project: Project, *, was: Project | None = None) -> None:
    """Ensure that the achievement which a project grants has a number and a description.

    Without a named number, the achievement keeps its earlier number, or gets the community's next number.
    """
    rewards = project.rewards
    if not rewards or not rewards["achievement_enabled"]:
        return
    number = achievements.define(
        community_id=project.community_id,
        number=achievement_number(project) or (achievement_number(was) if was else None),
        **_description(project),
    )
    if was and achievement_number(was) == number:
        achievements.redescribe(
            community_id=project.community_id,
            number=number,
            before=_description(was),
            after=_description(project),
        )
    project.rewards = rewards | {"achievement_id": str(number)}


def _description(project: Project) -> dict[str, Any]:
    """The description of the achievement from the project: name, picture and role."""
    rewards = project.rewards or {}
    return {
        "name": rewards.get("achievement_name") or achievement_name(project),
        "image_url": rewards.get("achievement_image_url"),
        "role_id": rewards.get("achievement_role_id"),
    }


def achievement_number(project: Project) -> int | None:
    """The number of the achievement that a project grants at its end; None if it grants none."""
    rewards = project.rewards or {}
    return id_of(rewards.get("achievement_id") or "") if rewards.get("achievement_enabled") else None


def achievement_name(project: Project) -> str:
    """The name of a project's achievement if the community has not given it one."""
    return f"Completed: {project.name}"[:MAX_ACHIEVEMENT_NAME]


def _described(project: Project, was: Project | None) -> Described:
    found = [achievement_number(each) for each in (project, was) if each]
    numbers = {number for number in found if number is not None}
    if not numbers:
        return {}
    return achievements.by_number(community_id=project.community_id, numbers=numbers)


def _without_tokens(name: str) -> str:
    """The name with brackets that cannot be read as a token."""
    return name.replace("[", "(").replace("]", ")")


def _of(number: int, described: Described, key: str) -> str | None:
    return getattr(described[number], key) if number in described else None
