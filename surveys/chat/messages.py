"""Messages and windows of the chat platform as plain data. `as_json` shortens texts that are too long.

The platform draws no server emoji in buttons, menus, authors, footers and hints. In these places the emoji's
name replaces the emoji.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from communities.chat_platform import limits
from surveys.chat.words import clip, plain

EPHEMERAL = 64  # the flag of a message that one person sees
PRIMARY, SECONDARY, SUCCESS, DANGER = 1, 2, 3, 4  # styles of buttons
FIELD_ID = "text"  # of the one field in a window
_LEAST = 120  # characters of a text that is cut; ten embeds with them have room in a message
NO_MENTIONS: dict[str, Any] = {"parse": []}


@dataclass(frozen=True, slots=True)
class Button:
    """A button with a `custom_id`, or a link with an `address`. `emoji` is one emoji, or empty."""

    label: str
    custom_id: str = ""
    style: int = SECONDARY
    emoji: str = ""
    address: str = ""
    is_disabled: bool = False

    def as_json(self) -> dict[str, Any]:
        sign = limits.emoji_of(self.emoji) if self.emoji else None
        label = plain(self.label).strip() or ("" if sign else "–")
        raw: dict[str, Any] = {
            "type": limits.BUTTON,
            "style": limits.LINK_STYLE if self.address else self.style,
        }
        if label:
            raw["label"] = clip(label, limits.LABEL)
        if sign:
            raw["emoji"] = sign
        if self.address:
            return raw | {"url": self.address}
        raw["custom_id"] = self.custom_id
        if self.is_disabled:
            raw["disabled"] = True
        return raw


@dataclass(frozen=True, slots=True)
class MenuOption:
    """One entry of a menu. The platform sends `value` back if the entry is chosen."""

    value: str
    label: str
    emoji: str = ""
    is_chosen: bool = False

    def as_json(self) -> dict[str, Any]:
        raw: dict[str, Any] = {
            "value": self.value,
            "label": clip(plain(self.label).strip() or "–", limits.OPTION_TEXT),
        }
        if self.emoji and (sign := limits.emoji_of(self.emoji)):
            raw["emoji"] = sign
        if self.is_chosen:
            raw["default"] = True
        return raw


@dataclass(frozen=True, slots=True)
class Menu:
    """A menu with `least` to `most` choices."""

    custom_id: str
    options: Sequence[MenuOption]
    placeholder: str = ""
    least: int = 1
    most: int = 1

    def as_json(self) -> dict[str, Any]:
        raw: dict[str, Any] = {
            "type": limits.MENU,
            "custom_id": self.custom_id,
            "options": [option.as_json() for option in self.options],
            "min_values": self.least,
            "max_values": self.most,
        }
        if self.placeholder:
            raw["placeholder"] = clip(plain(self.placeholder), limits.PLACEHOLDER)
        return raw


Row = Sequence[Button] | Menu


@dataclass(frozen=True, slots=True)
class Embed:
    """A framed text with pictures. Its title links to `address`."""

    text: str = ""
    title: str = ""
    colour: int | None = None
    author: str = ""
    author_picture: str = ""
    footer: str = ""
    picture: str = ""
    thumbnail: str = ""
    address: str = ""

    def as_json(self, most: int = limits.DESCRIPTION) -> dict[str, Any]:
        raw: dict[str, Any] = {}
        if self.title.strip():
            raw["title"] = clip(self.title.strip(), limits.TITLE)
        if self.address:
            raw["url"] = self.address
        if self.text.strip():
            raw["description"] = clip(self.text.strip(), max(1, min(most, limits.DESCRIPTION)))
        if self.colour is not None:
            raw["color"] = self.colour
        if self.author.strip():
            raw["author"] = {"name": clip(plain(self.author).strip(), limits.AUTHOR)}
            if self.author_picture:
                raw["author"]["icon_url"] = self.author_picture
        if self.footer.strip():
            raw["footer"] = {"text": clip(plain(self.footer).strip(), limits.FOOTER)}
        if self.picture:
            raw["image"] = {"url": self.picture}
        if self.thumbnail:
            raw["thumbnail"] = {"url": self.thumbnail}
        return raw

    @property
    def length_around(self) -> int:
        """The number of characters besides its text."""
        around = (self.title, limits.TITLE), (self.author, limits.AUTHOR), (self.footer, limits.FOOTER)
        return sum(min(len(text.strip()), most) for text, most in around)

    @property
    def least_length(self) -> int:
        """The number of characters that it keeps, however long the other embeds of its message are."""
        return self.length_around + min(len(self.text.strip()), _LEAST)

    @property
    def is_empty(self) -> bool:
        return not (self.text.strip() or self.title.strip() or self.picture or self.thumbnail)


@dataclass(frozen=True, slots=True)
class Message:
    """A message: embeds, with rows of buttons and menus below. `mentions` are roles that it may notify."""

    embeds: Sequence[Embed] = ()
    rows: Sequence[Row] = ()
    content: str = ""
    mentions: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """The message for the platform. All embeds share one limit, and the last embed is shortened last.

        Each embed keeps the beginning of its text. If even the beginnings, titles and footers exceed the
        limit, the first embeds are left out.
        """
        left, embeds = limits.EMBED_TEXT, list[dict[str, Any]]()
        drawn = [embed for embed in self.embeds if not embed.is_empty][-limits.EMBEDS :]
        kept = sum(embed.least_length for embed in drawn)  # for the embeds that are not drawn yet
        for embed in reversed(drawn):
            fits = kept <= left
            kept -= embed.least_length
            raw = embed.as_json(left - (kept if fits else 0) - embed.length_around)
            length = embed.length_around + len(raw.get("description", ""))
            if length > left:
                break
            left -= length
            embeds.insert(0, raw)
        return {
            "content": clip(self.content, limits.CONTENT),
            "embeds": embeds,
            "components": [_row(row) for row in self.rows],
            "allowed_mentions": {"roles": list(self.mentions)} if self.mentions else NO_MENTIONS,
        }


@dataclass(frozen=True, slots=True)
class Window:
    """A window with one text field, which a button opens."""

    custom_id: str
    title: str
    label: str
    text: str = ""
    value: str = ""
    hint: str = ""
    placeholder: str = ""
    is_long: bool = True
    is_required: bool = True
    longest: int = limits.INPUT

    def as_json(self) -> dict[str, Any]:
        field: dict[str, Any] = {
            "type": limits.TEXT_INPUT,
            "custom_id": FIELD_ID,
            "style": 2 if self.is_long else 1,
            "required": self.is_required,
            "max_length": self.longest,
        }
        if self.value:
            field["value"] = self.value[: self.longest]
        if self.placeholder:
            field["placeholder"] = clip(self.placeholder, limits.INPUT_PLACEHOLDER)
        labelled: dict[str, Any] = {
            "type": limits.LABELLED,
            "label": clip(self.label, limits.INPUT_LABEL),
            "component": field,
        }
        if self.hint:
            labelled["description"] = clip(plain(self.hint), limits.INPUT_HINT)
        parts = [labelled]
        if self.text.strip():
            parts.insert(0, {"type": limits.TEXT, "content": clip(self.text.strip(), limits.INPUT)})
        return {
            "custom_id": self.custom_id,
            "title": clip(self.title, limits.WINDOW_TITLE),
            "components": parts,
        }


def _row(row: Row) -> dict[str, Any]:
    parts = [row.as_json()] if isinstance(row, Menu) else [button.as_json() for button in row]
    return {"type": limits.ROW, "components": parts}
