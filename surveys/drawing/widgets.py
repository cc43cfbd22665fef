"""Converts a block to a step of the page: its control, choices and texts, ready for the templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from types import MappingProxyType
from typing import Any

from emoji import demojize

from communities.ground.translation import language, say
from communities.services.pictures.copies import Copy
from surveys import written_numbers
from surveys.drawing.words import day_in_words
from surveys.engine.intake import videos
from surveys.engine.intake.fields import MAX_OTHER_TEXT, MAX_VALUE
from surveys.engine.intake.videos import Video
from surveys.engine.language.values import is_date
from surveys.engine.script import CHOICES, SCALES, STATEMENTS, Block, Option
from surveys.engine.walk import answers, defaults, formats
from surveys.engine.walk.answers import MAX_TEXT, Reply

LONG_PROMPT = 160  # characters; longer questions are set in smaller type
PICTURE_ROOM = (608, 288)  # pixels, at most; the column has 38rem
OPTION_ROOM = (288, 192)  # of the picture of an option
FIELDS = "respondent/fields/"
ASKED_BY_AI = "Asked by an AI"
LOCKED = "Your answer stays, because you have read whether it is right."
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Typed:
    """The values in the controls: an earlier answer, or a form that was just refused."""

    chosen: frozenset[str] = frozenset()
    rows: Mapping[int, frozenset[str]] = field(default_factory=dict)  # of a group, by block id
    ranks: Mapping[str, str] = field(default_factory=dict)  # by option id
    order: Sequence[str] = ()  # option ids that a ranking shows first, without a rank
    text: str = ""
    other: str = ""  # the text for an option with `is_other`
    consent: str = ""  # what the box of the project's `consent` sends, if it is ticked


# Of a group that is drawn with one head for its options, in characters of 12 pixels: “Dissatisfied” fits.
MOST_COLUMNS, LONGEST_WORD, LONGEST_HEAD = 5, 12, 24


@dataclass(frozen=True, slots=True)
class Choice:
    """One option or scale point in a control. `rank` is its place in a ranking, if one was given.

    `end` is the id of the words that describe this point, such as “not at all” for the first point of a
    scale. `spoken` are words for screen readers if an emoji is shown without words.
    """

    id: int | None
    value: str  # the value that the form sends
    text: str
    emoji: str
    key: str  # the keyboard shortcut; empty if there is none
    is_chosen: bool
    rank: str = ""
    end: str = ""
    spoken: str = ""
    is_exclusive: bool = False
    is_other: bool = False
    image: Copy | None = None
    image_alt: str = ""

    @property
    def image_size(self) -> tuple[int, int]:
        """Width and height of the picture on its card."""
        assert self.image is not None
        return self.image.fitted(*OPTION_ROOM)

    def described_by(self, step: StepWidget) -> str:
        """The ids of the texts that describe this point of a scale, in the control of `step`."""
        ids = ["field-error" if step.error else "", self.end]
        return " ".join(f"{each}{step.mark}" for each in ids if each)


@dataclass(frozen=True, slots=True)
class Said:
    """A given answer as its control showed it: the pressed symbol, and the answer in words.

    `is_sign_alone`: the control showed no words, so the words are only for screen readers.
    """

    text: str
    sign: str = ""
    is_sign_alone: bool = False


@dataclass(frozen=True, slots=True)
class StepWidget:
    """One step, rendered by respondent/step.html and the template of its control (`control`)."""

    block_id: int | None
    prompt: str
    control: str
    group: str = ""
    description: str = ""
    do: str = "answer"
    button: str = ""
    is_statement: bool = False
    is_group: bool = False
    is_long: bool = False
    is_optional: bool = False
    is_locked: bool = False
    can_go_back: bool = False
    help: str = ""
    error: str = ""
    image: Copy | None = None
    image_alt: str = ""
    thumbnail: Copy | None = None
    thumbnail_alt: str = ""
    video: Video | None = None
    colour: str = ""
    pause: int | None = None
    choices: Sequence[Choice] = ()
    name: str = "value"
    input: str = "radio"
    look: str = ""
    ends: Sequence[str] = ()
    typed: str = ""
    inputmode: str = ""
    takes_minus: bool = False  # and no number pad has a minus
    autocomplete: str = "off"
    placeholder: str = ""
    longest: int = MAX_TEXT
    counted: int = 0
    ranks: Sequence[str] = ()
    follow_up: int = 0
    rows: Sequence[StepWidget] = ()  # the questions of a group
    head: Sequence[str] = ()  # the options above the rows
    mark: str = ""  # at the end of every id, where a screen has several controls
    other: Choice | None = None
    other_text: str = ""
    longest_other: int = MAX_OTHER_TEXT
    most: int = 0  # options that can be ticked; 0 if all can be

    @property
    def row_ids(self) -> str:
        return " ".join(str(row.block_id) for row in self.rows)

    @property
    def described_by(self) -> str:
        """The ids of the texts that describe the control, in the order in which they are read.

        In a group each of its fields has the error, and the first and the last one have the ends of a scale.
        """
        ids = {"group": self.group, "description": self.description, "help": self.help}
        if not self.is_group:
            ids |= {f"end-{n}": end for n, end in enumerate(self.ends, start=1)}
            ids |= {"field-error": self.error}
        return " ".join(f"{each}{self.mark}" for each, is_there in ids.items() if is_there)

    @property
    def image_size(self) -> tuple[int, int]:
        """Width and height of the picture on the page."""
        assert self.image is not None
        return self.image.fitted(*PICTURE_ROOM)

    @property
    def picture_look(self) -> str:
        """The classes of a picture that takes much of a low window; a broad one takes little of a phone's."""
        width, height = self.image_size
        return "" if height <= 200 else " tall broad" if width > 2 * height else " tall"


