"""Responses improvised from a request: well-formed, about its subject, and always the same."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

NUMBER = re.compile(r"\b([1-9][0-9]?)\s+(?:\w+\s+)?(?:questions?|fragen)\b", re.IGNORECASE)
_DATA = re.compile(r"^<(data-[0-9a-f]+)>\n(.*?)\n</\1>$", re.MULTILINE | re.DOTALL)
_SCHEMA = re.compile(r"JSON schema:\n(\{.*\})$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{5,}")
_GOOD = re.compile(r"\b(?:great|good|love|like|nice|thanks|super|gut)", re.IGNORECASE)
_BAD = re.compile(r"\b(?:bad|hate|slow|broken|bug|poor|boring|crash)", re.IGNORECASE)
# Long words that carry no meaning.
_EMPTY = {"about", "after", "again", "could", "really", "should", "their", "there", "these", "thing", "which"}
_CHOICES = ("Very much", "A little", "Not at all")
_NOTHING_ELSE: dict[str, Any] = {"understood": [], "unmet": [], "wishes": [], "confidence": 0.5}
_ENDING = {"type": "content_block", "prompt": "That is all. Thank you!", "description": "", "section": "main"}


def improvise(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model might write, by the schema: a script, a reading of texts, or a summary."""
    properties, data = schema_in(body)["properties"], data_in(body)
    if "blocks" in properties:
        return _revision(data) if "instruction" in data else _script(data)
    if "texts" in properties:
        return _assignment(data)
    if "themes" in properties:
        return _themes(data)
    if "claims" in properties:
        return _claims(data)
    if "remarks" in properties:
        return {"remarks": []}
    if "is_clear" in properties:
        return _further_question(data)
    return {"summary": _summary(data)}


def schema_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a request: from the response's format, or else from the text of the system prompt."""
    if "output_config" in body:
        return body["output_config"]["format"]["schema"]
    format = body.get("response_format", {})
    if "json_schema" in format:
        return format["json_schema"]["schema"]
    match = _SCHEMA.search(body["messages"][0]["content"])
    if match is None:
        raise AssertionError("The request contains no schema.")
    return json.loads(match[1])


