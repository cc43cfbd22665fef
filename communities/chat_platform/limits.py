"""The limits of the chat platform for a message or window, as data, and a check against them.

The platform refuses a whole message for one character too many, and shows no reason to the person who pressed
a button. So every message is checked before it is sent. Lengths are counted in code points. The figures are
in the platform's documentation; figures that its machine-readable description lacks are marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import emoji

CONTENT = 2000
EMBEDS = 10
TITLE, DESCRIPTION, FOOTER, AUTHOR = 256, 4096, 2048, 256
FIELDS, FIELD_NAME, FIELD_VALUE = 25, 256, 1024
ATTACHMENT_DESCRIPTION = 1024
# All embeds of a message together have at most this many characters (not in the description).
EMBED_TEXT = 6000
COLOUR = 0xFFFFFF
ADDRESS = 2048
MENTIONS = 100  # One message notifies at most this many roles.
ROWS, BUTTONS, CUSTOM_ID, LABEL, LINK = 5, 5, 100, 80, 512  # The number of rows is not in the description.
OPTIONS, OPTION_TEXT, PLACEHOLDER = 25, 100, 150
WINDOW_TITLE, WINDOW_PARTS, INPUT_LABEL, INPUT_HINT = 45, 5, 45, 100
INPUT, INPUT_PLACEHOLDER = 4000, 100
ROW, BUTTON, MENU, TEXT_INPUT, TEXT, LABELLED = 1, 2, 3, 4, 10, 18  # The types of components.
LINK_STYLE = 5

SERVER_EMOJI = re.compile(r"<(a?):([A-Za-z0-9_]{2,32}):([0-9]{15,20})>")
_SNOWFLAKE = re.compile(r"[0-9]{15,20}")


def check_message(message: Mapping[str, Any]) -> list[str]:
    """Return the reasons why the platform would refuse a message, as sentences; an empty list for a valid
    message.
    """
    embeds: Sequence[Any] = message.get("embeds") or []
    rows: Sequence[Any] = message.get("components") or []
    content = message.get("content") or ""
    faults = list(_too_long("content", content, CONTENT))
    if not (content or embeds or rows or message.get("attachments")):
        faults.append("The message is empty.")
    if len(embeds) > EMBEDS:
        faults.append(f"There are {len(embeds)} embeds, more than {EMBEDS}.")
    for n, embed in enumerate(embeds):
        faults += _embed(f"embeds[{n}]", embed)
    if (total := sum(map(_text_of, embeds))) > EMBED_TEXT:
        faults.append(f"The embeds have {total} characters together, more than {EMBED_TEXT}.")
    if len(rows) > ROWS:
        faults.append(f"There are {len(rows)} rows, more than {ROWS}.")
    for n, row in enumerate(rows):
        faults += _row(f"components[{n}]", row)
    roles: Sequence[Any] = (message.get("allowed_mentions") or {}).get("roles") or []
    if len(set(roles)) < len(roles) or len(roles) > MENTIONS:
        faults.append(f"allowed_mentions.roles takes {MENTIONS} different roles.")
    return faults + list(_used_twice(rows))


def check_window(window: Mapping[str, Any]) -> list[str]:
    """Return the reasons why the platform would refuse a window (a “modal”), as sentences; an empty list for
    a valid window.
    """
    faults = list(_required("title", window.get("title"), WINDOW_TITLE))
    faults += _required("custom_id", window.get("custom_id"), CUSTOM_ID)
    parts: Sequence[Any] = window.get("components") or []
    if not 1 <= len(parts) <= WINDOW_PARTS:
        faults.append(f"A window has 1 to {WINDOW_PARTS} parts, not {len(parts)}.")
    for n, part in enumerate(parts):
        faults += _window_part(f"components[{n}]", part)
    return faults


def emoji_of(text: str) -> dict[str, Any] | None:
    """Return the platform's form of one emoji, Unicode or custom (`<:name:id>`); None for any other text."""
    text = text.strip()
    if match := SERVER_EMOJI.fullmatch(text):
        return {"id": match[3], "name": match[2], "animated": bool(match[1])}
    return {"name": text} if emoji.is_emoji(text) else None


def _text_of(embed: Mapping[str, Any]) -> int:
    texts = [embed.get("title"), embed.get("description")]
    texts += [(embed.get(part) or {}).get(key) for part, key in (("footer", "text"), ("author", "name"))]
    for field in embed.get("fields") or []:
        texts += [field.get("name"), field.get("value")]
    return sum(len((text or "").strip()) for text in texts)


def _embed(path: str, embed: Mapping[str, Any]) -> Iterator[str]:
    yield from _too_long(f"{path}.title", embed.get("title"), TITLE)
    yield from _too_long(f"{path}.description", embed.get("description"), DESCRIPTION)
    yield from _too_long(f"{path}.footer", (embed.get("footer") or {}).get("text"), FOOTER)
    yield from _too_long(f"{path}.author", (embed.get("author") or {}).get("name"), AUTHOR)
    fields = embed.get("fields") or []
    if len(fields) > FIELDS:
        yield f"{path} has {len(fields)} fields, more than {FIELDS}."
    for n, field in enumerate(fields):
        yield from _required(f"{path}.fields[{n}].name", field.get("name"), FIELD_NAME)
        yield from _required(f"{path}.fields[{n}].value", field.get("value"), FIELD_VALUE)
    if not 0 <= (embed.get("color") or 0) <= COLOUR:
        yield f"{path}.color is no colour."
    if not _is_address(embed.get("url", "https://-")):
        yield f"{path}.url is not an http address of at most {ADDRESS} characters."
    for key in ("image", "thumbnail"):
        address = (embed.get(key) or {}).get("url")
        if address is not None and not _is_address(address, attachments=True):
            yield f"{path}.{key} is not an http address of at most {ADDRESS} characters."
    if not (_text_of(embed) or embed.get("image") or embed.get("thumbnail")):
        yield f"{path} is empty."


