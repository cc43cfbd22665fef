"""Plain text for people, from the text of a model: without markup, links and orders from injected data.

    as_plain_line(value, most=80)         one line, or "" where nothing of it can be shown
    as_plain_sentences(value, most=800)   the same for several lines

Prompts ask for plain text and mark data as data. The functions below are a second protection, for a model
that obeys an order in an answer: such a model cannot put a link, a mention or an order into a title, a
summary or a question.
"""

from __future__ import annotations

import re
import unicodedata

from surveys.ai.models.json_values import as_line, as_sentences

_TAG = re.compile(r"</?[A-Za-z!@#&:][^<>]{0,300}>")
_LINKED = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()\s]{0,500}\)")
_MARKS = re.compile(r"\*\*|__|~~|\|\||`+|^[ \t]*(?:[#>]+|[-*•])[ \t]+", re.MULTILINE)
_ADDRESS = re.compile(
    r"\b(?:https?|ftp)://|\b(?:javascript|mailto):|\bdata:\w+/|\bwww\.\w|\bdiscord\.gg/"
    r"|[\w.+-]@[\w-]+\.\w|(?<!\w)@[A-Za-z_]\w+",
    re.IGNORECASE,
)
# Orders to a model, in the languages in which people answer most. The patterns match no usual theme or
# figure, such as "members ignore the rules".
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|your)\b.{0,40}"
    r"\b(?:instructions?|rules?|prompts?|orders|messages)\b"
    r"|\b(?:ignore|disregard|forget) (?:all |any |of |the |these )*(?:instructions|prompts)\b"
    r"|\b(?:system|developer) (?:prompt|message)\b|\byou are (?:now|no longer)\b"
    r"|\bas an ai (?:language )?(?:model|assistant)\b"
    r"|\b(?:ignorier|vergiss|missacht)\w*\b.{0,20}\b(?:alle|deine|bisherig\w*|vorherig\w*|obig\w*)\b.{0,20}"
    r"\b(?:anweisung|instruktion|vorgabe)"
    r"|\b(?:ignor|oubli)\w*\b.{0,20}\b(?:toutes|tes|vos|les)\b.{0,20}"
    r"\b(?:instructions|consignes) pr[ée]c[ée]dentes"
    r"|\b(?:ignor|olvid)\w*\b.{0,20}\b(?:todas|tus|las)\b.{0,20}\binstrucciones (?:anteriores|previas)"
    r"|\b(?:ignor|esque)\w*\b.{0,20}\b(?:todas|suas|as)\b.{0,20}\binstru[çc][õo]es anteriores",
    re.IGNORECASE | re.DOTALL,
)
_GAP = re.compile(r"[ \t]{2,}")
_HIDDEN = {"Cf", "Co", "Cn"}  # Marks of direction, characters without width, and private characters.
_JOINERS = "\u200c\u200d"  # These characters join the parts of emojis, and letters in some scripts.


def as_plain_line(value: object, *, most: int) -> str:
    """Return a text as one line of plain text. A text with an address, a mention or an order to a model
    becomes empty.
    """
    text = _plain(as_line(value, most=10 * most))
    return "" if is_suspicious(text) else as_line(text, most=most)


def as_plain_sentences(value: object, *, most: int) -> str:
    """Return a plain text, cut after a whole sentence. A text that `as_plain_line` empties becomes empty
    here, too.
    """
    text = _plain(as_sentences(value, most=10 * most))
    return "" if is_suspicious(text) else as_sentences(text, most=most)


def is_suspicious(text: str) -> bool:
    """Return whether a text contains an address, a mention, or an order to a model."""
    return bool(_ADDRESS.search(text) or _ORDERS.search(text))


def _plain(text: str) -> str:
    visible = "".join(char for char in text if char in _JOINERS or unicodedata.category(char) not in _HIDDEN)
    for pattern, kept in ((_TAG, ""), (_LINKED, r"\1"), (_MARKS, ""), (_GAP, " ")):
        visible = pattern.sub(kept, visible)
    return visible.replace("<", "‹").replace(">", "›").strip()
