"""Conditions in SQL that select responses: by fields, and by an expression (`where`).

    refuse_faults(where, …)             refuses an expression that no reader may use here
    parts(fields=…, where=…, …)         the conditions on a conversation's row, each with its values
    count(texts, …)                     how many responses satisfy each of several expressions

An expression is compiled to one condition on the stored state of a conversation, so the database selects
responses without a walk of the script. It means the same as `surveys.engine.where.holds`, except that scores
and results are those that are stored with the response (rule 5.12).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import orjson
from django.db import connection

from communities.ground.errors import Unavailable, refuse_all
from communities.ground.sent_text import sent_text
from communities.ground.slots import large_jobs, of_community
from communities.ground.statements import Part
from communities.ground.transactions import TakesTooLong, stopped_after
from surveys.engine import where as whole_responses
from surveys.engine.language import expressions, names, references, values
from surveys.engine.language.expression_tree import ExpressionNode, Literal, Name
from surveys.engine.language.formulas import DIGITS, MAX_EXPONENT
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Operand, Value
from surveys.engine.rules import dependence
from surveys.engine.script import CALCULATED, CHOICES, SCALES, Block, Script, Violation
from surveys.engine.walk import answers
from surveys.models import Theme
from surveys.services.ground import metadata

_PARAMETER = "where"
# More work than this is done for few at once. Short expressions reach it at about 45,000 responses, which
# take the database some tenths of a second; searches in long texts reach it much earlier.
MUCH_WORK = 10_000_000
_TO_READ = 200
_TO_LOOK_INTO_READINGS = 1_000  # once for each name: a look-up in an index of another table
_TO_LIST, _TO_LOOK_UP = 60, 8  # for each option of a list: once for each list, and at each mention of it
MOST_SECONDS = 5  # of statements that select by an expression
_TRUE: Part = ("TRUE", [])
_FALSE: Part = ("FALSE", [])
SECONDS_TO_WAIT = 1.0  # for a slot
RETRY_AFTER = 5  # seconds
TOO_LONG = "Selecting responses by this expression takes too long. Please shorten it, or filter by more."
BUSY = "Other expressions are selecting among many responses, or files are being made. Please retry shortly."
_slots = large_jobs
MOST_NAMES_AT_ONCE = 400  # each has up to three columns
# As `values.number` and `values.is_date` read texts. `\\d` of PostgreSQL also matches other digits.
_NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"
_DATE = (
    "^(?!0000)(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)$"
)
_ORDERINGS = ("<", "<=", ">", ">=")


ScriptOf = Callable[[], Script]  # reads the script only if there is an expression


def refuse_faults(text: str | None, *, script: ScriptOf, solutions: bool, readings: bool = True) -> None:
    """Refuse an expression with faults, and an expression that would reveal facts that its reader may not
    know.

    Readers without `solutions` do not see scores and results of calculated blocks, so they cannot select by
    them. Without `readings` the expression cannot select by themes and sentiments.
    """
    if text is not None and (found := list(_faults(text, script(), solutions, readings))):
        refuse_all(found)


def _faults(text: str, script: Script, solutions: bool, readings: bool) -> Iterator[Violation]:
    faults = list(whole_responses.faults(text, script=script, path=_PARAMETER, readings=readings))
    yield from faults
    if faults:
        return
    for mention in () if solutions else expressions.parse(text).mentions:
        if _is_computed(references.resolve(mention.name, script), script):
            message = "Scores and calculated results are for the project's creator and admins."
            yield Violation(_PARAMETER, "not_allowed", message, mention.column)


def _is_computed(meaning: int | str | None, script: Script) -> bool:
    if isinstance(meaning, int):
        return script.blocks[meaning].type == CALCULATED
    return meaning is not None and names.field_key(meaning) is None


def parts(
    *,
    fields: Sequence[tuple[str, str]],
    where: str | None,
    script: ScriptOf,
    state: str,
) -> Iterator[Part]:
    """Yield the conditions on `state`, the column with the state of a conversation, which has its id beside.

    The expression has no faults; a name that the script does not have any more has no value.
    """
    for name, value in fields:
        yield metadata.condition(name, value, state=state)
    if where is None:
        return
    columns: dict[str, tuple[str, Part]] = {}
    compiler = _Compiler(script(), "s.state", columns)
    condition = compiler.condition(expressions.parse(where).tree)
    row = f"SELECT {state}, {state.removesuffix('state')}id"
    yield _joined(f"(SELECT {{}} FROM ({row}) c(state, id), {{}})", condition, _values(columns))


def reads(where: str | None) -> bool:
    """Whether an expression without faults selects by what an analysis read."""
    mentions = expressions.parse(where).mentions if where is not None else ()
    return any(names.reading_parts(mention.name) for mention in mentions)


def number(name: str, *, script: Script, state: str) -> Part | None:
    """The number that a name of the script has in the column `state`, or NULL; None if it has none ever."""
    value = _Compiler(script, state)._value(name)
    return value.number if isinstance(value, _Single) else None


def work(texts: Sequence[str], *, script: Script) -> int:
    """The work of the database for one response with all answers that these expressions select or not."""
    mentioned = [mention.name for text in texts for mention in expressions.parse(text).mentions]
    sizes = {name: _length_of_list(name, script) for name in set(mentioned)}
    listed = _TO_LIST * sum(sizes.values()) + _TO_LOOK_UP * sum(sizes[name] for name in mentioned)
    compared = sum(len(text) + whole_responses.searched(text, script=script) for text in texts)
    read = _TO_LOOK_INTO_READINGS * sum(names.reading_parts(name) is not None for name in sizes)
    return _TO_READ + listed + compared + read


def _length_of_list(name: str, script: Script) -> int:
    """The most values that a name's list may have; 0 if its value is no list."""
    meaning = references.resolve(name, script)
    block = script.blocks[meaning] if isinstance(meaning, int) else None
    return len(block.options) if block is not None and block.type in ("multi_punch", "ranking") else 0