def _row(path: str, row: Mapping[str, Any]) -> Iterator[str]:
    parts: Sequence[Any] = row.get("components") or []
    kinds = {part.get("type") for part in parts}
    if row.get("type") != ROW or not parts or kinds not in ({BUTTON}, {MENU}):
        yield f"{path} must be a row of buttons, or of one menu."
    elif len(parts) > (BUTTONS if kinds == {BUTTON} else 1):
        yield f"{path} has {len(parts)} components, too many for a row."
    for n, part in enumerate(parts):
        check = _button if part.get("type") == BUTTON else _menu
        yield from check(f"{path}.components[{n}]", part)


def _button(path: str, button: Mapping[str, Any]) -> Iterator[str]:
    if button.get("style") == LINK_STYLE:
        if not _is_address(button.get("url") or "", longest=LINK) or "custom_id" in button:
            yield f"{path} needs an http address of at most {LINK} characters and no custom_id."
    else:
        yield from _required(f"{path}.custom_id", button.get("custom_id"), CUSTOM_ID)
        if button.get("style") not in (1, 2, 3, 4):
            yield f"{path}.style is unknown."
    yield from _too_long(f"{path}.label", button.get("label"), LABEL)
    if not (button.get("label") or "").strip() and not button.get("emoji"):
        yield f"{path} needs a label or an emoji."
    yield from _emoji(f"{path}.emoji", button.get("emoji"))


def _menu(path: str, menu: Mapping[str, Any]) -> Iterator[str]:
    yield from _required(f"{path}.custom_id", menu.get("custom_id"), CUSTOM_ID)
    yield from _too_long(f"{path}.placeholder", menu.get("placeholder"), PLACEHOLDER)
    options: Sequence[Any] = menu.get("options") or []
    if not 1 <= len(options) <= OPTIONS:
        yield f"{path} has {len(options)} options, not 1 to {OPTIONS}."
    least, most = menu.get("min_values", 1), menu.get("max_values", 1)
    if not 0 <= least <= most or not 1 <= most <= len(options):
        yield f"{path} takes {least} to {most} of {len(options)} options."
    values = [option.get("value") for option in options]
    if len(set(values)) < len(values):
        yield f"{path} has an option's value twice."
    if sum(bool(option.get("default")) for option in options) > most:
        yield f"{path} has more options chosen than {most}."
    for n, option in enumerate(options):
        for key in ("label", "value"):
            yield from _required(f"{path}.options[{n}].{key}", option.get(key), OPTION_TEXT)
        yield from _too_long(f"{path}.options[{n}].description", option.get("description"), OPTION_TEXT)
        yield from _emoji(f"{path}.options[{n}].emoji", option.get("emoji"))


def _window_part(path: str, part: Mapping[str, Any]) -> Iterator[str]:
    if part.get("type") == TEXT:
        yield from _required(f"{path}.content", part.get("content"), INPUT)
        return
    field = part.get("component") or {}
    if part.get("type") != LABELLED or field.get("type") != TEXT_INPUT:
        yield f"{path} must be a text, or a label with a text input."
        return
    yield from _required(f"{path}.label", part.get("label"), INPUT_LABEL)
    yield from _too_long(f"{path}.description", part.get("description"), INPUT_HINT)
    yield from _required(f"{path}.component.custom_id", field.get("custom_id"), CUSTOM_ID)
    yield from _too_long(f"{path}.component.placeholder", field.get("placeholder"), INPUT_PLACEHOLDER)
    yield from _too_long(f"{path}.component.value", field.get("value"), field.get("max_length") or INPUT)
    if not 0 <= field.get("min_length", 0) <= field.get("max_length", INPUT) <= INPUT:
        yield f"{path}.component takes {field.get('min_length')} to {field.get('max_length')} characters."
    if "label" in field or field.get("style") not in (1, 2):
        yield f"{path}.component must have a style and no label of its own."


def _used_twice(rows: Sequence[Any]) -> Iterator[str]:
    ids = [part.get("custom_id") for row in rows for part in row.get("components") or []]
    given = [custom_id for custom_id in ids if custom_id is not None]
    if len(set(given)) < len(given):
        yield "A custom_id is used twice."


def _emoji(path: str, value: Any) -> Iterator[str]:
    if value is None:
        return
    if value.get("id"):
        if not _SNOWFLAKE.fullmatch(str(value["id"])):
            yield f"{path}.id is no id."
    elif not emoji.is_emoji(value.get("name") or ""):
        yield f"{path} is no emoji."


def _too_long(path: str, text: Any, most: int) -> Iterator[str]:
    if text is not None and len(text.strip()) > most:
        yield f"{path} has {len(text.strip())} characters, more than {most}."


def _required(path: str, text: Any, most: int) -> Iterator[str]:
    if not text or not str(text).strip():
        yield f"{path} is empty."
    else:
        yield from _too_long(path, text, most)


def _is_address(address: str, *, longest: int = ADDRESS, attachments: bool = False) -> bool:
    if len(address) > longest:
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return bool(parts.netloc) and (
        parts.scheme in ("http", "https") or (attachments and parts.scheme == "attachment")
    )
