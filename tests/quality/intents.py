"""Sixty intents as people write them, and how well a provider's drafts meet them.

Each intent names the type of its project, the `kind` of draft that it asks for as a pattern that some prompt
has, and what a good draft `holds`. A score is from 0 to 3:

    3   everything holds: it could be published as it is
    2   two thirds hold
    1   a third holds, or the author must replace a placeholder
    0   less, the wrong kind or language, broken rules, or no draft

The intents are a test set: rules, phrases and templates are never chosen by looking at them. Those to tune by
are in tests/ai/intents.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from surveys.ai.local.drafts.languages import language_of
from surveys.ai.provider import ProposedScript, ProviderError, ScriptRequest
from surveys.engine.script import QUESTIONS, SCALES
from tests.support.ai.drafts import check_draft, option_values

HELD_OUT = Path(__file__).parent / "intents.json"
TUNING = Path(__file__).parents[1] / "ai" / "intents.json"
BEST = 3
PLACEHOLDER = re.compile(r"[⟦⟧]|\((?:replace|ersetzen|remplace|reemplaz|substitu)|^Option \d", re.IGNORECASE)

Wanted = Mapping[str, Any]
Blocks = Sequence[Mapping[str, Any]]


class WritesScripts(Protocol):
    """The part of a provider that writes scripts."""

    def draft_script(self, request: ScriptRequest) -> ProposedScript:
        """As of `surveys.ai.provider.Provider`."""


def load(path: Path = HELD_OUT) -> list[Wanted]:
    """The intents with the requirements for their drafts."""
    intents: list[Wanted] = json.loads(path.read_text(encoding="utf-8"))
    return intents


def draft(provider: WritesScripts, wanted: Wanted) -> ProposedScript | None:
    """The draft for an intent; None if the provider refuses."""
    try:
        return provider.draft_script(ScriptRequest(wanted["intent"], wanted["type"]))
    except ProviderError:
        return None


def score(wanted: Wanted, draft: ProposedScript | None) -> tuple[int, list[str]]:
    """The score of a draft from 0 to 3, and the unmet requirements."""
    if draft is None or wanted.get("is_refused"):
        return (BEST, []) if draft is None and wanted.get("is_refused") else (0, ["refused or not"])
    prompts = [str(block["prompt"]) for block in draft.blocks if block.get("prompt")]
    language = language_of("\n".join(prompts), locale=None)
    fatal = [
        *(["rules"] if check_draft(draft, wanted["type"]).problems else []),
        *([f"language {language}"] if language != wanted.get("language", "en") else []),
        *(["kind"] if not _any(wanted["kind"], prompts) else []),
    ]
    if fatal:
        return 0, fatal
    wanted_holds: list[Wanted] = wanted["holds"]
    missing = [str(hold) for hold in wanted_holds if not holds(hold, draft)]
    share = 1 - len(missing) / len(wanted_holds)
    points = BEST if not missing else 2 if share >= 2 / 3 else 1 if share >= 1 / 3 else 0
    if any(PLACEHOLDER.search(text) for text in _texts(draft.blocks)):
        return min(points, 1), [*missing, "placeholder"]
    return points, missing


def outline(draft: ProposedScript) -> list[str]:
    """A draft in lines, for reading."""
    lines = []
    for block in draft.blocks:
        options: Any = block.get("options") or ()
        scale: Any = block.get("scale") or {}
        parts = [
            f"[{block['type']}] {block.get('prompt')}",
            " / ".join(str(option["value"]) for option in options),
            f"{block.get('min', '')}-{block.get('max', '')}" if "max" in block else "",
            " … ".join(str(value) for value in scale.values()),
            f"if {block['show_when']}" if block.get("show_when") else "",
        ]
        lines.append("  ".join(part for part in parts if part))
    told = [f"+ {line}" for line in draft.understood] + [f"- {line}" for line in draft.unmet]
    return [*lines, *told, f"confidence {draft.confidence}, wishes {dict(draft.wishes)}"]


def holds(hold: Wanted, draft: ProposedScript) -> bool:
    """Whether one thing that is wanted is true of a draft."""
    blocks = [dict(block) for block in draft.blocks]
    asked = [block for block in blocks if block["type"] in QUESTIONS]
    prompts = [str(block["prompt"]) for block in blocks if block.get("prompt")]
    scales = [block for block in asked if block["type"] in SCALES - {"nps"}]
    match hold:
        case {"asks": _}:
            return any(_is_asked(hold, block) for block in asked)
        case {"count": [low, high]}:
            return bool(low <= len(asked) <= high)
        case {"type_count": [kind, low, high]}:
            return bool(low <= sum(_is_kind(kind, block) for block in asked) <= high)
        case {"every_scale": points}:
            return bool(scales) and all(block.get("max", 5) == points for block in scales)
        case {"every_options": wanted}:
            return {len(option_values(block)) for block in asked if block.get("options")} == {wanted}
        case {"last": kind}:
            return bool(asked[-1]["type"] == kind)
        case {"lacks": pattern}:
            return not _any(pattern, prompts)
        case {"says": pattern}:
            return _any(pattern, prompts)
        case {"no_type": kind}:
            return all(block["type"] != kind for block in asked)
        case {"wish": [key, value]}:
            return draft.wishes.get(key) == value
        case {"told": pattern}:
            return _any(pattern, [*draft.understood, *draft.unmet])
        case {"no_placeholder": _}:
            return not any(PLACEHOLDER.search(text) for text in _texts(blocks))
    raise ValueError(hold)


def _is_asked(hold: Wanted, block: Mapping[str, Any]) -> bool:
    options = [str(option["value"]).casefold() for option in block.get("options", ())]
    condition = block.get("show_when") or block.get("hide_when")
    return (
        _any(hold["asks"], [str(block["prompt"])])
        and block["type"] in hold.get("types", QUESTIONS)
        and block.get("max", 5) == hold.get("max", block.get("max", 5))
        and sorted(options) == sorted(each.casefold() for each in hold.get("options", options))
        and {each.casefold() for each in hold.get("options_like", ())} <= set(options)
        and ("if_value" not in hold or f"'{hold['if_value']}'" in str(condition))
        and (bool(condition) or not hold.get("is_conditional"))
    )


def _is_kind(kind: str, block: Mapping[str, Any]) -> bool:
    if kind == "quiz":
        return "correct_answer_index" in block
    return bool(block["type"] in SCALES if kind == "scales" else block["type"] == kind)


def _any(pattern: str, texts: Sequence[str]) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for text in texts)


def _texts(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    texts = [str(block.get("prompt")) for block in blocks]
    options: list[Any] = [option for block in blocks for option in block.get("options") or ()]
    return [*texts, *(str(option["value"]) for option in options)]
