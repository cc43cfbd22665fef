"""A script and its parts, as frozen dataclasses: the data on which the whole engine works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby

from communities.ground.cached import cached_property
from communities.ground.sent_text import composed

SECTIONS = ("intro", "main", "outro")  # in the order in which they are walked
CHOICES = frozenset({"single_punch", "multi_punch"})
SCALES = frozenset({"rating", "opinion_scale", "nps"})
WITH_ITEMS = CHOICES | {"ranking"}
NUMBERS = SCALES | {"open_numeric"}
QUESTIONS = WITH_ITEMS | NUMBERS | {"open_text"}
STATEMENTS = frozenset({"content_block", "action_block"})
CALCULATED = "calculated_block"
BLOCK_TYPES = (
    "single_punch",
    "multi_punch",
    "open_text",
    "open_numeric",
    "rating",
    "opinion_scale",
    "nps",
    "ranking",
    "content_block",
    "action_block",
    "calculated_block",
)
ANSWER_STYLES = ("full_text", "emoji_only", "select_menu", "buttons")
FORMATS = ("line", "name", "email", "url", "phone", "date")  # of the answers to an open question
FACTS = frozenset(FORMATS) - {"line"}  # those whose answers are no prose
LONG_MENU = 100  # options; longer menus have limits of their own
ACTION_KINDS = ("give_xp", "give_achievement", "give_role")


@dataclass(frozen=True, slots=True)
class Option:
    """One choice, ranking item or scale point. `id` is None until the database has assigned one.

    `code` is its number in exports, which never changes (rules 3.17 and 6.63); None until it is first stored.
    """

    value: str
    id: int | None = None
    label: str | None = None
    emoji: str | None = None
    score_values: Mapping[str, Decimal] | None = None
    display_order: int | None = None
    anchor_position: str | None = None
    is_exclusive: bool | None = None
    is_other: bool | None = None
    image_url: str | None = None
    image_alt: str | None = None
    code: int | None = field(default=None, compare=False)

    @property
    def display_text(self) -> str:
        """The text that people see: the label, or else the value."""
        return self.label or self.value

    @property
    def stays_last(self) -> bool:
        """Whether a shuffle keeps the option at the end (rules 3.13 and 3.153)."""
        return self.anchor_position == "last" or bool(self.is_exclusive or self.is_other)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A sum of points. Variables and `score_values` refer to it by its key."""

    name: str

    @property
    def key(self) -> str:
        """The name in lower case with `_` for spaces (rule 5.5), in Unicode form NFC."""
        return composed(self.name.lower().replace(" ", "_"))


@dataclass(frozen=True, slots=True)
class Scale:
    """How a scale is displayed."""

    icon: str | None = None
    label_left: str | None = None
    label_center: str | None = None
    label_right: str | None = None


@dataclass(frozen=True, slots=True)
class ActionConfig:
    """The effect of an action block, and how often it is given."""

    xp_amount: int | None = None
    source_key: str | None = None
    xp_role_id: int | None = None
    role_id: str | None = None
    fire_scope: str | None = None


@dataclass(frozen=True, slots=True)
class Continue:
    """How a content or action block continues: after a pause in seconds, or by a click on a button."""

    after: str = "click"
    pause: int | None = None
    label: str | None = None


# The pictures of a block, each with its description for people who do not see it.
PICTURE_FIELDS = ("image_url", "image_alt", "thumbnail_url", "thumbnail_alt")


# The fields of a block that only change how it reads: of the outro they can be written too (rule 3.29).
PRESENTATION = ("prompt", "description", *PICTURE_FIELDS)
GROUPED = CHOICES | SCALES  # the types whose neighbours may share a title


