"""Reads the division of responses into segments from its text in a request (rules 6.320 to 6.323).

12, game                by the id or the name of a block:
                        the options of a choice, the points of a scale, the first choice of a ranking, the
                        themes of an open question, or the numbers of another block, in bands
12:18,30                the numbers of a block in bands that begin at 18 and at 30
12:groups               promoters, passives and detractors
score, score_sea:10     a variable of scores, in bands
field.customer          the values of a field
language                the languages in which responses were asked for
completed.week          the times of completion by `day`, `week` or `month`, in UTC
completed.week:Asia/Tokyo   the same in a time zone
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from itertools import count
from typing import NoReturn, get_args
from zoneinfo import available_timezones

from communities.ground.errors import refuse
from communities.ground.rounding import Rounding
from communities.ground.statements import Part, fetch_rows
from surveys.engine.language import references
from surveys.engine.language.values import plain_digits
from surveys.engine.rules import dependence
from surveys.engine.script import CALCULATED, SCALES, Block, Script
from surveys.engine.statistics import SEGMENT_TYPES, DistributionEntry
from surveys.models import Project, Theme
from surveys.services.counting import sent_fields
from surveys.services.counting.answer_groups import ReportedBlock
from surveys.services.counting.divisions import NOT_GIVEN, Dividing, Order, Values
from surveys.services.ground import selecting
from surveys.services.ground.anonymity import rounding_of

FIELD = "field."
LANGUAGE = dependence.LANGUAGE
COMPLETED = "completed."
PERIODS = ("day", "week", "month")
GROUPS = "groups"
MOST_BOUNDS = 20
MOST_BANDS = 7  # of bands that nobody chose
BAND_STEPS = (1, 2, 5)  # multiplied by powers of ten
_BOUND = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
TEXT = r"([0-9]+|field\.[a-z0-9_]{1,40}|completed\.(day|week|month)|[^ -@\[-`{-~][^:.]{0,200})(:.{1,500})?"
_NPS_GROUPS = {
    "detractors": "Detractors (0 to 6)",
    "passives": "Passives (7 and 8)",
    "promoters": "Promoters (9 and 10)",
}
NOTHING = (
    "`{}` must be the id or the name of a question of this project, `field.` and a name, `language`, "
    "`completed.day`, `.week` or `.month`, or a variable of scores."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request divides by: `what` and, after a colon, `how`. `parameter` is named in refusals."""

    what: str
    how: str
    parameter: str

    @classmethod
    def of(cls, by: int | str, parameter: str) -> Asked:
        what, _, how = str(by).partition(":")
        return cls(what, how, parameter)

    @property
    def text(self) -> str:
        return f"{self.what}:{self.how}" if self.how else self.what

    def refuse(self, message: str, code: str = "invalid") -> NoReturn:
        refuse(self.parameter, code, message)


def dividing(
    by: int | str | None,
    *,
    project: Project,
    script: Script,
    reported: Sequence[ReportedBlock],
    most: int,
    derives: bool,
    parameter: str = "segment_by",
) -> Dividing:
    """The division of the responses, into at most `most` values where their number is not known.

    Refuses a value that is unknown or cannot divide, and scores and calculated results unless the reader
    `derives`.
    """
    if by is None:
        return None
    asked = Asked.of(by, parameter)
    if asked.what.startswith(FIELD):
        return _field(asked, project, most)
    if asked.what.startswith(COMPLETED):
        return _times(asked, project, most)
    if asked.what == LANGUAGE:
        return _languages(asked, most)
    named = references.resolve(asked.what, script)
    if isinstance(named, int):
        asked = replace(asked, what=str(script.blocks[named].id))
    if not asked.what.isdigit():
        return _variable(asked, project, script, most, derives)
    for each in reported:
        if str(each.id) == asked.what:
            return _block(asked, project, each, most)
    for block in script.blocks:
        if str(block.id) == asked.what and block.type == CALCULATED:
            return _numbers(asked, project, _calculated(asked, block, script, derives), most, block)
    asked.refuse(NOTHING.format(parameter), "not_found")