def draw(
    block: Block,
    *,
    typed: Typed,
    pictures: Mapping[str | None, Copy] = MappingProxyType({}),
    can_go_back: bool = False,
    error: str = "",
    button: str = "Continue",
    draws_colours: bool = False,
    is_locked: bool = False,
    follow_up: int = 0,
    group: str = "",
) -> StepWidget:
    """Return the widget of a block, whose prompt must be filled in and whose options must be in order.

    `pictures` are our copies, by the addresses that the author wrote; a picture without a copy is not shown.
    If the block `is_locked`, its widget shows the final answer, and the button only continues.
    """
    common: dict[str, object] = {
        "block_id": block.id,
        "prompt": block.prompt,
        "description": block.description or "",
        "is_long": len(block.prompt) > LONG_PROMPT,
        "image": pictures.get(block.image_url),
        "image_alt": block.image_alt or "",
        "thumbnail": pictures.get(block.thumbnail_url),
        "thumbnail_alt": block.thumbnail_alt or "",
        "can_go_back": can_go_back,
        "error": error,
        "button": button,
        "follow_up": follow_up,
        "group": group,
    }
    if block.type in STATEMENTS:
        common |= _statement(block, draws_colours)
    else:
        common |= {"is_optional": not block.required}
        common |= _CONTROLS[block.type](block, typed)
        if any(option.image_url for option in block.options):
            common |= _with_pictures(block, common, pictures)
        if follow_up:
            common["help"] = say(ASKED_BY_AI)
        if is_locked:
            common |= {"is_locked": True, "is_optional": False, "do": "go", "help": say(LOCKED)}
    return StepWidget(**common)  # type: ignore[arg-type]


def _with_pictures(
    block: Block, drawn: Mapping[str, Any], pictures: Mapping[str | None, Copy]
) -> dict[str, object]:
    """The choices with our copies of their pictures; a menu shows none."""
    if drawn["control"] == FIELDS + "menu.html":
        return {}
    choices = []
    for choice in drawn["choices"]:
        option = block.option_by_id.get(choice.id)
        copy = pictures.get(option.image_url) if option and option.image_url else None
        alt = (option.image_alt or "") if option else ""
        choices.append(replace(choice, image=copy, image_alt=alt) if copy else choice)
    if not any(choice.image for choice in choices):
        return {}
    return {"choices": choices, "look": f"{drawn.get('look', '')} pictures".strip()}


