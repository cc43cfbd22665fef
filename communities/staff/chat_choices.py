"""Menus of the chat platform's roles and channels by name, in forms whose fields contain their ids.

If a community's server is not known, the fields stay text fields for ids. The services check all ids anyway,
so that the form need not be trusted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.services.chat.guilds import Channel, Guild


class ReasonedSelect(forms.Select):
    """A menu in which some choices are disabled. `faults` contains the reasons, by value."""

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


class ChannelSelect(ReasonedSelect):
    """A menu of channels, and a field for the link of a thread: threads are not in the menu, because there
    may be thousands.
    """

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        menu = super().render(name, value, attrs, renderer)
        return format_html(
            '{}<input type="text" name="{}" class="vTextField" maxlength="200" autocomplete="off"'
            ' aria-label="Link of a thread or forum post" placeholder="or the link of a thread or post">',
            menu,
            _thread_name(name),
        )

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        """A pasted link has priority.

        The channel is taken from the link; any other text is returned unchanged, and refused.
        """
        pasted = str(data.get(_thread_name(name)) or "").strip()
        if link := _LINK.fullmatch(pasted):
            return link[1]
        return pasted or super().value_from_datadict(data, files, name)


_LINK = re.compile(r"https://[\w.]+/channels/\d+/(\d+)(?:/\d+)?/?")


def _thread_name(name: str) -> str:
    return f"{name}_thread"


def offer_reward_role(form: forms.Form, name: str, guild: Guild | None, *, nothing: str) -> None:
    """Make a field a menu of the server's roles. Roles that must not or cannot be given show the reason.

    `nothing` is the label of the empty choice.
    """
    if guild is None:
        return
    faults = {role.id: guild.grant_fault(role.id) for role in guild.roles_in_order}
    faults = {role_id: fault for role_id, fault in faults.items() if fault}
    choices = [(role.id, _with_reason(role.name, faults.get(role.id, ""))) for role in guild.roles_in_order]
    _offer(form, name, choices, faults, nothing)
    form.fields[name].help_text = "A role of your server. Those that cannot be given say why."


def offer_channel(form: forms.Form, name: str, guild: Guild | None, *, nothing: str) -> None:
    """Make a field a menu of the server's channels; those in which the bot cannot post show the reason.

    The menu contains the thread that was chosen before; another thread is chosen by its link.
    """
    if guild is None:
        return
    chosen = guild.channels.get(str(form.initial.get(name) or ""))
    offered = [*guild.text_channels, *([chosen] if chosen and chosen.is_thread else [])]
    faults = {channel.id: guild.post_fault(channel.id) for channel in offered}
    faults = {channel_id: fault for channel_id, fault in faults.items() if fault}
    choices = [(each.id, _with_reason(_name_of(each, guild), faults.get(each.id, ""))) for each in offered]
    _offer(form, name, choices, faults, nothing, widget=ChannelSelect)
    form.fields[name].help_text = (
        "Where the invitation is posted. Answering in the chat needs one. Channels where the bot cannot "
        "post say why. For a thread or a post of a forum, paste its link (on Discord: right-click it, Copy "
        "Link). The bot needs Send Messages in Threads there, and Manage Threads if it is locked."
    )


def _name_of(channel: Channel, guild: Guild) -> str:
    parent = guild.channels.get(channel.parent_id)
    return f"#{parent.name} › {channel.name}" if parent else f"#{channel.name}"


def role_choices(guild: Guild, chosen: Collection[str]) -> list[tuple[str, str]]:
    """The server's roles as checkboxes, including chosen roles that no longer exist."""
    known = [(role.id, role.name) for role in guild.roles_in_order]
    gone = [each for each in chosen if each not in guild.roles or each == guild.id]
    return known + [(each, f"{each}, which is no role of your server any more") for each in gone]


def _offer(
    form: forms.Form,
    name: str,
    choices: list[tuple[str, str]],
    faults: dict[str, str],
    nothing: str,
    *,
    widget: type[ReasonedSelect] = ReasonedSelect,
) -> None:
    field = form.fields[name]
    present = str(form.initial.get(name) or "")
    if present and present not in dict(choices):
        choices = [*choices, (present, f"{present}, which is not in your server")]
    menu = widget([("", nothing), *choices], faults, attrs=dict(field.widget.attrs))
    menu.is_required = field.required
    field.widget = menu


def _with_reason(name: str, fault: str) -> str:
    return f"{name}: {fault}" if fault else name
