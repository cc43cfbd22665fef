"""Responses improvised from a request: well-formed, about its subject, and always the same."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

NUMBER = re.compile(r"\b([1-9][0-9]?)\s+(?:\w+\s+)?(?:questions?|fragen)\b", re.IGNORECASE)
_DATA = re.compile(r"^<(data-[0-9a-f]+)>\n(.*)\n</\1>$", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[^\W\d_]{5,}")
_GOOD = re.compile(r"\b(?:great|good|love|like|nice|thanks|super|gut)", re.IGNORECASE)
_BAD = re.compile(r"\b(?:bad|hate|slow|broken|bug|poor|boring|crash)", re.IGNORECASE)
# Long words that carry no meaning.
_EMPTY = {"about", "after", "again", "could", "really", "should", "their", "there", "these", "thing", "which"}
_CHOICES = ("Very much", "A little", "Not at all")
_ENDING = {"type": "content_block", "prompt": "That is all. Thank you!", "section": "main"}


def improvise(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model might write, by the schema: a script, a reading of texts, or a summary."""
    properties = body["output_config"]["format"]["schema"]["properties"]
    data = data_in(body)
    if "blocks" in properties:
        return _script(data)
    if "texts" in properties:
        return _reading(data)
    return {"summary": _summary(data)}


def data_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """The data between the boundaries of a request."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
    match = _DATA.search(text)
    if match is None:
        raise AssertionError("The request contains no data between two boundaries.")
    data: dict[str, Any] = json.loads(match[2])
    return data


# --- Scripts ----------------------------------------------------------------------------------------


def _script(data: Mapping[str, Any]) -> dict[str, Any]:
    intent = str(data["intent"])
    topic = " ".join(intent.split())[:60] or "this"
    if data["type"] == "poll":
        question = _choice("Vote", f"What do you think: {topic}?", scored=False)
        return {"scoring_enabled": False, "blocks": [question]}
    number = NUMBER.search(intent)
    scored = bool(data.get("scoring")) or bool(data.get("bucket_keys"))
    keys = data.get("bucket_keys") or ["score"]
    count = int(number[1]) if number else 5
    questions = [_question(n, topic, keys[n % len(keys)], scored) for n in range(count)]
    welcome = {"type": "content_block", "name": "Welcome", "section": "intro", "show_when": []}
    return {
        "scoring_enabled": scored,
        "blocks": [
            {**welcome, "prompt": f"A few questions about: {topic}"},
            *questions,
            {**_ENDING, "name": "Goodbye", "show_when": []},
        ],
    }


def _question(n: int, topic: str, key: str, scored: bool) -> dict[str, Any]:
    name, fields = f"Question{n + 1}", {"required": True, "show_when": []}
    match n % 5:
        case 0:
            return _choice(name, f"How much do you care for {topic}?", scored=scored, key=key)
        case 1:
            prompt = f"How do you rate {topic}?"
            return {"type": "rating", "name": name, "prompt": prompt, "max": 5, **fields}
        case 2:
            last = {"block": f"Question{n}", "op": "lte", "value": 4}
            question = {"type": "open_text", "name": name, "prompt": f"What would make {topic} better?"}
            return {**question, "required": False, "show_when": [last]}
        case 3:
            return {"type": "nps", "name": name, "prompt": f"Would you recommend {topic}?", **fields}
        case _:
            options = [{"value": word} for word in ("Price", "Quality", "Speed")]
            ranking = {"type": "ranking", "name": name, "prompt": "What matters most?", "options": options}
            return {**ranking, "randomize_options": True, **fields}


def _choice(name: str, prompt: str, *, scored: bool, key: str = "score") -> dict[str, Any]:
    options: list[dict[str, Any]] = [{"value": value} for value in _CHOICES]
    if scored:
        for points, option in zip((2, 1, 0), options, strict=True):
            option["scores"] = [{"bucket": key, "points": points}]
    question = {"type": "single_punch", "name": name, "prompt": prompt, "options": options}
    return {**question, "randomize_options": False, "required": True, "show_when": []}


# --- Texts and summaries ----------------------------------------------------------------------------


def _reading(data: Mapping[str, Any]) -> dict[str, Any]:
    """One theme for each word that two answers share, after the known themes."""
    answers = [(each["n"], str(each["text"])) for each in data["answers"]]
    themes = [str(theme["title"]) for theme in data["known_themes"]]
    counts: dict[str, int] = {}
    for _, text in answers:
        for word in {each.lower() for each in _WORD.findall(text)} - _EMPTY:
            counts[word] = counts.get(word, 0) + 1
    room = int(data["room"])
    common = sorted(
        (word for word, count in counts.items() if count > 1), key=lambda word: (-counts[word], word)
    )
    new = [word.capitalize() for word in common if word.capitalize() not in themes][:room]
    return {
        "new_themes": [{"title": title, "description": f"Mentions {title.lower()}."} for title in new],
        "texts": [_read(n, text, [*themes, *new]) for n, text in answers],
    }


def _read(n: int, text: str, titles: list[str]) -> dict[str, Any]:
    low = text.lower()
    sentiment = "positive" if _GOOD.search(text) else "negative" if _BAD.search(text) else "neutral"
    fitting = [title for title in titles if title.lower() in low][:3]
    return {"n": n, "themes": fitting, "sentiment": sentiment, "quote": text.split(".")[0][:200]}


def _summary(data: Mapping[str, Any]) -> str:
    if "themes" in data:
        titles = [theme["title"] for theme in data["themes"][:2]]
        most = " and ".join(titles) or "nothing in common"
        return f"{data['answer_count']} people answered. Most spoke of {most}."
    question_count = len(data["blocks"])
    return f"{data['completion_count']} people finished, and {question_count} questions were asked."
