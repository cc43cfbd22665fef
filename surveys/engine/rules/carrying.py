"""Updates the texts that refer to renamed blocks and to changed values of options.

    blocks      = carry(before, ordered.blocks)                      # before `rules.check`, if not active
    violations += rename_violations(before, after, block_paths=...)

Only texts that the same write did not change are rewritten (rules 3.30 and 3.31). Blocks and options are the
same if they have the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal

from communities.ground.cached import cached_property
from surveys.engine.intake.field_paths import BlockPath, is_invalid
from surveys.engine.intake.field_types import TextType
from surveys.engine.intake.fields import BLOCK
from surveys.engine.language import comparisons, conditions, expressions, formulas, names, piping, references
from surveys.engine.language import values as logic_values
from surveys.engine.language.lexer import ParseError, quoted
from surveys.engine.language.values import Operand, Value
from surveys.engine.rules import block_words
from surveys.engine.script import WITH_ITEMS, Block, Script, Violation, title_case

_CONDITIONS = ("show_when", "hide_when")
# The characters that each text with tokens may have.
_LONGEST = {
    key: spec.maximum
    for key in references.TEXTS_WITH_TOKENS
    if isinstance(spec := BLOCK.fields[key].type, TextType)
}


def carry(before: Script, after: Sequence[Block]) -> tuple[Block, ...]:
    """Rewrite references to renamed blocks, and comparisons with options whose value has changed.

    A reference stays unchanged if expressions cannot contain the new name; the rules then report it as
    unknown. A condition becomes a `precondition` if a new value contains a double quote, which conditions
    cannot contain.
    """
    changes = _Changes(before, tuple(after))
    if not changes.renamed and not changes.revalued:
        return tuple(after)
    stored = {block.id: block for block in (*before.blocks, *before.outro) if block.id is not None}
    return tuple(
        _carried(block, stored[block.id], changes) if block.id in stored else block for block in after
    )


def carried_expression(
    text: str, *, before: Script, after: Sequence[Block], own_variables: Collection[str]
) -> str:
    """Rewrite an expression that belongs to no block, as `carry` does. It has variables of its own.

    Positions become names (rule 6.185), also if `after` are the blocks of `before`.
    """
    changes = _Changes(before, tuple(after))

    def form(name: str) -> str | None:
        if names.is_reserved(name):
            return None
        return title_case(name) if name in own_variables else names.expression_form(name)

    renamed = {old: title_case(new) if new in own_variables else new for old, new in changes.renamed.items()}
    with suppress(ParseError):
        text = expressions.replace_positions(text, lambda name: changes.instead_of_position(name, form))
        if changes.revalued:
            expression = expressions.parse(text)
            text = comparisons.with_values(expression.source, expression.tree, changes.literal)
        if renamed:
            text = expressions.rename(text, renamed, variables={*changes.variables, *own_variables})
    return text


def carried_text(text: str, *, before: Script, after: Sequence[Block]) -> str:
    """Rewrite the tokens of a text that belongs to no block. Positions become names (rule 6.185)."""
    changes = _Changes(before, tuple(after))

    def form(name: str) -> str | None:
        return None if piping.is_prompt_variable(name) else piping.token_form(name)

    text = piping.replace_positions(text, lambda name: changes.instead_of_position(name, form))
    return piping.rename(text, changes.renamed, variables=changes.variables) if changes.renamed else text


def _carried(block: Block, was: Block, changes: _Changes) -> Block:
    """The block with new values, and then with new names, because the values are found by the old names."""
    unchanged = _Unchanged(block, was)
    if changes.revalued:
        block = replace(block, **_with_values(block, unchanged, changes))  # type: ignore[arg-type]
    if changes.renamed:
        block = replace(block, **_with_names(block, unchanged, changes))  # type: ignore[arg-type]
    return block


class _Unchanged:
    """The texts of a block that a write does not change."""

    def __init__(self, block: Block, was: Block) -> None:
        self.block, self.was = block, was

    def __contains__(self, key: str) -> bool:
        text = getattr(self.block, key)
        return bool(text) and text == getattr(self.was, key)

    @property
    def condition_key(self) -> str | None:
        """The field of the condition, if it is unchanged: show_when, hide_when, or else precondition."""
        key = references.condition_key(self.block)
        return key if key in self else None


# --- Names ----------------------------------------------------------------------------------------


def renames(before: Script, after: Sequence[Block]) -> dict[str, str]:
    """Old title → new name, for every renamed block (rule 3.30)."""
    titles = {block.id: block.title for block in before.blocks if block.name and block.id is not None}
    return {
        titles[block.id]: block.name
        for block in after
        if block.id in titles and block.name and titles[block.id] != block.title
    }


def _with_names(block: Block, unchanged: _Unchanged, changes: _Changes) -> dict[str, object]:
    renamed, variables = changes.renamed, changes.variables
    fields: dict[str, object] = {
        key: piping.rename(getattr(block, key), renamed, variables=variables)
        for key in references.TEXTS_WITH_TOKENS
        if key in unchanged
    }
    if "calculated_formula" in unchanged:
        fields["calculated_formula"] = renamed_formula(block.calculated_formula or "", renamed, variables)
    if unchanged.condition_key is None:
        return fields
    key = references.condition_key(block)
    if key in _CONDITIONS:
        condition = renamed_condition(getattr(block, key), renamed, variables)
        with suppress(conditions.ConditionError):
            fields["precondition"] = conditions.compile(condition, hide=key == "hide_when")
            fields[key] = condition
    else:
        with suppress(ParseError):
            fields[key] = expressions.rename(block.precondition or "", renamed, variables=variables)
    return fields


def renamed_formula(text: str, renamed: Mapping[str, str], variables: Collection[str]) -> str:
    """A formula with its references rewritten.

    Brackets inside quoted text are no references, and stay unchanged.
    """
    pieces: list[str] = []
    at = 0
    try:
        mentions = formulas.parse(text).mentions
    except ParseError:  # reported by the rules
        return text
    for mention in mentions:
        new = renamed.get(title_case(mention.name))
        if new is None or names.is_position(mention.name) or mention.name in variables:
            continue
        start = mention.column - 1
        pieces += [text[at:start], f"[{piping.token_form(new)}]"]
        at = text.index("]", start) + 1
    return "".join([*pieces, text[at:]])


def renamed_condition(
    condition: Mapping[str, object], renamed: Mapping[str, str], variables: Collection[str]
) -> dict[str, object]:
    def renamed_leaf(leaf: Mapping[str, object]) -> dict[str, object]:
        block, variable = leaf.get("block"), leaf.get("variable")
        changed = dict(leaf)
        if isinstance(block, str):
            changed["block"] = renamed.get(title_case(block), block)
        if isinstance(variable, str) and variable not in variables and not names.is_position(variable):
            new = renamed.get(title_case(variable))
            if new is not None:
                changed["variable"] = names.expression_form(new)
        return changed

    return conditions.with_leaves(condition, renamed_leaf)


def rename_violations(
    before: Script, after: Script, *, block_paths: Sequence[BlockPath], invalid_fields: Set[str] = frozenset()
) -> Iterator[Violation]:
    """Report new names that tokens cannot contain, and texts that are too long after a rename.

    `block_paths` include the paths of the outro. Fields among `invalid_fields` are not reported again.
    """
    renamed = renames(before, after.blocks)
    walked = zip((*after.blocks, *after.outro), block_paths, strict=True)
    for number, (block, block_path) in enumerate(walked, 1):
        if block.name and block.name in renamed.values() and piping.is_prompt_variable(block.name):
            message = f"`name` cannot become {block.name}, because [{block.name}] is a variable in prompts."
            yield Violation(block_path.field("name"), "not_allowed", message)
        for key in references.TEXTS_WITH_TOKENS:
            length, most = len(getattr(block, key) or ""), _LONGEST[key]
            if renamed and length > most and not is_invalid(block_path.field(key), invalid_fields):
                message = (
                    f"In {block_words.in_words(block, number)}, `{key}` would have {length:,} characters "
                    f"with the new block names, and must have at most {most:,}."
                )
                yield Violation(block_path.field(key), "too_long", message)


# --- Values ---------------------------------------------------------------------------------------


class _NewValues:
    """The new values of the options of one block, by the old values and by the forms in which these compare.

    The options and each value are parsed once, because a script may compare them to a hundred thousand
    values.
    """

    def __init__(self, new_by_old: Mapping[str, str]) -> None:
        self._new_by_old = new_by_old
        self._found: dict[tuple[type, Value], str | None] = {}
        self._by_form: dict[Decimal | str, tuple[int, str]] = {}
        for place, old in enumerate(new_by_old):
            for form in Operand(old).forms:
                self._by_form.setdefault(form, (place, old))

    def instead_of(self, value: Value) -> str | None:
        """The new value of the first option whose old value equals this one; None if the value did not
        change.
        """
        key = type(value), value  # 1 and True are equal in Python
        if key not in self._found:
            self._found[key] = self._search(value)
        return self._found[key]

    def _search(self, value: Value) -> str | None:
        old = logic_values.text(value)
        if old not in self._new_by_old:
            alike = [self._by_form[form] for form in Operand(value).forms if form in self._by_form]
            old = min(alike)[1] if alike else old
        new = self._new_by_old.get(old, old)
        return None if new == old else new


@dataclass(frozen=True)
class _Changes:
    """The changes of a write that may affect other texts of the script."""

    before: Script
    after: tuple[Block, ...]

    @cached_property
    def renamed(self) -> Mapping[str, str]:
        return renames(self.before, self.after)

    @cached_property
    def variables(self) -> frozenset[str]:
        return references.variables(self.before)

    @cached_property
    def revalued(self) -> Mapping[int, _NewValues]:
        """The blocks with changed values by their index, and the new values of the options that remain."""
        now = {block.id: block for block in self.after if block.id is not None and block.type in WITH_ITEMS}
        changed: dict[int, _NewValues] = {}
        for n, was in enumerate(self.before.blocks):
            block = now.get(was.id or 0) if was.type in WITH_ITEMS else None
            if block is None or block.options == was.options:
                continue
            pairs = {
                option.value: block.option_by_id[option.id].value
                for option in was.options
                if option.id is not None and option.id in block.option_by_id
            }
            if any(old != new for old, new in pairs.items()):
                changed[n] = _NewValues(pairs)
        return changed

    @cached_property
    def _meanings(self) -> dict[str, int | str | None]:
        """A cache of `meaning`."""
        return {}

    def instead_of_position(self, name: str, form: Callable[[str], str | None]) -> str:
        """The name before the write of the block at a position, in the `form` of the text.

        A block that the text cannot name keeps a position: its new one, or one that no block has, if the
        block is removed.
        """
        at = self.meaning(name)
        if not isinstance(at, int):
            return name
        was = self.before.blocks[at]
        if was.name and self.before.index_by_title[was.title] == at and (new := form(was.name)):
            return new
        places = (
            n
            for n, block in enumerate(self.after)
            if block is was or (was.id is not None and block.id == was.id)
        )
        return f"q{next(places, len(self.after)) + 1}"

    def meaning(self, name: str) -> int | str | None:
        """The meaning of a name before the write (`references.resolve`)."""
        if name not in self._meanings:
            self._meanings[name] = references.resolve(name, self.before)
        return self._meanings[name]

    def new_value(self, name: str, value: Value) -> str | None:
        """In a comparison of a name with an option's value: the value that the option has now.

        None if it has not changed.
        """
        meaning = self.meaning(name)
        if not isinstance(meaning, int) or meaning not in self.revalued:
            return None
        if names.is_position(name) and not self._still_at(meaning):
            return None  # another block has this position now
        return self.revalued[meaning].instead_of(value)

    def _still_at(self, n: int) -> bool:
        return n < len(self.after) and self.after[n].id == self.before.blocks[n].id

    def literal(self, name: str, value: Value) -> str | None:
        """The new value as an expression or a formula writes it. A number remains a number if possible."""
        new = self.new_value(name, value)
        if new is None or (not isinstance(value, str) and logic_values.number(new) is not None):
            return new
        return quoted(new)


def _with_values(block: Block, unchanged: _Unchanged, changes: _Changes) -> dict[str, object]:
    fields: dict[str, object] = {}
    with suppress(ParseError):  # reported by the rules
        if "calculated_formula" in unchanged:
            formula = formulas.parse(block.calculated_formula or "")
            fields["calculated_formula"] = comparisons.with_values(
                formula.source, formula.tree, changes.literal
            )
    key = unchanged.condition_key
    if key is None:
        return fields
    with suppress(ParseError):
        expression = expressions.parse(block.precondition or "")
        text = comparisons.with_values(expression.source, expression.tree, changes.literal)
        if text == block.precondition:
            return fields
        fields["precondition"] = text
        if key in _CONDITIONS:
            condition = _revalued_condition(getattr(block, key), changes)
            try:
                fields["precondition"] = conditions.compile(condition, hide=key == "hide_when")
                fields[key] = condition
            except conditions.ConditionError:  # only an expression can contain this value
                fields[key] = None
    return fields


def _revalued_condition(condition: Mapping[str, object], changes: _Changes) -> dict[str, object]:
    def revalued_leaf(leaf: Mapping[str, object]) -> dict[str, object]:
        name, value = conditions.subject_of(leaf), leaf.get("value")

        def new(element: object) -> object:
            changed = changes.new_value(name, conditions.value_of(element))
            return element if changed is None else changed

        return {**leaf, "value": list(map(new, value)) if isinstance(value, list | tuple) else new(value)}

    return conditions.with_leaves(condition, revalued_leaf)