def _block(asked: Asked, project: Project, reported: ReportedBlock, most: int) -> Dividing:
    block = reported.block
    if block.type in SEGMENT_TYPES and not asked.how:
        return reported
    number: Part = ("(c.state->'answers'->%s->>'number')::numeric", [str(reported.id)])
    if block.type == "nps" and asked.how == GROUPS:
        sql, values = number
        group = f"(%s::text[])[1 + width_bucket({sql}, ARRAY[7, 9]::numeric[])]"
        entries = tuple(DistributionEntry((None, each), each, label) for each, label in _NPS_GROUPS.items())
        return Values(
            asked.text,
            block.prompt,
            (group, [list(_NPS_GROUPS), *values]),
            most,
            entries,
            block=reported,
            parameter=asked.parameter,
        )
    if block.type in SCALES or block.type == "open_numeric":
        return _numbers(asked, project, number, most, block, reported)
    if block.is_read and not asked.how:
        return _themes(asked, reported, most)
    if asked.how:
        asked.refuse("Only numbers, scales and scores have bands, such as `:18,30`.")
    asked.refuse(NOTHING.format(asked.parameter), "not_found")


def _field(asked: Asked, project: Project, most: int) -> Values:
    if asked.how:
        asked.refuse("Values of fields are compared as they are, without bands.")
    name = asked.what.removeprefix(FIELD)
    declared = sent_fields.declared(project=project, names=[name]).get(name, ())
    entries = tuple(DistributionEntry((None, each), each, None) for each in dict.fromkeys(declared) if each)
    return Values(
        asked.what,
        name,
        ("coalesce(c.state->'fields'->>%s, '')", [name]),
        most,
        (*entries, DistributionEntry((None, ""), "", NOT_GIVEN)),
        is_open=True,
        order="frequent",
        parameter=asked.parameter,
    )


def _languages(asked: Asked, most: int) -> Values:
    if asked.how:
        asked.refuse("Languages are compared as they are, without bands.")
    unknown = DistributionEntry((None, ""), "", "Not known")
    mark: Part = ("coalesce(c.state->>'language', '')", [])
    return Values(
        LANGUAGE,
        "Language",
        mark,
        most,
        (unknown,),
        is_open=True,
        order="language",
        parameter=asked.parameter,
    )


def _times(asked: Asked, project: Project, most: int) -> Values:
    period, zone = asked.what.removeprefix(COMPLETED), asked.how or "UTC"
    if period not in PERIODS or zone not in available_timezones():
        asked.refuse("Times are compared by `day`, `week` or `month`, and after a colon by a time zone.")
    if zone != "UTC" and rounding_of(project) == Rounding.DAY:
        asked.refuse("The times of these responses are rounded to days of UTC.")
    order: Order = next(each for each in get_args(Order) if each == period)
    mark: Part = ("to_char(date_trunc(%s, c.completed_at AT TIME ZONE %s), 'YYYY-MM-DD')", [period, zone])
    title = f"{period.capitalize()} of completion"
    return Values(asked.text, title, mark, most, is_open=True, order=order, parameter=asked.parameter)


def _variable(asked: Asked, project: Project, script: Script, most: int, derives: bool) -> Values:
    if asked.what == "answer" or asked.what not in references.variables(script):
        asked.refuse(NOTHING.format(asked.parameter), "not_found")
    return _numbers(asked, project, _computed(asked, asked.what, script, derives), most)


def _calculated(asked: Asked, block: Block, script: Script, derives: bool) -> Part:
    return _computed(asked, f"q{script.blocks.index(block) + 1}", script, derives)


def _computed(asked: Asked, name: str, script: Script, derives: bool) -> Part:
    """The number of a score or of a calculated block, which count in completed responses alone."""
    if not derives:
        asked.refuse("Scores and calculated results are for the project's creator and admins.", "not_allowed")
    number = selecting.number(name, script=script, state="c.state")
    if number is None:
        asked.refuse(NOTHING.format(asked.parameter), "not_found")
    sql, values = number
    return f"CASE WHEN c.completed_at IS NOT NULL THEN {sql} END", values


def _themes(asked: Asked, reported: ReportedBlock, most: int) -> Values:
    themes = Theme.objects.filter(block_id=reported.id, merged_into=None).order_by("pk")
    entries = tuple(
        DistributionEntry((None, pk), str(pk), title) for pk, title in themes.values_list("pk", "title")
    )
    if not entries:
        asked.refuse("No analysis has found themes in the answers to this question yet.", "not_found")
    mark: Part = (
        "(SELECT CASE WHEN r.themes = '{}' THEN ARRAY[''] ELSE r.themes::text[] END FROM surveys_reading r"
        " WHERE r.conversation_id = c.id AND r.block_id = %s)",
        [reported.id],
    )
    return Values(
        asked.what,
        reported.block.prompt,
        mark,
        most,
        (*entries, DistributionEntry((None, ""), "", "No theme")),
        is_multiple=True,
        order="frequent",
        block=reported,
        parameter=asked.parameter,
    )


