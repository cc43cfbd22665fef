"""A preview of a project's post in the chat, drawn by the code that posts it (`surveys.chat`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from communities.chat_platform import limits
from communities.services.pictures import copies
from communities.staff.texts import moment
from surveys.chat import invitations, words
from surveys.models import Project
from surveys.services.ground import field_groups
from surveys.services.scripts import cache as script_cache

# The conversion of the platform's markup in our own texts; a backslash keeps a character unchanged.
_MARKUP = re.compile(
    r"\\(?P<kept>[^\w\s])|\*\*(?P<strong>.+?)\*\*|(?<!\w)_(?P<em>[^_\n]+)_(?!\w)"
    r"|<t:(?P<time>\d+):f> \(<t:\d+:R>\)|<@&(?P<role>\d+)>|^-# ",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ShownEmbed:
    """One embed of a message. Pictures are our copies; for a picture without a copy its address is shown."""

    colour: str
    author: str
    title: str
    text: SafeString
    footer: str
    image: copies.Copy | None
    image_address: str
    thumbnail: copies.Copy | None
    thumbnail_address: str


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A button or a menu. `style` is the platform's number; 0 is a menu."""

    label: str
    style: int


@dataclass(frozen=True, slots=True)
class ShownPost:
    """A message of the platform, for a template."""

    embeds: list[ShownEmbed]
    rows: list[list[ShownPart]]


def draw(project: Project, delivery: Mapping[str, Any], *, tier: str, at: datetime) -> ShownPost | None:
    """The post of a project with these changes of its delivery group, as if the project were open.

    None for a poll without a question.
    """
    script = script_cache.script_of(project)
    if project.is_poll and not any(block.asks for block in script.blocks):
        return None
    opened = copy(project)
    opened.delivery = field_groups.merged("delivery", project.delivery, delivery)
    audience = (opened.delivery or {}).get("audience") or {}
    opened.response_channel = audience.get("response_channel") or project.response_channel
    opened.status = Project.Status.ACTIVE
    if opened.closes_at is not None and opened.closes_at <= at:
        opened.closes_at = None
    return of_message(invitations.draw(opened, tier=tier, at=at).as_json(), project.community_id)


def of_message(raw: Mapping[str, Any], community_id: int) -> ShownPost:
    """A message as it is sent to the platform, for the template."""
    addresses = [each[key]["url"] for each in raw["embeds"] for key in ("image", "thumbnail") if key in each]
    known = copies.in_community(community_id, addresses)
    return ShownPost(
        [_embed(each, known) for each in raw["embeds"]],
        [list(_parts(row)) for row in raw["components"]],
    )


def _embed(raw: Mapping[str, Any], known: Mapping[str | None, copies.Copy]) -> ShownEmbed:
    image = raw.get("image", {}).get("url", "")
    thumbnail = raw.get("thumbnail", {}).get("url", "")
    return ShownEmbed(
        colour=f"{raw.get('color', 0):06x}",
        author=raw.get("author", {}).get("name", ""),
        title=words.plain(raw.get("title", "")),
        text=_as_html(raw.get("description", "")),
        footer=raw.get("footer", {}).get("text", ""),
        image=known.get(image),
        image_address=image,
        thumbnail=known.get(thumbnail),
        thumbnail_address=thumbnail,
    )


def _parts(row: Mapping[str, Any]) -> Iterator[ShownPart]:
    for part in row["components"]:
        if part["type"] == limits.MENU:
            yield ShownPart(part.get("placeholder") or "Choose", 0)
        else:
            sign = part.get("emoji") or {}
            name = f":{sign['name']}:" if sign.get("id") else sign.get("name", "")
            yield ShownPart(" ".join(filter(None, [name, part.get("label", "")])), part["style"])


def _as_html(text: str) -> SafeString:
    pieces, end, plain = list[str](), 0, words.plain(text)
    for match in _MARKUP.finditer(plain):
        pieces.append(escape(plain[end : match.start()]))
        if match["kept"]:
            pieces.append(escape(match["kept"]))
        elif match["strong"]:
            pieces.append(f"<strong>{_as_html(match['strong'])}</strong>")
        elif match["em"]:
            pieces.append(f"<em>{_as_html(match['em'])}</em>")
        elif match["time"]:
            pieces.append(moment(datetime.fromtimestamp(int(match["time"]), UTC)))
        elif match["role"]:
            pieces.append("@role")
        end = match.end()
    return mark_safe("".join([*pieces, escape(plain[end:])]))
