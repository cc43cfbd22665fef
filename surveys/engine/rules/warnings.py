"""Warnings: parts of a script that are valid but probably not what the author wants.

Warnings never refuse a write.

    warnings(script, uses_xp=…, is_anonymous=…, known_achievements=…)

    scores_ignored       points that do not count: written while scoring was off, or on a ranking
    not_graded           a correct answer while scoring is off, so that answers are not graded
    double_award         XP from a block, and at the end of the project as well
    missing_formula      a formula that was left out of a copy, so that the block has no value
    unknown_variable     a name that has no value at this block, and so counts as 0
    unfilled_token       a token inside quoted text of a formula, where tokens are not filled in
    unknown_achievement  an achievement that has no description
    tells_the_answers    an award on an anonymous project that would reveal answers, so nothing is given
    undeclared_field     a field in a condition that the project's page does not take from its address
    reserved_name        a question whose name means something else in the page's address
    unknown_token        a token in a text that stands for nothing, and is similar to one that does
    ambiguous_name       a position, such as q3, or a variable that is also the name of another block; and a
                         block with the name of a variable
    unknown_value        a comparison of a block with a value that its answers cannot have
    never_true           a comparison by `<`, `>`, `<=` or `>=` that no answer satisfies
    similar_options      two options of a choice that people see as the same but for the case of letters
    unseen_character     a character in an option's value that nobody sees, and that conditions compare
    never_asked          further questions where no model is at work

`field` is the path in the script as a read returns it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from communities.ground.sent_text import appearance, first_unseen
from surveys.engine.language import conditions, expressions, formulas, names, piping, references
from surveys.engine.language.formulas import Formula
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.values import json_bytes
from surveys.engine.rules import block_words, compared_values
from surveys.engine.script import CALCULATED, WITH_ITEMS, Block, Option, Script, title_case
from surveys.engine.walk import answers

MAX_WARNINGS = 100
MAX_BYTES = 60_000  # as JSON, as of violations (rule 11.8)
MAX_UNKNOWN_TOKENS = 10  # for which similar names are searched, because the search is slow
MAX_TOKENS = 10_000  # in the texts of a script, that are checked for mistakes
CODES = (
    "scores_ignored",
    "not_graded",
    "double_award",
    "missing_formula",
    "unknown_variable",
    "unfilled_token",
    "unknown_achievement",
    "tells_the_answers",
    "undeclared_field",
    "reserved_name",
    "unknown_token",
    "ambiguous_name",
    "unknown_value",
    "never_true",
    "similar_options",
    "unseen_character",
    "never_asked",
)


@dataclass(frozen=True, slots=True)
class ScriptWarning:
    """One warning about a field of a block, or of the whole script if `block` is None."""

    field: str
    code: str
    message: str
    block: Block | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "field": self.field,
            "block_id": self.block and self.block.id,
            "block_name": self.block and self.block.name,
            "code": self.code,
            "message": self.message,
        }


def warnings(
    script: Script,
    *,
    uses_xp: bool,
    is_anonymous: bool,
    known_achievements: Collection[int] | None,
    declared_fields: Collection[str] | None = None,
    has_model: bool = True,
) -> list[dict[str, object]]:
    """The first MAX_WARNINGS warnings about a script, in the order of its blocks, in at most MAX_BYTES.

    `uses_xp`: the project gives XP at its end (`rewards.use_xp`). `known_achievements` are the numbers that
    have a description in the community; `declared_fields` those that the project's page takes from its
    address. None skips these two checks. `has_model`: a model is at work that asks further questions.
    """
    return first_of(
        _found(
            script,
            uses_xp=uses_xp,
            is_anonymous=is_anonymous,
            known_achievements=known_achievements,
            declared_fields=declared_fields,
            has_model=has_model,
        )
    )


def first_of(found: Iterator[ScriptWarning]) -> list[dict[str, object]]:
    """The first MAX_WARNINGS warnings as JSON, in at most MAX_BYTES. Later warnings are not computed."""
    warned: list[dict[str, object]] = []
    size = 0
    for warning in found:
        told = warning.as_json()
        size += json_bytes(told)
        if size > MAX_BYTES:
            break
        warned.append(told)
        if len(warned) == MAX_WARNINGS:
            break
    return warned


def _found(
    script: Script,
    *,
    uses_xp: bool,
    is_anonymous: bool,
    known_achievements: Collection[int] | None,
    declared_fields: Collection[str] | None,
    has_model: bool,
) -> Iterator[ScriptWarning]:
    yield from _on_the_whole(script)
    yield from _unknown_tokens(script)
    compared, ambiguous = compared_values.Comparisons(script), _ambiguous(script)
    for n, block in enumerate(script.blocks):
        path = f"blocks[{n}]"
        yield from _scores(script, n, path)
        yield from _similar_options(script, n, path)
        yield from _unseen_characters(script, n, path)
        yield from _names(script, n, path)
        yield from _name_of_variable(script, block, path)
        yield from _ambiguous_names(script, block, path, ambiguous)
        if block.follow_ups and not has_model:
            message = f"In {_block_in_words(script, n)}, no further question is asked: no model is at work."
            yield ScriptWarning(f"{path}.follow_ups", "never_asked", message, block)
        for field, code, message in compared.findings(n):
            yield ScriptWarning(f"{path}.{field}", code, message, block)
        if declared_fields is not None:
            yield from _reserved_name(block, path, declared_fields)
            yield from _fields(block, path, declared_fields)
        if block.type == "action_block":
            yield from _actions(script, n, path, uses_xp, known_achievements)
            if is_anonymous:
                yield from _revealing(script, n, path)
    for n, block in enumerate(script.outro, len(script.blocks)):
        yield from _ambiguous_names(script, block, f"blocks[{n}]", ambiguous)


def _on_the_whole(script: Script) -> Iterator[ScriptWarning]:
    """If scoring was enabled after the script was written, no bucket counts (rule 5.1)."""
    if script.scoring_enabled and not script.is_scored and script.blocks:
        message = (
            "The script was written before scoring was enabled: every bucket scores 0, and score tokens are "
            "not filled in. Write the script again while the project is closed to make its scores count."
        )
        yield ScriptWarning("blocks", "scores_ignored", message)


def _scores(script: Script, at: int, path: str) -> Iterator[ScriptWarning]:
    block, words = script.blocks[at], _block_in_words(script, at)
    if script.scoring_enabled and block.type == "ranking" and block.scored_buckets:
        message = f"In {words}, the `score_values` do not count: a ranking scores nothing."
        yield ScriptWarning(f"{path}.options", "scores_ignored", message, block)
    if not script.scoring_enabled and answers.is_graded(block):
        message = f"In {words}, answers are not graded while scoring is off."
        yield ScriptWarning(f"{path}.correct_answer_ids", "not_graded", message, block)
    if not block.scores_ignored or not block.options:
        return
    action = "Write" if script.scoring_enabled else "Enable scoring, then write"
    message = (
        f"In {words}, the `score_values` were sent while scoring was off, and do not count. "
        f"{action} the script again, with them, or with `score_values: {{}}` to have none."
    )
    yield ScriptWarning(f"{path}.options", "scores_ignored", message, block)


def _similar_options(script: Script, at: int, path: str) -> Iterator[ScriptWarning]:
    block = script.blocks[at]
    if block.type not in WITH_ITEMS:
        return
    for key, looks in (("value", _look_of_value), ("label", _look_of_label)):
        first: dict[object, int] = {}
        for n, option in enumerate(block.options):
            other = first.setdefault(looks(option), n)
            if other == n or (key == "label" and not (option.label or block.options[other].label)):
                continue
            shown = option.value if key == "value" else option.display_text
            message = (
                f"In {_block_in_words(script, at)}, option {other + 1} has the same {key}, or one that "
                f"differs only in the case of letters: {block_words.excerpt(shown)}. "
                "People may not see the difference."
            )
            yield ScriptWarning(f"{path}.options[{n}].{key}", "similar_options", message, block)


def _unseen_characters(script: Script, at: int, path: str) -> Iterator[ScriptWarning]:
    for n, option in enumerate(script.blocks[at].options):
        if sign := first_unseen(option.value):
            message = (
                f"In {_block_in_words(script, at)}, the value of option {n + 1} contains a character that "
                f"nobody sees (U+{ord(sign):04X}). A condition that is typed without it never matches."
            )
            yield ScriptWarning(f"{path}.options[{n}].value", "unseen_character", message, script.blocks[at])


def _look_of_value(option: Option) -> object:
    return appearance(option.value).casefold()


def _look_of_label(option: Option) -> object:
    return appearance(option.display_text).casefold(), option.emoji


def _names(script: Script, at: int, path: str) -> Iterator[ScriptWarning]:
    block = script.blocks[at]
    if block.type == CALCULATED and not block.calculated_formula:
        message = (
            f"In {_block_in_words(script, at)}, there is no formula yet. The project can be opened once "
            "there is one. (A copy of an open project leaves its formulas with the original.)"
        )
        yield ScriptWarning(f"{path}.calculated_formula", "missing_formula", message, block)
    if (formula := _formula(block)) is not None:
        field = f"{path}.calculated_formula"
        for mention in references.unknown_names(formula, script, at):
            message = (
                f"`calculated_formula` refers to [{mention.name}], which has no value at this block and "
                f"counts as 0. {references.naming_hint(mention.name, script)}"
            ).rstrip()
            yield ScriptWarning(field, "unknown_variable", message, block)
        mentioned = Counter(mention.name for mention in formula.mentions)
        for token in Counter(piping.tokens(formula.source)) - mentioned:
            message = f"`calculated_formula` has [{token}] inside text, where it is not filled in."
            yield ScriptWarning(field, "unfilled_token", message, block)
    source = block.action_config.source_key if block.action_config else None
    if source is not None and source not in references.variables(script):
        reason = "" if script.scoring_enabled else ", because scoring is off"
        message = f"`source_key` {source} is not a variable of this script{reason}: no XP is given."
        yield ScriptWarning(f"{path}.action_config.source_key", "unknown_variable", message, block)


def _unknown_tokens(script: Script) -> Iterator[ScriptWarning]:
    """Misspelt tokens, which respondents would see in their brackets.

    Words in brackets that are similar to no token are intended for respondents.
    """
    tokens = (
        (n, block, key, name)
        for n, block in enumerate((*script.blocks, *script.outro))
        for key in references.TEXTS_WITH_TOKENS
        for name in dict.fromkeys(piping.tokens(getattr(block, key) or ""))
    )
    unknown = (
        (n, block, key, name)
        for n, block, key, name in islice(tokens, MAX_TOKENS)
        if not piping.is_prompt_variable(name) and references.resolve(name, script) is None
        if references.readings(name, script) is None
    )
    for n, block, key, name in islice(unknown, MAX_UNKNOWN_TOKENS):
        nearest = references.nearest_token(name, script, n)
        if nearest is not None:
            message = f"`{key}` contains [{name}], which stands for nothing and is shown as it is. "
            message += f"Did you mean [{nearest}]?"
            yield ScriptWarning(f"blocks[{n}].{key}", "unknown_token", message, block)


def _name_of_variable(script: Script, block: Block, path: str) -> Iterator[ScriptWarning]:
    variable = references.variable_like(block, script)
    if variable is None:
        return
    if piping.is_prompt_variable(variable):
        readings = (
            f"in texts [{variable}] means the variable, in any case, so none can contain the answer to this "
            "block; conditions and formulas mean the block"
        )
    else:
        readings = f"`{variable}` means the variable, and this block is written `{block.title}`"
    message = f"The name {block.name} is that of a variable too: {readings}. Give the block another name."
    yield ScriptWarning(f"{path}.name", "ambiguous_name", message, block)


def _ambiguous(script: Script) -> frozenset[str]:
    """The names, in lower case, that have two readings here: as positions or variables, and as blocks.

    Most scripts have few of them, so the names in their texts need no further check.
    """
    variables = {*references.variables(script), *piping.PROMPT_VARIABLES}
    titles = {title_case(each) for each in variables}
    named = script.index_by_title
    return frozenset(each.lower() for each in named if each in titles or names.is_position(each.lower()))


def _ambiguous_names(
    script: Script, block: Block, path: str, ambiguous: Collection[str]
) -> Iterator[ScriptWarning]:
    """Positions and variables in the texts of a block that are names of other blocks too (rule 3.10).

    `ambiguous` are the names to check (`_ambiguous`).
    """
    if not ambiguous:
        return
    for key, mentions in references.mentions(block):
        in_text = key in references.TEXTS_WITH_TOKENS
        shown = "[{}]" if in_text or key == "calculated_formula" else "{}"
        for name in dict.fromkeys(mention.name for mention in mentions):
            if title_case(name).lower() not in ambiguous:
                continue
            readings = _readings(name, script, shown, in_text=in_text)
            if readings is None:
                continue
            message = (
                f"`{key}` contains {shown.format(name)}, {readings}. Give that block another name, so that "
                "it is clear which of them is meant."
            )
            for place in _places(block, key, name):
                yield ScriptWarning(f"{path}.{place}", "ambiguous_name", message, block)


def _readings(name: str, script: Script, shown: str, *, in_text: bool) -> str | None:
    """Both readings of a name, in words; None if it has only one."""
    if (readings := references.readings(name, script)) is not None:
        by_position, named = readings
        meant = _block_in_words(script, by_position) if by_position is not None else "no block"
        kind = f"which is a position: it means {meant}. Another block"
    elif (shadowed := references.shadowed(name, script, in_text=in_text)) is not None:
        named, kind = shadowed, "which means the variable. A block"
    else:
        return None
    written = f"which is written {shown.format(title_case(name))}"
    if in_text and piping.is_prompt_variable(name):
        written = "which no text can name"
    return f"{kind} has the name {script.blocks[named].name}: {_block_in_words(script, named)}, {written}"


def _places(block: Block, key: str, name: str) -> Iterator[str]:
    """The paths at which a field names a position or a variable: the field itself, or the comparisons of a
    condition.
    """
    condition = getattr(block, key)
    if isinstance(condition, str):
        yield key
        return
    for place, leaf in conditions.leaves(condition, key):
        if leaf.get("variable") == name:
            yield f"{place}.variable"


def _block_in_words(script: Script, n: int) -> str:
    return block_words.in_words(script.blocks[n], n + 1)


def _fields(block: Block, path: str, declared: Collection[str]) -> Iterator[ScriptWarning]:
    if block.precondition is None:
        return
    try:
        mentions = expressions.parse(block.precondition).mentions
    except ParseError:  # stored before expressions were checked
        return
    shown = references.condition_key(block)
    for key in dict.fromkeys(names.field_key(mention.name) for mention in mentions):
        if key is not None and key not in declared:
            message = (
                f"field.{key} is not in `settings.hidden_fields`, so the page does not take it from its "
                "address: it is empty unless a personal link carries it, or the conversation is begun over "
                "the interface."
            )
            yield ScriptWarning(f"{path}.{shown}", "undeclared_field", message, block)


def _reserved_name(block: Block, path: str, declared: Collection[str]) -> Iterator[ScriptWarning]:
    """A question that the page's address cannot fill in (rules 6.37 and 6.38)."""
    if not block.asks or not block.name:
        return
    if names.is_page_parameter(block.name):
        meaning = "is a word that the page's address uses itself"
    elif block.title in {title_case(key) for key in declared}:
        meaning = "is a field of `settings.hidden_fields` too"
    else:
        return
    message = (
        f"The name {block.name} {meaning}, so `?{block.name}=` in the address does not fill in this "
        "question. All else works; give the block another name if addresses are to fill it in."
    )
    yield ScriptWarning(f"{path}.name", "reserved_name", message, block)