def draw_group(
    title: str,
    blocks: Sequence[Block],
    *,
    typed: Sequence[Typed],
    errors: Sequence[str],
    can_go_back: bool = False,
    error: str = "",
) -> StepWidget:
    """Return the widget of a group: a row for each of its `blocks`, which are those that `draw` takes."""
    drawn = [
        draw(block, typed=chosen, error=fault)
        for block, chosen, fault in zip(blocks, typed, errors, strict=True)
    ]
    head = _head(drawn)
    return StepWidget(
        block_id=blocks[0].id,
        prompt=title,
        control=FIELDS + "rows.html",
        button=say(defaults.CONTINUE),
        is_group=True,
        is_long=len(title) > LONG_PROMPT,
        can_go_back=can_go_back,
        error=error,
        rows=[_row(widget, look="row matrix" if head else "row") for widget in drawn],
        head=head,
    )


def _head(rows: Sequence[StepWidget]) -> Sequence[str]:
    """The options above the rows of a group, which wide screens show once. Empty for options of an order of
    their own in each row, with a look of their own, and for more or longer ones than columns have room for.
    """
    first, *others = ([choice.text for choice in row.choices] for row in rows)
    longest = max((len(word) for text in first for word in text.split()), default=0)
    is_plain = all(
        row.control == FIELDS + "choices.html"
        and not row.look
        and not any(each.emoji for each in row.choices)
        for row in rows
    )
    has_room = len(first) <= MOST_COLUMNS and longest <= LONGEST_WORD and max(map(len, first)) <= LONGEST_HEAD
    return first if is_plain and has_room and all(each == first for each in others) else ()


def _row(widget: StepWidget, *, look: str) -> StepWidget:
    """The widget of a question as a row, without keys, which would be those of several rows."""
    return replace(
        widget,
        choices=[replace(choice, key="") for choice in widget.choices],
        look=widget.look or look,
        mark=f"-{widget.block_id}",
        name=f"row-{widget.block_id}",
    )


def typed_of(reply: Reply | None, *, language: str = "en") -> Typed:
    """Return the control values of an earlier reply; no values if there is none.

    `language` is the page's language, which decides the format of numbers.
    """
    if reply is None:
        return Typed()
    ids = reply.get("option_ids")
    if isinstance(ids, list):
        ranks = {str(option_id): str(n) for n, option_id in enumerate(ids, start=1)}
        _, text = answers.other_of(reply) or (0, "")
        return Typed(chosen=frozenset(ranks), ranks=ranks, other=text)
    written = str(reply.get("text") or "")
    if number := reply.get("number"):
        written = written_numbers.written(str(number), language=language)
    return Typed(chosen=frozenset({written}), text=written)


def typed_ahead(block: Block, reply: Reply | None, *, language: str) -> Typed:
    """The control values of a reply that was filled in ahead.

    A ranking shows the order of that reply, which is no answer yet.
    """
    typed = typed_of(reply, language=language)
    return Typed(order=tuple(typed.ranks)) if block.type == "ranking" else typed


def _statement(block: Block, draws_colours: bool) -> dict[str, object]:
    return {
        "control": "",
        "do": "go",
        "is_statement": True,
        "video": videos.read(block.video_url or ""),
        "pause": defaults.pause_of(block),
        "button": defaults.button_of(block),
        "colour": (block.color or "") if draws_colours else "",
    }


