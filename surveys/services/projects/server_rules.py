"""Which roles and channels of the chat platform a project may name: those of its community's own server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from communities.services.chat.guilds import Guild
from surveys.engine.script import Script, Violation
from surveys.models import Project
from surveys.services import field_groups

_REWARDS = ("discord_role_id", "achievement_role_id")


def check(project: Project, script: Script, guild: Guild, *, was: Project | None) -> Iterator[Violation]:
    """What is wrong with a project's roles and channel, other than what stood there before."""
    yield from _rewards(project, guild, was)
    yield from _audience(project, guild, was)
    yield from _channel(project, guild, was)
    if was is None:
        yield from _actions(script, guild)


def check_everyone(project: Project, *, was: Project | None) -> Iterator[Violation]:
    """Refuse the role that all members of a server have, which has the server's own id."""
    before = set(_roles_named(was).values()) if was else ()
    everyone = str(project.community_id)
    for path, role_id in _roles_named(project).items():
        if role_id == everyone and role_id not in before:
            yield Violation(
                path, "not_allowed", f"`{path}` is the role @everyone, which all members of the server have."
            )


def unknown_paths(project: Project, script: Script, guild: Guild) -> set[str]:
    """Where a project names a role or a channel that the server did not have when it was last seen."""
    rewards = project.rewards or {}
    ids = {f"rewards.{key}": rewards.get(key) for key in _REWARDS}
    ids |= _roles_named(project)
    ids |= {f"script.blocks[{n}].action_config.role_id": role_id for n, role_id in _granted(script)}
    unknown = {path for path, role_id in ids.items() if role_id and role_id not in guild.roles}
    channel_id = _post_channel(project)
    if channel_id and channel_id not in guild.channels:
        unknown.add("delivery.invitation.post_channel_id")
    return unknown


def _granted(script: Script) -> Iterator[tuple[int, str]]:
    """The positions of blocks that give a role, and the roles."""
    for n, block in enumerate(script.blocks):
        if block.action_kind == "give_role" and block.action_config and block.action_config.role_id:
            yield n, block.action_config.role_id


def _rewards(project: Project, guild: Guild, was: Project | None) -> Iterator[Violation]:
    before = (was.rewards or {}) if was else {}
    for key in _REWARDS:
        role_id = (project.rewards or {}).get(key)
        if role_id and role_id != before.get(key) and (fault := guild.grant_fault(role_id)):
            yield Violation(f"rewards.{key}", "not_allowed", f"`rewards.{key}`: this role {fault}.")


def _audience(project: Project, guild: Guild, was: Project | None) -> Iterator[Violation]:
    before = set(_roles_named(was).values()) if was else ()
    for path, role_id in _roles_named(project).items():
        if role_id not in guild.roles and role_id not in before:
            yield Violation(path, "not_found", f"`{path}` is no role of this community’s server.")


def _channel(project: Project, guild: Guild, was: Project | None) -> Iterator[Violation]:
    channel_id = _post_channel(project)
    if not channel_id or (was and channel_id == _post_channel(was)):
        return
    if fault := guild.post_fault(channel_id):
        path = "delivery.invitation.post_channel_id"
        yield Violation(path, "not_allowed", f"`{path}`: this channel {fault}.")


def _actions(script: Script, guild: Guild) -> Iterator[Violation]:
    for n, role_id in _granted(script):
        if fault := guild.grant_fault(role_id):
            path = f"script.blocks[{n}].action_config.role_id"
            yield Violation(path, "not_allowed", f"`{path}`: this role {fault}.")


def _roles_named(project: Project) -> dict[str, str]:
    """The roles that the delivery asks for and notifies, by their paths."""
    asked: Sequence[str] = ((project.delivery or {}).get("audience") or {}).get("required_role_ids") or []
    pinged = field_groups.pinged_roles(project.delivery)
    named = {f"delivery.audience.required_role_ids[{n}]": role_id for n, role_id in enumerate(asked)}
    return named | {f"delivery.invitation.ping_role_ids[{n}]": role_id for n, role_id in enumerate(pinged)}


def _post_channel(project: Project) -> str:
    return ((project.delivery or {}).get("invitation") or {}).get("post_channel_id") or ""
