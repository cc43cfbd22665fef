"""The lists in the sentences of an intent: what introduces a list, and its items."""

from __future__ import annotations

import re

from surveys.ai.local.drafts.ask_words import (
    ABOUT,
    ASKING,
    FEEDBACK,
    FORM,
    INTERROGATIVE,
    KIND,
    LEADING,
    RATING,
    TO_US,
    is_order,
    lists_aspects,
)
from surveys.ai.local.drafts.bank import find
from surveys.ai.local.drafts.conditions import IF
from surveys.ai.local.drafts.formats import BRACKETS, CONJUNCTIONS, QUOTES, TRAILING, split_options
from surveys.ai.local.drafts.phrasing import PEOPLE

# Two questions without a comma: `was war gut was war schlecht`.
_TWINS = re.compile(
    r"^((?:was|wie|what|how) (?:war|ist|lief|was|is|went)\s[^,?]{1,30}?)\s(?=(?:was|wie|what|"
    r"how) (?:war|ist|lief|was|is|went)\s)",
    re.IGNORECASE,
)
# Two nouns that share a part: `Vor- und Nachteile`.
_COMPOUND = re.compile(r"\w-\s(?:und|oder|and|or|et|ou|y|o|e)\s\w|\bvor und nachteile", re.IGNORECASE)
# What a survey is about may be the first item of its list.
_ABOUT_FIRST = re.compile(
    r"\s(?:about|on|über|sur|sobre)\s(?P<first>[^\W\d_][\w'’-]*(?:\s[\w'’-]+){0,2})$", re.I
)
_MOST_WORDS = 9  # An item of a list after the name of a survey has at most this many words.
_MOST_WORDS_OF_ITEM = 4  # Longer words before the first comma introduce the list.
_MAX_LEAD = 120  # A colon begins a list only after at most this many characters.


def parted(sentence: str, language: str) -> tuple[str, str | None, str]:
    """Return the text before a list, the list, and the word that introduces the list; None if there is no
    list.
    """
    depth_free = BRACKETS.sub(lambda match: " " * len(match[0]), sentence)
    colon = re.search(r"\s?:(?=\s)", depth_free)
    if colon and colon.start() <= _MAX_LEAD:
        lead, rest = sentence[: colon.start()], sentence[colon.end() :]
        inner_dash = re.search(r"\s[-–—]\s", rest)
        if inner_dash and "," in rest[inner_dash.end() :] and "," not in rest[: inner_dash.start()]:
            return f"{lead}: {rest[: inner_dash.start()].strip()}", rest[inner_dash.end() :], ""
        asked = after_verb(_from_verb(lead.split(",")[-1].strip(), language), language)[1]
        if lists_aspects(asked, rest):
            return "", rest, "rate"
        if rest.strip(TRAILING) and not re.match(INTERROGATIVE[language], asked, re.IGNORECASE):
            inner = _verb(rest, language)
            if inner and language == "de":
                rest = re.sub(RATING["de"], "", rest).rstrip(TRAILING)
            return lead, rest, inner or ""
    dash = re.search(r"\s[-–—]\s", depth_free)
    if dash and "," in depth_free[dash.end() :]:
        return sentence[: dash.start()], sentence[dash.end() :], ""
    if language == "de" and (match := re.search(RATING["de"], depth_free)):
        return "", sentence.replace(match[0], ""), "rate"
    if FORM.search(depth_free.split(",")[0]) and (head := _head_of_list(sentence, language)):
        return head, sentence[len(head) :].strip(" ,"), ""
    verb = min(
        (
            match
            for pattern in (ASKING, RATING)
            if (match := re.search(pattern[language], depth_free, re.IGNORECASE))
        ),
        key=lambda match: match.start(),
        default=None,
    )
    if verb is None:
        if head := _head_of_list(sentence, language):
            return head, sentence[len(head) :].strip(" ,"), ""
        leading = r"(?:(?:plus|and|also|und|dazu|sowie|auch|et|y|e)\s{1,3}){0,2}"
        clause = re.search(rf",\s{{1,3}}{leading}(?={INTERROGATIVE[language]})", depth_free, re.IGNORECASE)
        if TO_US.match(depth_free):
            return sentence, None, ""
        begins = re.match(INTERROGATIVE[language], depth_free, re.IGNORECASE)
        if begins and depth_free.count(",") > 1 and not sentence.endswith("?"):
            return "", sentence, ""
        is_direct = re.search(rf"\b(?:you|du|ihr|vous|tu|tú|você)\b|,\s{IF}\b", depth_free, re.IGNORECASE)
        if begins and is_direct and not sentence.endswith("?"):
            return "", sentence, ""
        if clause and not begins:
            is_item = find(sentence[: clause.start()].split(",")[-1], language) is not None
            return (
                ("", sentence, "") if is_item else (sentence[: clause.start()], sentence[clause.end() :], "")
            )
        with_list = re.search(r",?\s(?:with|mit|avec|con|com)\s{1,3}", depth_free)
        listed = list_items(sentence[with_list.end() :], language) if with_list else []
        if (
            with_list
            and len(listed) > 1
            and all(
                find(item, language) or re.match(INTERROGATIVE[language], item, re.IGNORECASE)
                for item in listed
            )
        ):
            return sentence[: with_list.start()], sentence[with_list.end() :], ""
        known = [part for part in split_options(sentence, language) if find(part, language)]
        return ("", sentence, "") if len(known) > 1 else (sentence, None, "")
    is_rated = bool(re.fullmatch(RATING[language], verb[0], re.IGNORECASE))
    how, items = after_verb(sentence[verb.start() :], language)
    if not items.strip(TRAILING) or re.fullmatch(PEOPLE[language], items.strip(TRAILING), re.IGNORECASE):
        return sentence[: verb.start()].strip(TRAILING), "", ""
    return sentence[: verb.start()].strip(TRAILING), items, "rate" if is_rated else how