def _formula(block: Block) -> Formula | None:
    if block.type != CALCULATED or not block.calculated_formula:
        return None
    try:
        return formulas.parse(block.calculated_formula)
    except ParseError:  # stored before formulas were checked
        return None


def _actions(
    script: Script, at: int, path: str, uses_xp: bool, known_achievements: Collection[int] | None
) -> Iterator[ScriptWarning]:
    block = script.blocks[at]
    config = block.action_config
    if block.action_kind == "give_xp" and uses_xp:
        message = (
            f"In {_block_in_words(script, at)}, XP is given, and by `rewards.use_xp` again at the end: "
            "members who reach both are awarded twice."
        )
        yield ScriptWarning(path, "double_award", message, block)
    number = config.xp_role_id if config else None
    if number is not None and known_achievements is not None and number not in known_achievements:
        message = (
            f"The achievement {number} has no description in this community: it is granted as "
            f"“Achievement {number}”."
        )
        yield ScriptWarning(f"{path}.action_config.xp_role_id", "unknown_achievement", message, block)


def _revealing(script: Script, at: int, path: str) -> Iterator[ScriptWarning]:
    block = script.blocks[at]
    if block.action_config is not None and block.action_config.source_key is not None:
        message = (
            "On an anonymous project no XP is given from a score, because the amount would reveal the "
            "answers. Use `xp_amount` instead."
        )
        yield ScriptWarning(f"{path}.action_config.source_key", "tells_the_answers", message, block)
    if block.precondition is not None:
        key = references.condition_key(block)
        message = (
            f"In {_block_in_words(script, at)}, nothing is given: the block has a condition, and on an "
            "anonymous project the award would reveal the answers."
        )
        yield ScriptWarning(f"{path}.{key}", "tells_the_answers", message, block)