# --- Bands ------------------------------------------------------------------------------------------------


def _numbers(
    asked: Asked,
    project: Project,
    number: Part,
    most: int,
    block: Block | None = None,
    reported: ReportedBlock | None = None,
) -> Values:
    bounds = bounds_of(asked.how, asked.parameter) if asked.how else _usual_bounds(project, number)
    sql, values = number
    mark: Part = (f"width_bucket({sql}, %s::numeric[])::text", [*values, [str(each) for each in bounds]])
    is_whole = block is not None and (block.type in SCALES or bool(block.whole))
    entries = tuple(
        DistributionEntry((None, str(n)), text, label)
        for n, (text, label) in enumerate(_bands(bounds, is_whole=is_whole))
    )
    title = block.prompt or block.name or "" if block else asked.what.replace("_", " ").capitalize()
    return Values(asked.text, title, mark, most, entries, block=reported, parameter=asked.parameter)


def bounds_of(text: str, parameter: str) -> list[Decimal]:
    """The numbers at which bands begin. Refuses other texts."""
    texts = [each.strip() for each in text.split(",")]
    if len(texts) > MOST_BOUNDS:
        refuse(parameter, "too_many", f"At most {MOST_BOUNDS} numbers begin bands.")
    if not all(_BOUND.fullmatch(each) for each in texts):
        refuse(parameter, "invalid", "Bands are the numbers at which they begin, such as `18, 30, 50`.")
    bounds = [Decimal(each) for each in texts]
    if bounds != sorted(set(bounds)):
        refuse(parameter, "invalid", "The numbers at which bands begin grow from left to right.")
    return bounds


def _usual_bounds(project: Project, number: Part) -> list[Decimal]:
    """The bounds of bands that nobody chose, at multiples of 1, 2 or 5 times a power of ten.

    They divide the latest responses without their highest and lowest 5 per cent, which are in the first and
    the last band.
    """
    sql, values = number
    [(ends, is_whole)] = fetch_rows(
        f"""
        SELECT percentile_disc(ARRAY[0.05, 0.95]) WITHIN GROUP (ORDER BY number),
            bool_and(number = floor(number))
        FROM (
            SELECT {sql} AS number FROM (
                SELECT * FROM surveys_conversation
                WHERE project_id = %s AND is_listed ORDER BY updated_at DESC, id DESC LIMIT %s
            ) c OFFSET 0
        ) numbers WHERE number NOT IN ('NaN', 'Infinity', '-Infinity')
        """,
        [*values, project.pk, sent_fields.LOOKED_AT],
    )
    if ends is None:
        return []
    low, high = ends
    first = ((high - low) / MOST_BANDS).adjusted() if high > low else 0
    steps = (Decimal(factor).scaleb(power) for power in count(first) for factor in BAND_STEPS)
    step = next(
        each
        for each in steps
        if (each >= 1 or not is_whole) and _place(high, each) - _place(low, each) < MOST_BANDS
    )
    return [n * step for n in range(_place(low, step) + 1, _place(high, step) + 1)]


def _place(number: Decimal, step: Decimal) -> int:
    return int((number / step).to_integral_value(ROUND_FLOOR))


def _bands(bounds: Sequence[Decimal], *, is_whole: bool) -> list[tuple[str, str]]:
    """The bands as a text for programs, and in words."""
    if not bounds:
        return [("all", "Any number")]
    texts = [plain_digits(each) for each in bounds]
    bands = [(f"<{texts[0]}", f"under {texts[0]}")]
    for low, high, at, to in zip(texts, texts[1:], bounds, bounds[1:], strict=False):
        last = to - 1
        if is_whole and at == int(at) and to == int(to):
            words = low if last == at else f"{low} to {plain_digits(last)}"
        else:
            words = f"{low} to under {high}"
        bands.append((f"{low}-<{high}", words))
    return [*bands, (f">={texts[-1]}", f"{texts[-1]} or more")]