def _choices(block: Block, typed: Typed) -> dict[str, object]:
    keys = "123456789" if len(block.options) <= 9 else LETTERS
    choices = [
        Choice(
            option.id,
            str(option.id),
            option.display_text,
            emoji(option),
            keys[n] if n < len(keys) else "",
            str(option.id) in typed.chosen,
            is_exclusive=bool(option.is_exclusive),
            is_other=bool(option.is_other),
        )
        for n, option in enumerate(block.options)
    ]
    is_single = block.type == "single_punch"
    fields: dict[str, object] = {"choices": choices, "name": "option", "help": defaults.help_of(block)}
    if block.other is not None:
        fields |= {"other": next(each for each in choices if each.is_other), "other_text": typed.other}
    if is_single and block.answer_style == "select_menu":  # a menu would hide several choices
        refused = next((each[1:] for each in typed.chosen if each.startswith("?")), "")  # survey-search.js
        return fields | {"control": FIELDS + "menu.html", "typed": refused[:MAX_VALUE]}
    looks = {"emoji_only": "faces", "buttons": "row"}
    if not is_single and block.max is not None and block.max < len(block.together):
        fields |= {"most": block.max}
    return fields | {
        "control": FIELDS + "choices.html",
        "is_group": True,
        "input": "radio" if is_single else "checkbox",
        "look": looks.get(block.answer_style or "", ""),
    }


def _scale(block: Block, typed: Typed) -> dict[str, object]:
    low, high = block.points
    by_value = {option.value: option for option in block.options}
    icon = defaults.icon_of(block)
    choices = [_point(n, by_value.get(str(n)), typed, most=high) for n in range(low, high + 1)]
    ends = _ends(block)
    _describe(choices, ends)
    fields: dict[str, object] = {"choices": choices, "ends": ends}
    if block.answer_style == "select_menu":
        return fields | {"control": FIELDS + "menu.html"}
    fields |= {"is_group": True}
    if icon == "emoji":
        return fields | {"control": FIELDS + "cells.html"}
    if any(option.label for option in block.options):
        return fields | {"control": FIELDS + "choices.html"}
    if icon == "stars":
        stars = [_star(choice, n, len(choices)) for n, choice in enumerate(choices, start=1)]
        return fields | {"control": FIELDS + "stars.html", "choices": stars}
    return fields | {"control": FIELDS + "cells.html"}


def _point(number: int, option: Option | None, typed: Typed, *, most: int) -> Choice:
    value = str(number)
    text = option.display_text if option else value
    choice = Choice(None, value, text, emoji(option), value, value in typed.chosen)
    return replace(choice, spoken=spoken(option, most=most))


def _star(choice: Choice, n: int, count: int) -> Choice:
    return replace(choice, text=_stars(n, count), emoji="")


def _stars(n: int, count: int) -> str:
    return say("{n} of {all} stars", n=n, all=count)


def spoken_point(block: Block, value: str) -> str:
    """The words for a point of a scale that is shown as stars or as an emoji only; empty for other points."""
    if stars := defaults.stars_of(block, value):
        return _stars(*stars)
    option = next((option for option in block.options if option.value == value), None)
    return spoken(option, most=block.points[1])


def spoken(option: Option | None, *, most: int) -> str:
    """The words for a point of a scale that is shown as an emoji only; empty for a point with words.

    `😞` as the first of five is “disappointed face, 1 of 5”.
    """
    if option is None or option.label or not option.emoji:
        return ""
    shows = demojize(emoji(option), delimiters=("", ""), language=language()).replace("_", " ").strip(" :")
    return say("{sign}, {n} of {all}", sign=shows, n=option.value, all=most)


def point_in_words(block: Block, value: str) -> str:
    """A point of a scale as people read it (`defaults.words_of_point`)."""
    if stars := defaults.stars_of(block, value):
        return say("{n} of {all} ★", n=stars[0], all=stars[1])
    return defaults.words_of_point(block, value)


