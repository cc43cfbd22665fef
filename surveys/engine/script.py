"""The engine's whole vocabulary: a script and its parts, frozen."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

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
ACTION_KINDS = ("give_xp", "give_achievement", "give_role")


@dataclass(frozen=True, slots=True)
class Option:
    """One choice, ranking item or scale point. `id` is None until the database has given one."""

    value: str
    id: int | None = None
    label: str | None = None
    emoji: str | None = None
    score_values: Mapping[str, Decimal] | None = None
    display_order: int | None = None
    anchor_position: str | None = None

    @property
    def seen(self) -> str:
        """What a reader sees as text: the label, else the value."""
        return self.label or self.value


@dataclass(frozen=True, slots=True)
class Bucket:
    """One of the sums that points are counted in. Its key is how variables and weights name it."""

    name: str

    @property
    def key(self) -> str:
        """The name in lower case with `_` for spaces (interface 2.3), its accented letters composed."""
        return normalized(self.name.lower().replace(" ", "_"))


@dataclass(frozen=True, slots=True)
class Scale:
    icon: str | None = None
    label_left: str | None = None
    label_center: str | None = None
    label_right: str | None = None


@dataclass(frozen=True, slots=True)
class ActionConfig:
    xp_amount: int | None = None
    source_key: str | None = None
    xp_role_id: int | None = None
    role_id: str | None = None
    fire_scope: str | None = None


@dataclass(frozen=True, slots=True)
class Continue:
    after: str = "click"
    pause: int | None = None
    label: str | None = None


@dataclass(frozen=True)
class Block:
    """One step of a script. Field meanings are those of the interface, section 2.4.

    `name` is as it was written; `title` is how names are compared. `show_when` and `hide_when` keep
    the condition as the caller gave it (plain JSON); `precondition` is what is evaluated.
    `scores_ignored` says that weights were sent for its options while scoring was off.
    """

    type: str
    prompt: str = ""
    id: int | None = None
    name: str | None = None
    section: str = "main"
    answer_style: str | None = None
    color: str | None = None
    image_url: str | None = None
    thumbnail_url: str | None = None
    options: tuple[Option, ...] = ()
    min: int | None = None
    max: int | None = None
    required: bool | None = None
    precondition: str | None = None
    show_when: Mapping[str, object] | None = None
    hide_when: Mapping[str, object] | None = None
    action_kind: str | None = None
    action_config: ActionConfig | None = None
    correct_answer_ids: tuple[int, ...] | None = None
    correct_answer_index: int | None = None
    when_correct: str | None = None
    when_incorrect: str | None = None
    scale: Scale | None = None
    randomize_options: bool | None = None
    rank_top_n: int | None = None
    calculated_formula: str | None = None
    position: int | None = None
    continue_: Continue | None = None
    scores_ignored: bool = False

    @cached_property
    def title(self) -> str:
        """The name as names are compared (decisions 6.1)."""
        return title_case(self.name or "")

    @property
    def asks(self) -> bool:
        """Whether a respondent answers this block."""
        return self.type in QUESTIONS

    @cached_property
    def points(self) -> tuple[int, int]:
        """Lowest and highest point of a scale, its defaults filled in (interface 2.4)."""
        lowest, highest = {"rating": (1, 5), "opinion_scale": (0, 10), "nps": (0, 10)}[self.type]
        return (
            lowest if self.min is None else self.min,
            highest if self.max is None else self.max,
        )

    @cached_property
    def weighed_in(self) -> frozenset[str]:
        """Keys of the buckets in which an option of this block has points."""
        return frozenset(key for option in self.options for key in option.score_values or ())

    @cached_property
    def maxima(self) -> dict[str, tuple[Decimal, Decimal]]:
        """By bucket, the most that any answer and the right one can earn: found out and kept by `scoring`."""
        return {}

    @cached_property
    def option_by_id(self) -> Mapping[int, Option]:
        return {option.id: option for option in self.options if option.id is not None}


@dataclass(frozen=True)
class Script:
    """The blocks a respondent walks, in order: intro, then main. Outro blocks are kept apart.

    `is_scored` is false where scoring was enabled only after the script was written: then every bucket
    scores 0, and score tokens stay as they are written (interface 2.3, rule 1).
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
    def has_actions(self) -> bool:
        return any(block.action_kind is not None for block in self.blocks)

    @cached_property
    def achievements(self) -> frozenset[int]:
        """The numbers of the achievements that action blocks grant."""
        configs = (block.action_config for block in self.blocks)
        return frozenset(config.xp_role_id for config in configs if config and config.xp_role_id is not None)

    @cached_property
    def bucket_keys(self) -> tuple[str, ...]:
        return tuple(bucket.key for bucket in self.buckets)

    @cached_property
    def index_by_title(self) -> Mapping[str, int]:
        """Where each named block stands; of equal names (a violation elsewhere) the first."""
        named = [(block.title, n) for n, block in enumerate(self.blocks) if block.name]
        return dict(reversed(named))


def title_case(name: str) -> str:
    """How names are compared: words capitalised, the rest lower (`favGame`, `FAVGAME` → `Favgame`).

    A space, `-` or `_` starts a word, and all three are one in comparison, because an expression can
    only write `_` for the other two (decisions 6.1). An accented letter is the same letter whether it
    comes as one character or as two.
    """
    words = normalized(name).strip().replace("-", "_").replace(" ", "_").split("_")
    return "_".join(word.capitalize() for word in words)


def normalized(text: str) -> str:
    """An accented letter as one character (NFC), in whichever way it was typed."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault of what was sent: where, a code of the fixed vocabulary, and a sentence."""

    field: str
    code: str
    message: str
    column: int | None = None  # from 1, in expressions

    def as_json(self) -> dict[str, object]:
        told: dict[str, object] = {"field": self.field, "code": self.code, "message": self.message}
        if self.column is not None:
            told["column"] = self.column
        return told