def data_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """The data between the boundaries of a request, of both parts if it has two."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
    parts = [json.loads(match[2]) for match in _DATA.finditer(text)]
    if not parts:
        raise AssertionError("The request contains no data between two boundaries.")
    return {key: value for part in parts for key, value in part.items()}


# --- Scripts ----------------------------------------------------------------------------------------


def _script(data: Mapping[str, Any]) -> dict[str, Any]:
    intent = str(data["intent"])
    topic = " ".join(intent.split())[:60] or "this"
    if data["type"] == "poll":
        question = _choice("Vote", f"What do you think: {topic}?", scored=False)
        return {"scoring_enabled": False, "blocks": [question], **_NOTHING_ELSE}
    number = NUMBER.search(intent)
    scored = bool(data.get("scoring")) or bool(data.get("bucket_keys"))
    keys = data.get("bucket_keys") or ["score"]
    count = int(number[1]) if number else 5
    questions = [_question(n, topic, keys[n % len(keys)], scored) for n in range(count)]
    welcome = {
        "type": "content_block",
        "name": "Welcome",
        "section": "intro",
        "description": "",
        "show_when": [],
    }
    return {
        "scoring_enabled": scored,
        "blocks": [
            {**welcome, "prompt": f"A few questions about: {topic}"},
            *questions,
            {**_ENDING, "name": "Goodbye", "show_when": []},
        ],
        **_NOTHING_ELSE,
    }


def _revision(data: Mapping[str, Any]) -> dict[str, Any]:
    """The script as it is, with the instruction at the end of the first prompt that can be changed."""
    blocks: list[dict[str, Any]] = []
    is_changed = False
    for shown in data["script"]:
        if is_changed or shown["type"] == "kept":
            blocks.append({"type": "kept", "id": shown["id"]})
            continue
        is_changed = True
        blocks.append({**shown, "prompt": f"{shown['prompt']} ({data['instruction'][:60]})"})
    return {"blocks": blocks, "understood": [], "unmet": []}


def _question(n: int, topic: str, key: str, scored: bool) -> dict[str, Any]:
    name, fields = f"Question{n + 1}", {"description": "", "required": True, "show_when": []}
    match n % 5:
        case 0:
            return _choice(name, f"How much do you care for {topic}?", scored=scored, key=key)
        case 1:
            prompt = f"How do you rate {topic}?"
            labels = {"label_left": "", "label_center": "", "label_right": "", "group": ""}
            return {"type": "rating", "name": name, "prompt": prompt, "max": 5, **labels, **fields}
        case 2:
            last = {"block": f"Question{n}", "op": "lte", "value": 4}
            question = {"type": "open_text", "name": name, "prompt": f"What would make {topic} better?"}
            return {**question, **fields, "format": "text", "required": False, "show_when": [last]}
        case 3:
            prompt = f"Would you recommend {topic}?"
            return {"type": "nps", "name": name, "prompt": prompt, "group": "", **fields}
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
    plain = {"description": "", "group": "", "randomize_options": False, "required": True}
    return {**question, **plain, "show_when": []}


# --- Texts and summaries ----------------------------------------------------------------------------


def _themes(data: Mapping[str, Any]) -> dict[str, Any]:
    """One theme for each word that two answers share."""
    counts: dict[str, int] = {}
    for text in data["answers"]:
        for word in {each.lower() for each in _WORD.findall(text)} - _EMPTY:
            counts[word] = counts.get(word, 0) + 1
    known = {theme["title"].lower() for theme in data["known_themes"]}
    common = sorted(
        (word for word, count in counts.items() if count > 1 and word not in known),
        key=lambda word: (-counts[word], word),
    )
    new = [word.capitalize() for word in common][: int(data["room"])]
    return {"themes": [{"title": title, "description": f"Mentions {title.lower()}."} for title in new]}


def _assignment(data: Mapping[str, Any]) -> dict[str, Any]:
    """The themes whose title an answer contains."""
    titles = [str(theme["title"]).lower() for theme in data["themes"]]
    return {"texts": [_assigned(each["n"], str(each["text"]), titles) for each in data["answers"]]}


def _assigned(n: int, text: str, titles: list[str]) -> dict[str, Any]:
    low = text.lower()
    sentiment = "positive" if _GOOD.search(text) else "negative" if _BAD.search(text) else "neutral"
    fitting = [index for index, title in enumerate(titles) if title in low][:3]
    return {"n": n, "themes": fitting, "sentiment": sentiment, "quote": text.split(".")[0][:200]}


def _claims(data: Mapping[str, Any]) -> dict[str, Any]:
    """One claim for each figure that shares a word with the question."""
    words = {word.lower() for word in _WORD.findall(data["question"])}
    return {
        "claims": [
            {"text": f"{figure['text']}: {figure['value']}.", "references": [figure["reference"]]}
            for figure in data["figures"]
            if words & {word.lower() for word in _WORD.findall(figure["text"])}
        ]
    }


def _further_question(data: Mapping[str, Any]) -> dict[str, Any]:
    """A further question about answers of fewer than five words."""
    is_clear = bool(data["earlier"]) or len(data["answer"].split()) > 4
    return {"is_clear": is_clear, "question": "" if is_clear else "What do you mean by that?"}


def _summary(data: Mapping[str, Any]) -> str:
    if "themes" in data:
        titles = [theme["title"] for theme in data["themes"][:2]]
        most = " and ".join(titles) or "nothing in common"
        return f"{data['answer_count']} people answered. Most spoke of {most}."
    question_count = len(data["blocks"])
    return f"{data['completion_count']} people finished, and {question_count} questions were asked."