def is_much(where: str | None, *, responses: int, script: Script) -> bool:
    """Whether it is much work to select among `responses` by an expression without faults."""
    return where is not None and responses * work([where], script=script) > MUCH_WORK


@contextmanager
def slot(
    where: str | None, *, responses: Callable[[], int], script: ScriptOf, community_id: int
) -> Iterator[None]:
    """Let an expression select among `responses`; much work takes one of this process's LARGE_JOBS.

    Raises Unavailable if they are running, or one of this community, and if a statement takes longer than
    MOST_SECONDS.
    """
    if where is None:
        yield
        return
    with ExitStack() as stack:
        if is_much(where, responses=responses(), script=script()):
            owner = of_community(community_id)
            stack.enter_context(
                _slots.held(owner, timeout=SECONDS_TO_WAIT, busy=BUSY, retry_after=RETRY_AFTER)
            )
        stack.enter_context(stopped(where))
        yield


@contextmanager
def stopped(where: str | None) -> Iterator[None]:
    """Stop statements that select by an expression after MOST_SECONDS. Raises Unavailable."""
    if where is None:
        yield
        return
    try:
        with stopped_after(MOST_SECONDS):
            yield
    except TakesTooLong as error:
        raise Unavailable(TOO_LONG, retry_after=RETRY_AFTER) from error


def meaning(text: str, *, script: Script) -> Part:
    """The meaning of an expression for stored responses: equal for two scripts if it selects the same
    responses.
    """
    return _Compiler(script, "state").condition(expressions.parse(text).tree)


def count(texts: Sequence[str], *, script: Script, among: Part) -> list[int]:
    """How many responses satisfy each expression. `among` is a condition on the conversation `c`.

    The database reads each response once for some hundred names, and each value in it once, however often the
    expressions name it.
    """
    found: list[int] = []
    for some in _in_groups(texts):
        found += _count(some, script=script, among=among)
    return found


