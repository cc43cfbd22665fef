"""Roles and channels of the chat platform to choose by name, in forms whose fields hold their ids.

Where a community's server is not known, the fields stay as they are: for ids. The services check all ids
anyway, so what a browser sends is trusted no more than before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django import forms

from communities.services.chat.guilds import Guild


class ReasonedSelect(forms.Select):
    """A menu in which some choices cannot be chosen. `faults` says why, by value."""

    def __init__(self, choices: Iterable[tuple[str, str]], faults: dict[str, str], **kwargs: Any) -> None:
        super().__init__(choices=list(choices), **kwargs)
        self.faults = faults

    def create_option(
        self, name: str, value: Any, label: Any, selected: Any, *args: Any, **kwargs: Any
    ) -> Any:
        option = super().create_option(name, value, label, selected, *args, **kwargs)
        if str(value) in self.faults and not selected:
            option["attrs"]["disabled"] = True
        return option


def offer_reward_role(form: forms.Form, name: str, guild: Guild | None, *, nothing: str) -> None:
    """Make a field a menu of the server's roles. Those that must not or cannot be given say why.

    `nothing` is the choice of none.
    """
    if guild is None:
        return
    faults = {role.id: guild.grant_fault(role.id) for role in guild.roles_in_order}
    faults = {role_id: fault for role_id, fault in faults.items() if fault}
    choices = [(role.id, _with_reason(role.name, faults.get(role.id, ""))) for role in guild.roles_in_order]
    _offer(form, name, choices, faults, nothing)
    form.fields[name].help_text = "A role of your server. Those that cannot be given say why."


def offer_channel(form: forms.Form, name: str, guild: Guild | None, *, nothing: str) -> None:
    """Make a field a menu of the server's channels in which the bot can post; others say why not."""
    if guild is None:
        return
    faults = {channel.id: guild.post_fault(channel.id) for channel in guild.text_channels}
    faults = {channel_id: fault for channel_id, fault in faults.items() if fault}
    choices = [
        (each.id, _with_reason(f"#{each.name}", faults.get(each.id, ""))) for each in guild.text_channels
    ]
    _offer(form, name, choices, faults, nothing)
    form.fields[name].help_text = (
        "Where the invitation is posted. Answering in the chat needs one. Channels where the bot cannot "
        "post say why."
    )


def role_choices(guild: Guild, chosen: Collection[str]) -> list[tuple[str, str]]:
    """The server's roles to tick, with those that were chosen and are gone."""
    known = [(role.id, role.name) for role in guild.roles_in_order]
    gone = [each for each in chosen if each not in guild.roles or each == guild.id]
    return known + [(each, f"{each}, which is no role of your server any more") for each in gone]


def _offer(
    form: forms.Form, name: str, choices: list[tuple[str, str]], faults: dict[str, str], nothing: str
) -> None:
    field = form.fields[name]
    present = str(form.initial.get(name) or "")
    if present and present not in dict(choices):
        choices = [*choices, (present, f"{present}, which is not in your server")]
    widget = ReasonedSelect([("", nothing), *choices], faults, attrs=dict(field.widget.attrs))
    widget.is_required = field.required
    field.widget = widget


def _with_reason(name: str, fault: str) -> str:
    return f"{name}: {fault}" if fault else name
