"""The table of a block's fields (chapter 3), with each field's type and bounds.

`reader` reads raw JSON by this table, and `surveys/api/blocks.py` generates the OpenAPI schemas from it.
Limits of a single field are defined here; limits that depend on other fields, such as the block's type, are
in `rules`.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from communities.ground.ids import MAX_ID
from surveys.engine.intake import videos
from surveys.engine.intake.field_types import (
    BooleanType,
    ChoiceType,
    ConditionType,
    FieldSpec,
    IntegerType,
    ListType,
    ObjectType,
    Problem,
    TextType,
    WeightsType,
)
from surveys.engine.language.lexer import MAX_LENGTH, NAME_PATTERN
from surveys.engine.language.names import is_reserved
from surveys.engine.script import (
    ACTION_KINDS,
    ANSWER_STYLES,
    BLOCK_TYPES,
    CALCULATED,
    CHOICES,
    FORMATS,
    GROUPED,
    QUESTIONS,
    SCALES,
    SECTIONS,
    STATEMENTS,
    WITH_ITEMS,
)

MAX_OPTIONS = 100  # rule 3.36
MAX_MENU_OPTIONS = 1_000  # of a single punch that is drawn as a menu (rule 3.157)
MAX_SCRIPT_OPTIONS = 20_000  # of all blocks of a script together
MAX_PROMPT = 4_000  # rule 3.37, as the next
MAX_DESCRIPTION = 1_000  # rule 3.120
MAX_GROUP = 200
MAX_VALUE = 500
MAX_LABEL = 500
MAX_OTHER_TEXT = 500  # rule 6.152
MAX_NUMBER = 10**15  # of answers too (rule 6.25)
MAX_SMALL = 2**31 - 1
MAX_PAUSE = 300
MAX_FOLLOW_UPS = 2  # further questions about one answer
MAX_BUCKETS = 100  # of a project, and of keys in one `score_values`
MAX_BUCKET_NAME = 64
MAX_XP = 1_000_000  # in one award, as in awards by hand

_COLOR = re.compile(r"[0-9A-Fa-f]{6}")
_SNOWFLAKE = re.compile(r"[1-9][0-9]{0,19}")


def _picture_problem(value: str) -> Problem | None:
    """The fault in the text of an address. The services check its host."""
    problem = ("invalid", "must be an https address.")
    if any(c.isspace() or c in '<>"\\^`{|}' for c in value):
        return problem
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:  # an address such as `http://[` or `http://host:port`
        return problem
    if "@" in parts.netloc:
        return "not_allowed", "must not contain a user name or password."
    return None if parts.scheme == "https" and parts.hostname else problem


def _video_problem(value: str) -> Problem | None:
    if videos.read(value) is not None:
        return None
    return "invalid", "must be the https address of one video on YouTube or Vimeo."


def _color_problem(value: str) -> Problem | None:
    if _COLOR.fullmatch(value):
        return None
    return "invalid", "must be six hexadecimal digits without `#`, such as `5865F2`."


def _name_problem(value: str) -> Problem | None:
    if is_reserved(value):
        return "not_allowed", "must not be `true` or `false`, which logic reads as values."
    if NAME_PATTERN.fullmatch(value):
        return None
    return "invalid", "must be a letter followed by letters, digits, `_`, spaces or `-`."


def _text(maximum: int) -> TextType:
    return TextType(maximum, empty_is_null=True)


_LOGIC = TextType(MAX_LENGTH, empty_is_null=True, verbatim=True)


def _snowflake_problem(value: str) -> Problem | None:
    if _SNOWFLAKE.fullmatch(value):
        return None
    return "invalid", "must be an id: text of 1 to 20 digits, not beginning with 0."


# An id of the chat platform. It is text, because JSON numbers would lose some of its digits.
SNOWFLAKE = TextType(20, empty_is_null=True, check=_snowflake_problem, pattern=_SNOWFLAKE.pattern.join("^$"))
_PICTURE = TextType(
    2_048,
    empty_is_null=True,
    verbatim=True,
    check=_picture_problem,
    format="uri",
    pattern="^[Hh][Tt][Tt][Pp][Ss]://",
)

OPTION = ObjectType(
    "Option",
    {
        "id": FieldSpec(
            IntegerType(1, MAX_ID),
            "Send the id of an existing option to change it in place; leave it out to add one.",
            example=311,
        ),
        "value": FieldSpec(
            TextType(MAX_VALUE, minimum=1),
            "The text that is stored and that logic compares; on scales, the number of the point.",
            nullable=False,
            required=True,
            example="Yes",
        ),
        "label": FieldSpec(_text(MAX_LABEL), "Shown to people instead of the value.", example="Yes, gladly"),
        "emoji": FieldSpec(
            _text(100), "Shown beside the label. Custom emoji such as `<:name:id>` are allowed.", example="👍"
        ),
        "score_values": FieldSpec(
            WeightsType(),
            "Points by bucket key. While scoring is off, they are ignored, and missing in reads.",
            example={"score": 10},
        ),
        "display_order": FieldSpec(
            IntegerType(0, MAX_SMALL),
            "0-based. Default: the index in the array. Ties keep the array's order.",
        ),
        "anchor_position": FieldSpec(
            ChoiceType(("last",)), "`last` keeps the option at the end of a shuffle."
        ),
        "is_exclusive": FieldSpec(
            BooleanType(),
            "On `multi_punch`: the option cannot be chosen with others, such as “None of these”. An "
            "exclusive option satisfies `min` alone, and stays at the end of a shuffle.",
        ),
        "is_other": FieldSpec(
            BooleanType(),
            "On `single_punch` and `multi_punch`, at most one option of a block: a respondent who chooses it "
            "writes a text of up to 500 characters (`other_text`).",
        ),
        "image_url": FieldSpec(
            _PICTURE,
            "On choices and rankings: a picture that pages show with the label. Respondents see the "
            "service's copy. At most 30 options of a block and 200 of a script have pictures.",
            example="https://example.com/knight.png",
        ),
        "image_alt": FieldSpec(
            _text(MAX_LABEL),
            "What the picture shows, if the label does not say so, for people who cannot see it. Null or "
            "blank: the label is enough.",
        ),
    },
    "A choice, an item of a ranking, or the presentation of one scale point.",
)

SCALE = ObjectType(
    "Scale",
    {
        "icon": FieldSpec(
            ChoiceType(("numbers", "stars", "emoji")),
            "Default `stars` on a rating, else `numbers`. `emoji` needs one option per point, with an emoji.",
        ),
        "label_left": FieldSpec(
            _text(200), "Label at `min`. Cannot be combined with labels on the points; not allowed on `nps`."
        ),
        "label_center": FieldSpec(
            _text(200), "Label in the middle, shown if the number of points is odd. Not allowed on `nps`."
        ),
        "label_right": FieldSpec(_text(200), "Label at `max`, with the same limits as `label_left`."),
    },
    "How a rating, opinion scale or NPS question is displayed.",
)

ACTION_CONFIG = ObjectType(
    "ActionConfig",
    {
        "xp_amount": FieldSpec(
            IntegerType(0, MAX_XP),
            "The XP that `give_xp` awards. `give_xp` needs either this field or `source_key`. In a "
            "creator's script, all `give_xp` blocks together give at most 1,000 XP in one completion (an "
            "operator may set another limit).",
            example=50,
        ),
        "source_key": FieldSpec(
            _text(200), "The score variable that `give_xp` awards as XP, such as `score`.", example="score"
        ),
        "xp_role_id": FieldSpec(IntegerType(1, MAX_ID), "The achievement id that `give_achievement` needs."),
        "role_id": FieldSpec(SNOWFLAKE, "The role id that `give_role` needs.", example="1187"),
        "fire_scope": FieldSpec(
            ChoiceType(("respondent", "session")),
            "`respondent` (the default) fires once per person, `session` once per completion.",
        ),
    },
    "What an action block does when it is reached.",
)

CONTINUE = ObjectType(
    "Continue",
    {
        "after": FieldSpec(
            ChoiceType(("pause", "click")),
            "`pause` continues by itself, `click` waits for a button.",
            nullable=False,
            required=True,
        ),
        "pause": FieldSpec(
            IntegerType(1, MAX_PAUSE),
            "The least number of seconds; long texts get more time for reading. Required with `pause`, "
            "unused with `click`.",
            example=5,
        ),
        "label": FieldSpec(_text(80), "The button's label; used with `click`.", example="Go on"),
    },
    "How a content or action block continues.",
)

BLOCK = ObjectType(
    "Block",
    {
        "id": FieldSpec(
            IntegerType(1, MAX_ID),
            "The id of a block of this script changes it in place; leave it out to add one.",
            example=42,
        ),
        "name": FieldSpec(
            TextType(64, minimum=1, check=_name_problem),
            "The block's name in logic and tokens: a letter, then letters, digits, `_`, spaces or `-`; "
            "unique in title case. Default: `q0`, `q1`, ...",
            example="favGame",
        ),
        "section": FieldSpec(
            ChoiceType(SECTIONS),
            "Default `main`. `outro` needs the `id` of an existing outro block.",
        ),
        "type": FieldSpec(
            ChoiceType(BLOCK_TYPES),
            "The kind of block.",
            nullable=False,
            required=True,
            example="single_punch",
        ),
        "prompt": FieldSpec(
            TextType(MAX_PROMPT),
            "The text shown; empty only on a `calculated_block`. Some Markdown is supported: `**bold**`, "
            "`*italics*`, `[links](https://example.org)`, lists. A token's value has at most 500 "
            "characters; the text with all values has at most 8,000.",
            nullable=False,
            required=True,
            example="Do you play e4?",
        ),
        "description": FieldSpec(
            _text(MAX_DESCRIPTION),
            "A smaller text below the prompt that helps to answer. Tokens and limits are as for the prompt.",
            example="Think of the last four weeks.",
            only_on=QUESTIONS | STATEMENTS,
        ),
        "group": FieldSpec(
            _text(MAX_GROUP),
            "A title that neighbouring blocks share. These blocks have the same type, and equal options or "
            "the same points. Pages show them on one screen, with a row for each block. The title has no "
            "tokens.",
            example="How satisfied are you with …",
            only_on=GROUPED,
        ),
        "answer_style": FieldSpec(
            ChoiceType(ANSWER_STYLES),
            "All four on single and multi punch; `full_text` or `emoji_only` on a ranking; `buttons` or "
            "`select_menu` on scales; no effect on other types. Null inherits the project's default.",
        ),
        "color": FieldSpec(
            TextType(6, empty_is_null=True, check=_color_problem, pattern=_COLOR.pattern.join("^$")),
            "Accent of content and action blocks: six hexadecimal digits without `#`. Displayed on the "
            "premium tier and above.",
            example="5865F2",
        ),
        "image_url": FieldSpec(
            _PICTURE,
            "A picture above the prompt. The service fetches the picture once, and respondents see this "
            "copy.",
            example="https://example.com/a.png",
        ),
        "image_alt": FieldSpec(
            _text(MAX_LABEL),
            "What `image_url` shows, for people who cannot see the picture. Null or blank: a decoration, "
            "which screen readers skip.",
            example="A chess board after the first move",
        ),
        "thumbnail_url": FieldSpec(_PICTURE, "A small picture at the top right."),
        "thumbnail_alt": FieldSpec(_text(MAX_LABEL), "The same for `thumbnail_url`."),
        "video_url": FieldSpec(
            TextType(2_048, empty_is_null=True, verbatim=True, check=_video_problem, format="uri"),
            "The address of a video's page on YouTube or Vimeo. Pages load the video when the respondent "
            "presses a button; the chat shows a link.",
            example="https://www.youtube.com/watch?v=aqz-KE-bpKQ",
            only_on=frozenset({"content_block"}),
        ),
        "options": FieldSpec(
            ListType(OPTION, MAX_MENU_OPTIONS),
            "Required on single punch, multi punch and ranking (2 to 20 items); on scales one for each "
            "point, or none. At most 100, or 1,000 on a `single_punch` with `answer_style` `select_menu`; "
            "20,000 in a script, and 25 in chat. [Limits of their texts](/docs/details#options).",
            only_on=WITH_ITEMS | SCALES,
        ),
        "min": FieldSpec(
            IntegerType(-MAX_NUMBER, MAX_NUMBER),
            "Fewest choices on `multi_punch`, least value on `open_numeric`, first point on scales.",
            only_on=SCALES | {"multi_punch", "open_numeric"},
        ),
        "max": FieldSpec(
            IntegerType(-MAX_NUMBER, MAX_NUMBER),
            "Most choices on `multi_punch`, greatest value on `open_numeric`, last point on scales.",
            only_on=SCALES | {"multi_punch", "open_numeric"},
        ),
        "whole": FieldSpec(
            BooleanType(),
            "Whether an answer must be a whole number: 3 and 3.0, not 3.5. Default false.",
            only_on=frozenset({"open_numeric"}),
        ),
        "format": FieldSpec(
            ChoiceType(FORMATS),
            "How an answer is written: `line`, `name`, `email`, `url`, `phone` (5 to 20 digits, with "
            "`+ ( ) - .` and spaces) or `date` (`2026-01-31`). Other answers are refused with `invalid`. "
            "Null takes any text.",
            example="email",
            only_on=frozenset({"open_text"}),
        ),
        "required": FieldSpec(BooleanType(), "Whether the respondent must answer. Null means optional."),
        "precondition": FieldSpec(
            _LOGIC,
            "A hide expression: if it is true, the block is skipped.",
            example='favGame = "Chess"',
        ),
        "show_when": FieldSpec(
            ConditionType(), "Show the block only if this is true. Compiles to `precondition`."
        ),
        "hide_when": FieldSpec(
            ConditionType(), "Hide the block if this is true. Compiles to `precondition`."
        ),
        "action_kind": FieldSpec(
            ChoiceType(ACTION_KINDS), "Required on `action_block`.", only_on=frozenset({"action_block"})
        ),
        "action_config": FieldSpec(
            ACTION_CONFIG, "What the action needs.", only_on=frozenset({"action_block"})
        ),
        "correct_answer_ids": FieldSpec(
            ListType(IntegerType(1, MAX_ID), MAX_OPTIONS),
            "The ids of the correct options. An answer with several options is correct if it has exactly "
            "these. Graded only if scoring is enabled.",
            only_on=CHOICES | SCALES,
            example=[311],
        ),
        "correct_answer_index": FieldSpec(
            IntegerType(0, MAX_MENU_OPTIONS - 1),
            "The correct option's index in the `options` of the same request, for the first write; the "
            "first of several. Ignored if `correct_answer_ids` is sent.",
            only_on=CHOICES | SCALES,
            deprecated=True,
        ),
        "correct_answer_indexes": FieldSpec(
            ListType(IntegerType(0, MAX_MENU_OPTIONS - 1), MAX_OPTIONS),
            "The indexes of the correct options in the `options` of the same request, for the first write. "
            "Ignored if `correct_answer_ids` is sent.",
            only_on=CHOICES | SCALES,
            example=[0, 2],
        ),
        "when_correct": FieldSpec(
            _text(MAX_PROMPT),
            "Shown after a correct answer; needs `correct_answer_ids`.",
            only_on=CHOICES | SCALES,
        ),
        "when_incorrect": FieldSpec(
            _text(MAX_PROMPT),
            "Shown after a wrong answer; needs `correct_answer_ids`.",
            only_on=CHOICES | SCALES,
        ),
        "scale": FieldSpec(SCALE, "How a scale is displayed.", only_on=SCALES),
        "randomize_options": FieldSpec(
            BooleanType(),
            "Shuffle the options for each respondent. Default false.",
            only_on=WITH_ITEMS,
        ),
        "rank_top_n": FieldSpec(
            IntegerType(1, MAX_OPTIONS),
            "How many items must be ranked. Null means all of them.",
            only_on=frozenset({"ranking"}),
        ),
        "follow_ups": FieldSpec(
            IntegerType(0, MAX_FOLLOW_UPS),
            "How many further questions a model may ask about a short answer. Null means 0. Not on "
            "anonymous projects, nor with a `format` other than `line`.",
            only_on=frozenset({"open_text"}),
        ),
        "calculated_formula": FieldSpec(
            _LOGIC, "Required on `calculated_block`.", only_on=frozenset({CALCULATED})
        ),
        "position": FieldSpec(
            IntegerType(0, MAX_SMALL),
            "0-based. Default: the index in the array. Ties keep the array's order.",
        ),
        "continue": FieldSpec(
            CONTINUE, "How the block continues.", only_on=STATEMENTS, attribute="continue_"
        ),
        "correct_answer_id": FieldSpec(
            IntegerType(1, MAX_ID),
            "The same as `correct_answer_ids` with one element.",
            write_only=True,
            only_on=CHOICES | SCALES,
        ),
    },
    "One step of a script.",
)