def said(block: Block, reply: Reply | None) -> Said:
    """A reply in the list of past steps, as the control of its block showed it."""
    text, chosen = answers.text_as_read(block, reply), list(answers.chosen_options(block, reply or {}))
    if block.format == "date" and is_date(written := answers.display_text(block, reply)):
        text = day_in_words(date.fromisoformat(written))
    if (other := answers.other_of(reply)) is not None:  # what was written says little without its option
        texts = [
            f"{each.display_text}: {other[1]}" if each.id == other[0] else each.display_text
            for each in chosen
        ]
        text = ", ".join(texts)
    option = chosen[0] if len(chosen) == 1 and block.type != "ranking" else None
    if block.type in SCALES and text and (words := spoken_point(block, str((reply or {})["number"]))):
        return Said(words, point_in_words(block, str((reply or {})["number"])), is_sign_alone=True)
    return Said(text, emoji(option))


def _describe(choices: list[Choice], ends: Sequence[str]) -> None:
    """Connect the words at a scale's ends, and at its centre if it has any, to the points that they
    describe.
    """
    last = len(choices) - 1
    described = {0: 1, last: len(ends)} if ends else {}
    if len(ends) == 3 and last % 2 == 0:
        described[last // 2] = 2
    for place, number in described.items():
        if ends[number - 1]:
            choices[place] = replace(choices[place], end=f"end-{number}")


def _ends(block: Block) -> Sequence[str]:
    left, centre, right = defaults.ends_of(block)
    if block.type == "nps":
        left, right = say(left), say(right)
    if not (left or centre or right):
        return ()
    return (left, centre, right) if centre else (left, right)


def _ranking(block: Block, typed: Typed) -> dict[str, object]:
    counted = defaults.ranked_count(block)
    ranks, order = typed.ranks, {option_id: n for n, option_id in enumerate(typed.order)}
    choices = []
    for option in sorted(block.options, key=lambda option: order.get(str(option.id), len(order))):
        value = str(option.id)
        choices.append(
            Choice(option.id, value, option.display_text, emoji(option), "", False, ranks.get(value, ""))
        )
    return {
        "control": FIELDS + "ranking.html",
        "is_group": True,
        "choices": choices,
        "counted": counted,
        "ranks": [str(n) for n in range(1, counted + 1)],
        "help": defaults.help_of(block),
    }


def _text(block: Block, typed: Typed) -> dict[str, object]:
    if block.format is None:
        return {"control": FIELDS + "text.html", "typed": typed.text}
    # The control of a date has its own pattern, and does not show what is no date.
    shows_days = block.format == "date" and (not typed.text or formats.problem("date", typed.text) is None)
    return {
        "control": FIELDS + "line.html",
        "typed": typed.text,
        "input": _INPUTS.get(block.format, "text") if block.format != "date" or shows_days else "text",
        "autocomplete": _AUTOCOMPLETE.get(block.format, "off"),
        "placeholder": formats.example_of(block.format) if block.format == "date" else "",
        "help": "" if shows_days else defaults.help_of(block),
    }


def _number(block: Block, typed: Typed) -> dict[str, object]:
    # Phones' number pads have no minus sign. Few questions about whole numbers expect negative ones.
    keyboard = "numeric" if block.whole else "decimal"
    takes_minus = block.min < 0 if block.min is not None else not block.whole
    return {
        "control": FIELDS + "number.html",
        "typed": typed.text,
        "help": defaults.help_of(block),
        "inputmode": keyboard,
        "takes_minus": takes_minus,
    }


_INPUTS = {"email": "email", "url": "url", "phone": "tel", "date": "date"}
_AUTOCOMPLETE = {"name": "name", "email": "email", "url": "url", "phone": "tel"}


def emoji(option: Option | None) -> str:
    """Return an option's emoji. A chat platform's custom emoji (`<:name:id>`) becomes `:name:`."""
    written = (option and option.emoji) or ""
    return f":{written.split(':')[1]}:" if written.startswith("<") and written.count(":") > 1 else written


_CONTROLS = {
    **dict.fromkeys(CHOICES, _choices),
    **dict.fromkeys(SCALES, _scale),
    "ranking": _ranking,
    "open_text": _text,
    "open_numeric": _number,
}