@dataclass(frozen=True)
class Block:
    """One step of a script. Fields are defined by chapter 3.

    `name` is spelled as its author wrote it; names are compared by `title`. `show_when` and `hide_when` store
    the condition as it was sent (plain JSON); only `precondition` is evaluated. `scores_ignored` is true if
    points were sent for its options while scoring was off. `last_code` is the highest code that an option of
    the block has had. Of several correct options, `correct_answer_index` is the first;
    `correct_answer_indexes` is None unless there are several.
    """

    type: str
    prompt: str = ""
    description: str | None = None
    group: str | None = None
    id: int | None = None
    name: str | None = None
    section: str = "main"
    answer_style: str | None = None
    color: str | None = None
    image_url: str | None = None
    image_alt: str | None = None
    thumbnail_url: str | None = None
    thumbnail_alt: str | None = None
    video_url: str | None = None
    options: tuple[Option, ...] = ()
    min: int | None = None
    max: int | None = None
    whole: bool | None = None
    format: str | None = None
    required: bool | None = None
    precondition: str | None = None
    show_when: Mapping[str, object] | None = None
    hide_when: Mapping[str, object] | None = None
    action_kind: str | None = None
    action_config: ActionConfig | None = None
    correct_answer_ids: tuple[int, ...] | None = None
    correct_answer_index: int | None = None
    correct_answer_indexes: tuple[int, ...] | None = None
    when_correct: str | None = None
    when_incorrect: str | None = None
    scale: Scale | None = None
    randomize_options: bool | None = None
    rank_top_n: int | None = None
    follow_ups: int | None = None
    calculated_formula: str | None = None
    position: int | None = None
    continue_: Continue | None = None
    scores_ignored: bool = False
    last_code: int = field(default=0, compare=False)

    @cached_property
    def title(self) -> str:
        """The name in the form in which names are compared (rule 3.7)."""
        return title_case(self.name or "")

    @cached_property
    def words(self) -> str:
        """The prompt, and the description below it if there is one."""
        return f"{self.prompt}\n\n{self.description}" if self.description else self.prompt

    @cached_property
    def asks(self) -> bool:
        """Whether a respondent answers this block."""
        return self.type in QUESTIONS

    @property
    def correct_places(self) -> tuple[int, ...]:
        """The indexes of the correct options as they were sent, where options have no ids yet."""
        index = self.correct_answer_index
        return self.correct_answer_indexes or (() if index is None else (index,))

    @property
    def has_correct_answer(self) -> bool:
        """Whether an option is marked as correct, also before options have ids."""
        return bool(self.correct_answer_ids or self.correct_places)

    @cached_property
    def is_read(self) -> bool:
        """Whether an analysis reads the answers: those to open questions, but no facts, and no intro."""
        return self.type == "open_text" and self.section != "intro" and self.format not in FACTS

    @cached_property
    def points(self) -> tuple[int, int]:
        """The lowest and highest point of a scale, with its type's defaults (rule 3.21)."""
        lowest, highest = {"rating": (1, 5), "opinion_scale": (0, 10), "nps": (0, 10)}[self.type]
        return (
            lowest if self.min is None else self.min,
            highest if self.max is None else self.max,
        )

    @cached_property
    def scored_buckets(self) -> frozenset[str]:
        """The keys of the buckets in which an option of this block has points."""
        return frozenset(key for option in self.options for key in option.score_values or ())

    @cached_property
    def max_points(self) -> dict[str, tuple[Decimal, Decimal]]:
        """Per bucket, the highest points of any answer and of the correct one: a cache that `scoring`
        fills.
        """
        return {}

    @property
    def is_long_menu(self) -> bool:
        """Whether this is a menu with more options than any other question may have (rule 3.157)."""
        is_menu = self.type == "single_punch" and self.answer_style == "select_menu"
        return is_menu and len(self.options) > LONG_MENU

    @cached_property
    def pictures(self) -> tuple[str, ...]:
        """The addresses of the pictures that a step shows."""
        own = (self.image_url, self.thumbnail_url, *(option.image_url for option in self.options))
        return tuple(address for address in own if address)

    @cached_property
    def together(self) -> tuple[Option, ...]:
        """The options that can be chosen together: all that are not exclusive."""
        return tuple(option for option in self.options if not option.is_exclusive)

    @cached_property
    def other(self) -> Option | None:
        """The option whose answer has a text of the respondent's own."""
        return next((option for option in self.options if option.is_other), None)

    @cached_property
    def option_by_id(self) -> Mapping[int, Option]:
        return {option.id: option for option in self.options if option.id is not None}