def _in_groups(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The expressions in groups whose values fit into one statement: a table has at most 1,664 columns."""
    group, size = list[str](), 0
    for text in texts:
        names = len(expressions.parse(text).mentions)
        if group and size + names > MOST_NAMES_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(text)
        size += names
    if group:
        yield group


def _count(texts: Sequence[str], *, script: Script, among: Part) -> list[int]:
    columns: dict[str, tuple[str, Part]] = {}
    compiler = _Compiler(script, "s.state", columns)
    conditions = [compiler.condition(expressions.parse(text).tree) for text in texts]
    counts = _joined(", ".join(["count(*) FILTER (WHERE {})"] * len(conditions)), *conditions)
    sql, parameters = _joined(
        "SELECT {} FROM (SELECT c.state FROM surveys_conversation c WHERE {} OFFSET 0) c, {}",
        counts,
        among,
        _values(columns),
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchone())


def _values(columns: Mapping[str, tuple[str, Part]]) -> Part:
    """The tables `s`, `a` and `v` with the state of the conversation `c`, its answers, and these values.

    OFFSET 0 keeps the parts apart, so that the state is unpacked once and no value is computed again for each
    of its mentions.
    """
    known = ", ".join(f"{{}} AS {name}" for name, _ in columns.values()) or "1"
    return _joined(
        "LATERAL (SELECT c.state #> ARRAY[]::text[] AS state OFFSET 0) s,"
        " LATERAL (SELECT s.state->'answers' AS answers OFFSET 0) a,"
        f" LATERAL (SELECT {known} OFFSET 0) v",
        *(part for _, part in columns.values()),
    )


@dataclass(frozen=True, slots=True)
class _Single:
    """A value of SQL that is a text, or NULL if it is missing. `number` is its number, or NULL."""

    text: Part
    number: Part
    is_text: bool = True  # may be a date


@dataclass(frozen=True, slots=True)
class _List:
    """A list of SQL: an array of texts, and another of the same texts in the form in which equal ones are the
    same. Both are NULL if the value is missing. `keys` is an object with these forms, or NULL without any.
    """

    texts: Part
    forms: Part
    keys: Part


_Compiled = Operand | _Single | _List


@dataclass(frozen=True, slots=True)
class _Compiler:
    script: Script
    state: str
    # The name and the part of each value that is a column of its own, by the part's text; None if none is.
    columns: dict[str, tuple[str, Part]] | None = None
    _scores: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def condition(self, node: ExpressionNode) -> Part:
        """A condition that is never NULL. The recursion is as deep as the expression."""
        match node:
            case Negation(part):
                return _joined("NOT ({})", self.condition(part))
            case Conjunction(conjuncts):
                return _all(" AND ", [self.condition(part) for part in conjuncts])
            case Disjunction(disjuncts):
                return _all(" OR ", [self.condition(part) for part in disjuncts])
            case Comparison("!=", left, right):
                return _joined("NOT ({})", self._comparison("=", left, right))
            case Comparison(sign, left, right):
                return self._comparison(sign, left, right)
            case Name() | Literal():
                return self._truth(node)

    def _truth(self, node: Name | Literal) -> Part:
        block = self._choice(node)
        if block is not None:
            return self._of_chosen(block, values.is_true)
        value = self._operand(node)
        match value:
            case Operand():
                return _TRUE if value.is_true else _FALSE
            case _List(texts=texts):
                return _joined("coalesce(cardinality({}) > 0, FALSE)", texts)
            case _Single(text, number):
                sql = "coalesce({} NOT IN ('', 'false') AND coalesce({} <> 0, TRUE), FALSE)"
                return _joined(sql, text, number)

    def _comparison(self, sign: str, left: ExpressionNode, right: ExpressionNode) -> Part:
        compare = expressions.COMPARISONS[sign]
        first, second = self._operand(left), self._operand(right)
        if isinstance(first, Operand) and isinstance(second, Operand):
            return _TRUE if compare(first, second) else _FALSE
        if (block := self._choice(left)) is not None and isinstance(second, Operand):
            constant = second
            return self._of_chosen(block, lambda value: compare(value, constant))
        if (block := self._choice(right)) is not None and isinstance(first, Operand):
            other = first
            return self._of_chosen(block, lambda value: compare(other, value))
        if sign == "=":
            return _equal(first, second)
        if sign != "in":
            return _ordered(sign, first, second)
        if isinstance(second, _List) or (isinstance(second, Operand) and second.is_list):
            return self._overlap(first, second)
        return _is_within(first, second)

    def _choice(self, node: ExpressionNode) -> Block | None:
        """The block of a name whose value is one of few, so that each can be compared beforehand."""
        meaning = self._meaning(node.name) if isinstance(node, Name) else None
        block = self.script.blocks[meaning] if isinstance(meaning, int) else None
        return block if block is not None and block.type == "single_punch" else None

    def _of_chosen(self, block: Block, holds: Callable[[Value], bool]) -> Part:
        """Whether the comparison is true for the chosen option."""
        if_missing = holds(None)
        wanted = [str(each.id) for each in block.options if holds(each.value) != if_missing]
        first = self._once((f"{self._reply(block)}->'option_ids'->>0", []))
        chosen = _joined("coalesce({} = ANY({}), FALSE)", first, ("%s", [wanted]))
        return _joined("NOT {}", chosen) if if_missing else chosen

    def _operand(self, node: ExpressionNode) -> _Compiled:
        match node:
            case Literal():
                return node.operand
            case Name(name):
                match self._value(name):
                    case _Single(text, number, is_text):
                        return _Single(self._once(text), self._once(number), is_text)
                    case _List(texts, forms, keys):
                        return _List(self._once(texts), self._once(forms), keys)
                    case constant:
                        return constant
            case _:
                text = _joined("CASE WHEN {} THEN 'true' ELSE 'false' END", self.condition(node))
                return _Single(text, ("NULL::numeric", []), is_text=False)

    def _overlap(self, left: _Compiled, right: _Compiled) -> Part:
        """Whether two values share an element. The elements of one are keys of an object, so that each of the
        other is found without a walk over all.
        """
        if isinstance(left, Operand):
            left, right = right, left
        if isinstance(right, _List):
            known = self._once(right.keys)
        else:
            assert isinstance(right, Operand)
            known = ("%s::jsonb", [_json({_form(each): 1 for each in right.elements})])
        return _joined("coalesce(jsonb_exists_any({}, {}), FALSE)", known, _forms(left))

    def _meaning(self, name: str) -> int | str | None:
        return name if name == dependence.LANGUAGE else references.resolve(name, self.script)

    def _value(self, name: str) -> _Compiled:
        if (read := whole_responses.read_block(name, self.script)) is not None:
            return (
                self._themes(read) if name.startswith("themes.") else _text(_of_reading("r.sentiment", read))
            )
        meaning = self._meaning(name)
        if isinstance(meaning, int):
            return self._value_of_block(self.script.blocks[meaning])
        if meaning is not None and (key := names.field_key(meaning)) is not None:
            return _text((f"{self.state}->'fields'->>%s", [key]))
        if meaning is not None and meaning in references.variables(self.script):
            return _number(self._variable(meaning))
        if meaning == dependence.LANGUAGE:
            return _text((f"{self.state}->>'language'", []))
        return Operand(None)

    def _value_of_block(self, block: Block) -> _Compiled:
        if block.type == CALCULATED:
            return self._result(block)
        reply = self._reply(block)
        if block.type == "single_punch":
            texts = {str(each.id): each.value for each in block.options}
            return _text((f"%s::jsonb->>({reply}->'option_ids'->>0)", [_json(texts)]))
        if block.type in CHOICES or block.type == "ranking":
            return self._list(block)
        if block.type in SCALES or block.type == "open_numeric":
            return _number((f"({reply}->>'number')::numeric", []))
        return _text((f"{reply}->>'text'", []))

    def _reply(self, block: Block) -> str:
        stored = f"{self.state}->'answers'" if self.columns is None else "a.answers"
        return f"{stored}->'{block.id or 0:d}'"

    def _once(self, part: Part) -> Part:
        """The part, or the name of the column that has its value."""
        if self.columns is None:
            return part
        name, _ = self.columns.setdefault(repr(part), (f"value_{len(self.columns)}", part))
        return name, []

    def _list(self, block: Block) -> _List:
        """The values that were chosen: of a ranking the best first, else in the order of the options."""
        reply = f"{self._reply(block)}->'option_ids'"
        places = {str(each.id): n for n, each in enumerate(block.options)}
        order = ("n", []) if block.type == "ranking" else ("(%s::jsonb->id)::int", [_json(places)])

        def of(known: Mapping[str, str]) -> Part:
            # A look-up for each chosen option, whose cost does not grow with the options of the block
            sql = f"""CASE WHEN {reply} IS NOT NULL THEN ARRAY(
                SELECT text FROM jsonb_array_elements_text({reply}) WITH ORDINALITY chosen(id, n),
                LATERAL (SELECT %s::jsonb->>id AS text) known
                WHERE text IS NOT NULL ORDER BY {order[0]}) END"""
            return sql, [_json(known), *order[1]]

        texts = {str(each.id): each.value for each in block.options}
        forms = of({key: _form(values.operand(text)) for key, text in texts.items()})
        return _List(of(texts), forms, _keys(forms))

    def _themes(self, block: Block) -> _List:
        """The titles of an answer's themes, in the order of the themes' ids."""
        themes = Theme.objects.filter(block_id=block.id or 0, merged_into=None)
        titles = {str(pk): title for pk, title in themes.values_list("pk", "title")}

        def of(known: Mapping[str, str]) -> Part:
            named = "SELECT %s::jsonb->>theme::text AS text, theme FROM unnest(r.themes) theme"
            listed = f"ARRAY(SELECT text FROM ({named}) named WHERE text IS NOT NULL ORDER BY theme)"
            return _of_reading(listed, block, _json(known))

        forms = of({key: _form(values.operand(title)) for key, title in titles.items()})
        return _List(of(titles), forms, _keys(forms))

    def _result(self, block: Block) -> _Single:
        """A stored result: a text, or a number rounded as it is for conditions."""
        result = f"{self.state}->'results'->'{block.id or 0:d}'"
        exact = f"({result}->>'number')::numeric"
        number = f"""CASE WHEN abs({exact}) >= 1e-{MAX_EXPONENT} AND abs({exact}) < 1e{MAX_EXPONENT}
            THEN round({exact}, ({DIGITS} - 1 - floor(log(abs({exact}))))::int)
            WHEN {exact} IS NOT NULL THEN 0 END"""
        text = f"coalesce({result}->>'text', trim_scale({number})::text)"
        worded = f"CASE WHEN {result}->>'text' ~ %s THEN ({result}->>'text')::numeric ELSE {number} END"
        return _Single((text, []), (worded, [_NUMBER]))

    def _variable(self, name: str) -> Part:
        if name in ("correct_answers", "max_correct_answers"):
            graded = [block for block in self.script.blocks if answers.is_graded(block)]
            of_block = self._is_correct if name == "correct_answers" else self._was_shown
            counted = [_joined("({})::int", of_block(block)) for block in graded]
            return _all(" + ", counted) if counted else ("0::numeric", [])
        if not self._scores:
            for key in self.script.bucket_keys:
                for at, score in enumerate(names.SCORES):
                    for variable in {score, f"{score}_{key}", f"{score}_{key.replace('-', '_')}"}:
                        self._scores.setdefault(variable, []).append((key, at))
        scores = f"{self.state}->'scores'"
        sums = [
            (f"coalesce(({scores}->%s->>{at})::numeric, 0)", [key]) for key, at in self._scores.get(name, ())
        ]
        total = _all(" + ", sums) if sums else ("0::numeric", [])
        return _joined(f"CASE WHEN jsonb_typeof({scores}) = 'object' THEN {{}} END", total)

    def _is_correct(self, block: Block) -> Part:
        reply = self._reply(block)
        if block.type in SCALES:
            points = [each.value for each in block.options if each.id in (block.correct_answer_ids or ())]
            return f"coalesce({reply}->>'number' = ANY(%s), FALSE)", [points if len(points) == 1 else []]
        right = sorted(block.correct_answer_ids or ())
        present = [each.id or 0 for each in block.options]
        sql = f"""coalesce(ARRAY(
            SELECT chosen.id::bigint FROM jsonb_array_elements_text({reply}->'option_ids') chosen(id)
            WHERE chosen.id::bigint = ANY(%s::bigint[]) ORDER BY 1) = %s::bigint[], FALSE)"""
        return sql, [present, right]

    def _was_shown(self, block: Block) -> Part:
        return f"coalesce({self.state}->'path' @> '{block.id or 0:d}'::jsonb, FALSE)", []


def _json(known: Mapping[str, str | int]) -> str:
    """A look-up by the ids of options. As a text it can be compared, unlike `Jsonb`."""
    return orjson.dumps(known).decode()


def _of_reading(value: str, block: Block, *parameters: str) -> Part:
    """A value of the reading `r` of a conversation's answer; NULL if no analysis has read the answer."""
    sql = f"(SELECT {value} FROM surveys_reading r WHERE r.conversation_id = c.id AND r.block_id = %s)"
    return sql, [*parameters, block.id]


def _keys(forms: Part) -> Part:
    return _joined("(SELECT jsonb_object_agg(form, 1) FROM unnest({}) form)", forms)


def _text(text: Part) -> _Single:
    is_number = f"octet_length({{}}) <= {values.MAX_NUMBER} AND {{}} ~ {{}}"
    parts = text, text, ("%s", [_NUMBER]), text
    return _Single(text, _joined(f"CASE WHEN {is_number} THEN ({{}})::numeric END", *parts))


def _number(number: Part) -> _Single:
    return _Single(_joined("trim_scale({})::text", number), number, is_text=False)


def _form(operand: Operand) -> str:
    """The text that equal single values share: of a number its shortest digits, else the text in the form of
    `sent_text`.
    """
    if operand.number is not None:
        return values.plain_digits(operand.number)
    return sent_text(operand.text)


def _form_of(value: _Single) -> Part:
    return _joined("coalesce(trim_scale({})::text, {})", value.number, value.text)


def _forms(value: _Compiled) -> Part:
    """An array of the forms of a value's elements; NULL if the value is missing."""
    match value:
        case Operand():
            missing = value.value is None
            return ("NULL::text[]", []) if missing else ("%s::text[]", [list(map(_form, value.elements))])
        case _Single():
            return _joined("CASE WHEN {} IS NOT NULL THEN ARRAY[{}] END", value.text, _form_of(value))
        case _List(forms=forms):
            return forms


def _equal(left: _Compiled, right: _Compiled) -> Part:
    if isinstance(left, _Single) and isinstance(right, _Single):
        return _joined("coalesce({} = {}, FALSE)", _form_of(left), _form_of(right))
    if isinstance(left, Operand):
        left, right = right, left
    if isinstance(left, _Single) and isinstance(right, Operand) and len(right.elements) == 1:
        [only] = right.elements
        if only.value is None:
            return _FALSE
        if only.number is not None:
            return _joined("coalesce({} = {}, FALSE)", left.number, ("%s::numeric", [str(only.number)]))
        return _joined("coalesce({} = {}, FALSE)", left.text, ("%s", [_form(only)]))
    return _joined("coalesce({} = {}, FALSE)", _forms(left), _forms(right))


def _is_within(left: _Compiled, right: Operand | _Single) -> Part:
    """Whether a text contains the left value, or one of its elements."""
    whole = (
        ("%s::text", [right.text if right.value is not None else None])
        if isinstance(right, Operand)
        else right.text
    )
    match left:
        case Operand():
            missing = left.value is None
            looked_for = (
                ("NULL::text[]", []) if missing else ("%s::text[]", [[each.text for each in left.elements]])
            )
        case _Single(text):
            return _joined("coalesce(strpos({}, {}) > 0, FALSE)", whole, text)
        case _List(texts=texts):
            looked_for = texts
    return _joined(
        "EXISTS (SELECT FROM unnest({}) looked_for(text) WHERE strpos({}, looked_for.text) > 0)",
        looked_for,
        whole,
    )


def _ordered(sign: str, left: _Compiled, right: _Compiled) -> Part:
    assert sign in _ORDERINGS
    if isinstance(left, _List) or isinstance(right, _List):
        return _FALSE
    numbers = _joined(f"coalesce({{}} {sign} {{}}, FALSE)", _number_of(left), _number_of(right))
    first, second = _date_of(left), _date_of(right)
    if first is None or second is None:
        return numbers
    return _joined(f'({{}} OR coalesce({{}} COLLATE "C" {sign} {{}}, FALSE))', numbers, first, second)


def _number_of(value: Operand | _Single) -> Part:
    if isinstance(value, _Single):
        return value.number
    return "%s::numeric", [None if value.number is None else str(value.number)]


def _date_of(value: Operand | _Single) -> Part | None:
    """The value if it is a date; None if it cannot be one."""
    if isinstance(value, Operand):
        return None if value.date is None else ("%s::text", [value.date])
    return (
        _joined(
            "CASE WHEN octet_length({}) = 10 AND {} ~ {} THEN {} END",
            value.text,
            value.text,
            ("%s", [_DATE]),
            value.text,
        )
        if value.is_text
        else None
    )


def _joined(sql: str, *found: Part) -> Part:
    """The parts in the places `{}` of a text, with all their values."""
    return sql.format(*(part for part, _ in found)), [value for _, own in found for value in own]


def _all(word: str, found: Sequence[Part]) -> Part:
    return _joined("(" + word.join(["{}"] * len(found)) + ")", *found)
