"""Which roles and channels of the chat platform a project may name: those of its community's own server."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from communities.ground.errors import NotFound
from communities.services.chat import guilds
from communities.services.chat.guilds import Guild
from surveys.engine.script import Script, Violation
from surveys.models import Project
from surveys.services.ground import field_groups, lookup
from surveys.services.scripts import cache as script_cache

_REWARDS = ("discord_role_id", "achievement_role_id")
_CHANNEL = "delivery.invitation.post_channel_id"
_ID = re.compile(r"[0-9]{15,20}")


def look(*, community_id: int, fields: Mapping[str, Any], at: datetime) -> None:
    """Ask the platform about the roles and the channel in the fields of a change, before its transaction.

    The fields may be unchecked and wrong. Never call this inside a transaction.
    """
    if {"delivery", "rewards", "scoring"} & fields.keys():
        _look(community_id, _roles_in(fields), _channel_in(fields), at)


def look_to_open(*, community_id: int, project_id: int, fields: Mapping[str, Any], at: datetime) -> None:
    """Ask the platform about all roles and channels that a project names, before the transaction that opens
    it.
    """
    try:
        project = lookup.in_community(community_id=community_id, project_id=project_id)
    except NotFound:  # The transaction refuses it.
        return
    own = {"delivery": project.delivery, "rewards": project.rewards}
    script = script_cache.script_of(project)
    granted = [role_id for _, role_id in _granted(script)]
    role_ids = [*_roles_in(fields), *_roles_in(own), *granted]
    _look(community_id, role_ids, _channel_in(fields) or _channel_in(own), at)


def _look(community_id: int, role_ids: Collection[str], channel_id: str, at: datetime) -> None:
    guilds.look(
        community_id=community_id,
        role_ids=[each for each in role_ids if _ID.fullmatch(each)],
        channel_ids=[channel_id] if _ID.fullmatch(channel_id) else [],
        at=at,
    )


def _roles_in(fields: Mapping[str, Any]) -> list[str]:
    """All values at the places of roles in these fields, as text."""
    delivery, rewards = _group(fields, "delivery"), _group(fields, "rewards")
    ids = [rewards.get(key) for key in _REWARDS]
    for group, key in (("audience", "required_role_ids"), ("invitation", "ping_role_ids")):
        listed = _group(delivery, group).get(key)
        ids += listed if isinstance(listed, list) else []
    return [str(each) for each in ids if each]


def _channel_in(fields: Mapping[str, Any]) -> str:
    return str(_group(_group(fields, "delivery"), "invitation").get("post_channel_id") or "")


def _group(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    group = fields.get(name)
    return group if isinstance(group, Mapping) else {}


def check(project: Project, script: Script, guild: Guild, *, was: Project | None) -> Iterator[Violation]:
    """The violations in a project's roles and channel, except for values that were there before."""
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
    """The paths at which a project names a role or a channel that the server did not have when it was last
    read.
    """
    rewards = project.rewards or {}
    ids = {f"rewards.{key}": rewards.get(key) for key in _REWARDS}
    ids |= _roles_named(project)
    ids |= {f"script.blocks[{n}].action_config.role_id": role_id for n, role_id in _granted(script)}
    unknown = {path for path, role_id in ids.items() if role_id and role_id not in guild.roles}
    channel_id = _post_channel(project)
    if channel_id and channel_id not in guild.channels:
        unknown.add(_CHANNEL)
    return unknown


def unasked_paths(project: Project, guild: Guild) -> set[str]:
    """The paths at which a project names something that the platform has not been asked about yet: a channel
    that may be a thread.
    """
    channel_id = _post_channel(project)
    is_known = channel_id in guild.channels or channel_id in guild.no_channels
    return {_CHANNEL} if channel_id and not is_known else set()


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
        path = _CHANNEL
        yield Violation(path, "not_allowed", f"`{path}`: this channel {fault}.")


def _actions(script: Script, guild: Guild) -> Iterator[Violation]:
    for n, role_id in _granted(script):
        if fault := guild.grant_fault(role_id):
            path = f"script.blocks[{n}].action_config.role_id"
            yield Violation(path, "not_allowed", f"`{path}`: this role {fault}.")


def _roles_named(project: Project) -> dict[str, str]:
    """The roles that the delivery requires and notifies, by their paths."""
    asked: Sequence[str] = ((project.delivery or {}).get("audience") or {}).get("required_role_ids") or []
    pinged = field_groups.pinged_roles(project.delivery)
    named = {f"delivery.audience.required_role_ids[{n}]": role_id for n, role_id in enumerate(asked)}
    return named | {f"delivery.invitation.ping_role_ids[{n}]": role_id for n, role_id in enumerate(pinged)}


def _post_channel(project: Project) -> str:
    return ((project.delivery or {}).get("invitation") or {}).get("post_channel_id") or ""