@dataclass(frozen=True)
class Script:
    """The blocks that a respondent walks, in order: intro, then main. Outro blocks are separate.

    `is_scored` is false if scoring was enabled after the script was written: then every bucket scores 0, and
    score tokens are not filled in (rule 5.1).
    """

    blocks: tuple[Block, ...]
    outro: tuple[Block, ...] = ()
    is_poll: bool = False
    scoring_enabled: bool = False
    is_scored: bool = True
    buckets: tuple[Bucket, ...] = ()
    index_by_id: Mapping[int, int] = field(init=False)

    def __post_init__(self) -> None:
        index = {block.id: n for n, block in enumerate(self.blocks) if block.id is not None}
        object.__setattr__(self, "index_by_id", index)

    @cached_property
    def videos(self) -> tuple[str, ...]:
        """The addresses of its videos."""
        return tuple(block.video_url for block in self.blocks if block.video_url)

    @cached_property
    def has_actions(self) -> bool:
        return any(block.action_kind is not None for block in self.blocks)

    @cached_property
    def calculates(self) -> bool:
        """Whether answers give scores, or results of calculated blocks."""
        return self.scoring_enabled or any(block.type == CALCULATED for block in self.blocks)

    @cached_property
    def shows_correctness(self) -> bool:
        """Whether respondents see if some answer is right."""
        is_graded = self.scoring_enabled and not self.is_poll
        return is_graded and any(block.when_correct or block.when_incorrect for block in self.blocks)

    @cached_property
    def follow_ups(self) -> int:
        """The most further questions in one conversation."""
        return sum(block.follow_ups or 0 for block in self.blocks)

    @cached_property
    def action_kinds(self) -> frozenset[str]:
        """The kinds of effects of the action blocks, outro included."""
        kinds = (block.action_kind for block in (*self.blocks, *self.outro))
        return frozenset(kind for kind in kinds if kind is not None)

    @cached_property
    def achievements(self) -> frozenset[int]:
        """The numbers of the achievements that action blocks grant."""
        configs = (block.action_config for block in self.blocks)
        return frozenset(config.xp_role_id for config in configs if config and config.xp_role_id is not None)

    @cached_property
    def places_in_groups(self) -> Mapping[int, tuple[int, int]]:
        """The place of each block of a group among its neighbours, from 1, and their number, by index.

        A group has no places if some of its blocks may be hidden, or if it has only one block.
        """
        places: dict[int, tuple[int, int]] = {}
        for title, numbered in groupby(enumerate(self.blocks), key=lambda each: each[1].group):
            run = list(numbered)
            if title and len(run) > 1 and not any(block.precondition for _, block in run):
                places |= {index: (place, len(run)) for place, (index, _) in enumerate(run, start=1)}
        return places

    @cached_property
    def bucket_keys(self) -> tuple[str, ...]:
        return tuple(bucket.key for bucket in self.buckets)

    @cached_property
    def meanings(self) -> dict[str, int | str | None]:
        """The meanings of the names in its conditions, formulas and texts: a cache that `path_values`
        fills.
        """
        return {}

    @cached_property
    def index_by_title(self) -> Mapping[str, int]:
        """The index of each named block. Of equal names (which the rules refuse) the first one wins."""
        named = [(block.title, n) for n, block in enumerate(self.blocks) if block.name]
        return dict(reversed(named))


def title_case(name: str) -> str:
    """The form in which names are compared: each word capitalised (`favGame`, `FAVGAME` → `Favgame`).

    Words are separated by a space, `-` or `_`. All three are equal in comparison, because an expression
    can only write `_` (rule 4.6). An accented letter may be one code point or two.
    """
    words = composed(name).strip().replace("-", "_").replace(" ", "_").split("_")
    return "_".join(map(str.capitalize, words))


ENOUGH_VIOLATIONS = 101  # of a script: one more than a refusal lists, to show that there are more


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault of a request: the path of the field, a code of the interface, and a message."""

    field: str
    code: str
    message: str
    column: int | None = None  # from 1, in expressions

    def as_json(self) -> dict[str, object]:
        serialized: dict[str, object] = {"field": self.field, "code": self.code, "message": self.message}
        if self.column is not None:
            serialized["column"] = self.column
        return serialized