def _from_verb(text: str, language: str) -> str:
    """Return a text from its last verb of asking: `we are a bakery and want to know which bread`."""
    verbs = [match.start() for match in re.finditer(ASKING[language], text, re.IGNORECASE)]
    return text[verbs[-1] :] if verbs else text


def _head_of_list(sentence: str, language: str) -> str:
    """Return the words before the first comma if they name the survey, and a list of what to ask follows."""
    head, *others = list_parts(sentence)
    about = _ABOUT_FIRST.search(head)
    joined = re.compile(rf"\s(?:{CONJUNCTIONS[language]})\s")
    if about and KIND.search(head) and not FORM.search(head) and any(map(joined.search, others)):
        words = [len(part.split()) for other in others for part in joined.split(other)]
        return head[: about.start("first")] if max(words) <= _MOST_WORDS_OF_ITEM else ""
    is_list = len(others) > 1 and all(len(other.split()) <= _MOST_WORDS for other in others)
    if not is_list or find(head, language) or re.match(INTERROGATIVE[language], head, re.IGNORECASE):
        return ""
    is_named = FORM.search(head) or FEEDBACK.search(head) or KIND.search(head)
    return head if is_named or len(head.split()) > _MOST_WORDS_OF_ITEM else ""


def list_parts(text: str) -> list[str]:
    """Return the parts of a text between commas, but not inside brackets."""
    parts, depth, start = [], 0, 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char in ",;" and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in (*parts, text[start:])]


def _verb(text: str, language: str) -> str | None:
    match = re.match(rf"\s{{0,3}}{RATING[language]}", text, re.IGNORECASE)
    ends_rated = language == "de" and re.search(RATING["de"], text)
    return "rate" if match or ends_rated else None


def after_verb(text: str, language: str) -> tuple[str, str]:
    """Return the word after a verb of asking (`for`, `about`), and what is asked."""
    for pattern in (ASKING, RATING):
        if match := re.match(rf"\s{{0,3}}{pattern[language]}", text, re.IGNORECASE):
            text = text[match.end() :].strip(" ,:")
            break
    else:
        return "", text
    found = re.match(ABOUT[language], text, re.IGNORECASE)
    how = (found["how"] or "") if found else ""
    rest = text[found.end() :] if found else text
    if how:
        return how.lower(), rest
    # `customers who cancelled why they cancelled`: the ask begins at the word that asks
    inner = re.search(rf"\b(?!who\b)(?={INTERROGATIVE[language]})", rest, re.IGNORECASE)
    of_people = re.compile(rf"(?:who|die|qui|que)\b|.*{PEOPLE[language]}", re.IGNORECASE)
    if inner and 0 < inner.start() < 60 and of_people.match(rest[: inner.start()]):
        rest = rest[inner.start() :]
    return how, rest


def list_items(text: str, language: str) -> list[str]:
    """Return the items of a list. Commas inside brackets do not divide the list. After a colon, options
    follow.
    """
    parts: list[str] = []
    depth, current = 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char in ",;?" and depth <= 0:
            parts.append(current + ("?" if char == "?" else ""))
            current = ""
        else:
            current += char
    parts.append(current)
    items: list[str] = []
    for part in parts:
        part = part.strip().strip(QUOTES)
        while match := LEADING.match(part):
            part = part[match.end() :]
        if not part.strip(TRAILING + "?"):
            continue
        if twin := _TWINS.match(part):
            items.append(twin[1])
            part = part[twin.end() :].strip()
        if (
            items
            and re.search(r":\s", items[-1])
            and not re.match(INTERROGATIVE[language], part, re.IGNORECASE)
        ):
            items[-1] += f", {part}"
        else:
            items += _halves(part, language)
    return items


def _halves(part: str, language: str) -> list[str]:
    """Return the parts of an item that `and` joins, if both parts can be asked alone."""
    if re.search(r":\s", part) or _COMPOUND.search(part):
        return [part]
    conjunction = (
        CONJUNCTIONS[language]
        .replace("|or|", "|")
        .replace("|oder|", "|")
        .replace("|ou|", "|")
        .replace("|o|u|", "|")
    )
    halves = re.split(rf"\s{{1,3}}(?:{conjunction})\s{{1,3}}(?![^()]*\))", part)
    if len(halves) == 1:
        return [part]
    first_ask = after_verb(halves[0], language)[1]
    asking = [
        bool(re.match(INTERROGATIVE[language], half.strip(), re.IGNORECASE))
        for half in (first_ask, *halves[1:])
    ]
    if all(is_asking or find(half, language) for is_asking, half in zip(asking, halves, strict=True)):
        return halves
    if find(part, language):
        return [part]
    if asking[0]:
        cuts = [
            n
            for n in range(1, len(halves))
            if asking[n]
            or find(halves[n], language)
            or _is_asking_verb(halves[n], language)
            or is_order(halves[n])
        ]
        if not cuts:
            return [part]
        first = re.split(rf"\s{{1,3}}(?:{conjunction})\s{{1,3}}(?![^()]*\))", part, maxsplit=1)
        return [first[0], *_halves(first[1], language)] if 1 in cuts else [part]
    return [half for half in halves if half.strip()]


def _is_asking_verb(text: str, language: str) -> bool:
    return bool(re.match(ASKING[language], text.strip(), re.IGNORECASE))
