"""The buttons and menus of one question, and their texts."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import emoji

from communities.chat_platform import limits, references
from communities.chat_platform.references import Op, Reference
from surveys.chat import words
from surveys.chat.messages import PRIMARY, SECONDARY, SUCCESS, Button, Menu, MenuOption, Row
from surveys.engine.script import Block, Option
from surveys.engine.walk import answers, defaults
from surveys.engine.walk.answers import Reply
from surveys.services.conversations.unsent_answers import UnsentValue

_ROWS_ABOVE = limits.ROWS - 1  # the last row is for Back, Skip and Submit
# For `emoji_only` options that have no emoji of their own.
_SIGNS = (
    *("1️⃣", "2️⃣", "3️⃣", "4️⃣", "5️⃣", "6️⃣", "7️⃣", "8️⃣", "9️⃣", "🔟"),
    *("🔴", "🟠", "🟡", "🟢", "🔵", "🟣", "🟤", "⚫", "⚪", "🔶", "🔷", "🔺", "🔻", "⭐", "🌙"),
)
# The number of buttons in a row, by the longest label. More buttons would wrap unevenly on a phone.
_IN_A_ROW = ((10, 5), (16, 4), (26, 3), (limits.LABEL, 2))


@dataclass(frozen=True, slots=True)
class References:
    """Makes the custom ids of one step of one conversation, bound to its respondent.

    Without a `platform_id` the components are for everybody.
    """

    subject: uuid.UUID
    platform_id: str | None
    block_id: int = 0
    step: int = 0

    def to(self, op: Op, arg: int = 0) -> str:
        reference = Reference(op, self.subject, self.block_id, arg, self.step)
        return references.seal(reference, platform_id=self.platform_id)


@dataclass(frozen=True, slots=True)
class Control:
    """The control of a question. `text` is shown under the prompt; `advance` are buttons of the last row."""

    rows: Sequence[Row] = ()
    text: str = ""
    advance: Sequence[Button] = ()


def draw(block: Block, draft: UnsentValue, reply: Reply | None, to: References) -> Control:
    """The control of a block as the respondent sees it. `reply` is their earlier answer here."""
    match block.type:
        case "single_punch":
            return _single(block, _chosen(reply), to)
        case "multi_punch":
            return _multi(block, draft, to)
        case "ranking":
            return _ranking(block, draft, to)
        case "rating" | "opinion_scale" | "nps":
            return _scale(block, str((reply or {}).get("number", "")), to)
        case "open_text" | "open_numeric":
            return _written(block, draft, to)
    return Control(advance=[Button(defaults.button_of(block), to.to(Op.GO_ON), PRIMARY)])


def locked(block: Block, reply: Reply | None, to: References) -> Control:
    """A graded answer, which cannot be changed, with a button to continue."""
    text = f"> {words.shown(said(block, reply))}\n{words.LOCKED}"
    return Control(text=text, advance=[Button(defaults.CONTINUE, to.to(Op.GO_ON), PRIMARY)])


def said(block: Block, reply: Reply | None) -> str:
    """A reply in words. For a single choice it begins with the emoji of the button."""
    text, chosen = answers.text_as_read(block, reply), list(answers.chosen_options(block, reply or {}))
    sign = chosen[0].emoji if len(chosen) == 1 else None
    return f"{sign} {text}" if sign and sign != text else text


def vote(block: Block, to: References) -> Control:
    """The control of a poll's question under the poll itself, for everybody."""
    if block.type == "multi_punch":
        menu = _menu(block, (), to.to(Op.VOTE), least=_least(block), most=block.max)
        return Control([menu], defaults.help_of(block))
    if block.type == "single_punch":
        return _single(block, (), to, op=Op.VOTE, rows=limits.ROWS)
    return _scale(block, "", to, op=Op.VOTE)


def arg_of(option: Option) -> int:
    """The number of an option in a reference; for a point of a scale, the point's number."""
    return option.id or 0


# --- Choices ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Face:
    """The text and the emoji of an option. A button cannot show custom emoji inside its text."""

    label: str
    emoji: str


def _face(option: Option, n: int, style: str | None) -> _Face:
    text = option.display_text
    if style == "emoji_only":
        return _Face("", _sign_of(option) or _SIGNS[n % len(_SIGNS)])
    own = option.emoji if option.emoji and limits.emoji_of(option.emoji) else ""
    if not own and (custom := limits.SERVER_EMOJI.search(text)):
        return _Face(limits.SERVER_EMOJI.sub("", text).strip(), custom[0])
    if option.emoji and not own:  # a sign that is not an emoji of the platform
        return _Face(f"{option.emoji} {text}", "")
    return _Face(text, own)


def _sign_of(option: Option) -> str:
    """The first emoji of an option that the platform has; empty if there is none."""
    candidates = [
        option.emoji or "",
        *(each[0] for each in limits.SERVER_EMOJI.finditer(option.display_text)),
    ]
    candidates += [each["emoji"] for each in emoji.emoji_list(option.display_text)]
    return next((each for each in candidates if each and limits.emoji_of(each)), "")


def _legend(block: Block) -> str:
    """The meanings of the emoji, if the buttons show only emoji."""
    if block.answer_style != "emoji_only":
        return ""
    return "\n".join(
        f"{_face(option, n, 'emoji_only').emoji}  {words.shown(option.display_text)}"
        for n, option in enumerate(block.options)
        if option.display_text.strip() != _face(option, n, "emoji_only").emoji
    )


def _single(
    block: Block, chosen: Sequence[int], to: References, *, op: Op = Op.CHOOSE, rows: int = _ROWS_ABOVE
) -> Control:
    style = block.answer_style
    faces = [_face(option, n, style) for n, option in enumerate(block.options)]
    if style == "select_menu" or len(faces) > rows * limits.BUTTONS:
        menu_op = Op.MENU if op == Op.CHOOSE else op
        return Control([_menu(block, chosen, to.to(menu_op))])
    buttons = []
    for option, face in zip(block.options, faces, strict=True):
        opens = Op.WRITE if option.is_other and op == Op.CHOOSE else op
        button = Button(face.label, to.to(opens, arg_of(option)), _style(option.id in chosen), face.emoji)
        buttons.append(button)
    return Control(_packed(buttons, rows), _legend(block))


def has_menu(block: Block) -> bool:
    """Whether the options of a multi punch are chosen in one menu, and sent with it."""
    return block.answer_style == "select_menu" or len(block.options) > _ROWS_ABOVE * limits.BUTTONS


def _multi(block: Block, draft: UnsentValue, to: References) -> Control:
    chosen = draft.option_ids
    if has_menu(block):
        least = _least(block) if block.required or block.min else 0
        return Control(
            [_menu(block, chosen, to.to(Op.MENU), least=least, most=block.max)], defaults.help_of(block)
        )
    buttons = []
    for n, option in enumerate(block.options):
        face, is_chosen = _face(option, n, block.answer_style), option.id in chosen
        label = f"✓ {face.label}" if is_chosen else face.label
        style = SUCCESS if is_chosen else SECONDARY
        op = Op.WRITE if option.is_other and not is_chosen else Op.TOGGLE
        buttons.append(Button(label, to.to(op, arg_of(option)), style, face.emoji))
    text = "\n\n".join(filter(None, [_legend(block), defaults.help_of(block), _quoted(draft.text)]))
    is_alone = any(option.is_exclusive for option in block.options if option.id in chosen)
    is_enough = is_alone or len(chosen) >= max(1, block.min or 1)
    submit = Button(f"{words.SUBMIT} ({len(chosen)})", to.to(Op.SUBMIT), PRIMARY, is_disabled=not is_enough)
    return Control(_packed(buttons, _ROWS_ABOVE), text, [submit])


def _least(block: Block) -> int:
    """The fewest options that a menu takes: an exclusive one is enough."""
    has_exclusive = len(block.together) < len(block.options)
    return 1 if has_exclusive else max(1, block.min or 1)


def _menu(
    block: Block, chosen: Sequence[int], custom_id: str, *, least: int = 1, most: int | None = 1
) -> Menu:
    options = []
    for n, option in enumerate(block.options[: limits.OPTIONS]):
        face = _face(option, n, None)
        options.append(MenuOption(str(arg_of(option)), face.label, face.emoji, option.id in chosen))
    most = min(most or len(options), len(options))
    placeholder = "Choose one" if most == 1 else defaults.help_of(block).rstrip(".")
    return Menu(custom_id, options, placeholder, min(least, most), most)


# --- Rankings, scales, texts --------------------------------------------------------------------------------


def _ranking(block: Block, draft: UnsentValue, to: References) -> Control:
    ranked = [block.option_by_id[each] for each in draft.option_ids if each in block.option_by_id]
    wanted = defaults.ranked_count(block)
    is_full = len(ranked) >= wanted
    left = [] if is_full else [option for option in block.options if option not in ranked]
    buttons = []
    for option in left:
        face = _face(option, block.options.index(option), block.answer_style)
        buttons.append(Button(face.label, to.to(Op.PICK, arg_of(option)), emoji=face.emoji))
    order = [f"**{n}.** {words.shown(option.display_text)}" for n, option in enumerate(ranked, start=1)]
    if is_full:
        order.append("\nIs that right? Then press Submit.")
    else:
        order.append(f"**{len(ranked) + 1}.** _…choose number {len(ranked) + 1} of {wanted}_")
    text = "\n\n".join(filter(None, [_legend(block), "\n".join(order)]))
    advance = []
    if is_full:
        advance.append(Button(words.SUBMIT, to.to(Op.SUBMIT), PRIMARY))
    if ranked:
        advance.append(Button(words.UNDO, to.to(Op.UNDO, len(ranked))))
    return Control(_packed(buttons, _ROWS_ABOVE), text, advance)


def _scale(block: Block, number: str, to: References, *, op: Op = Op.CHOOSE) -> Control:
    low, high = block.points
    points = range(low, high + 1)
    by_value = {option.value: option for option in block.options}
    shown = [by_value.get(str(point)) for point in points]
    labels = [option.label or "" if option else "" for option in shown]
    if block.answer_style == "select_menu":
        options = [
            MenuOption(
                str(point),
                f"{point}: {labels[n]}" if labels[n] else str(point),
                (option.emoji or "") if option else "",
                str(point) == number,
            )
            for n, (point, option) in enumerate(zip(points, shown, strict=True))
        ]
        menu_op = Op.MENU if op == Op.CHOOSE else op
        return Control([Menu(to.to(menu_op), options, "Choose one")], _ends(block, low, high))
    icon = defaults.icon_of(block)
    buttons, legend = [], []
    for n, (point, option) in enumerate(zip(points, shown, strict=True)):
        sign = _sign_of(option) if option else ""
        label = "" if icon == "emoji" and sign else str(point)
        if icon == "stars" and not sign:
            sign = "⭐"
        buttons.append(Button(label, to.to(op, point), _style(str(point) == number), sign))
        if labels[n]:
            legend.append(f"{sign if not label else f'**{point}**'}  {words.shown(labels[n])}")
    text = "\n".join(legend) or _ends(block, low, high)
    return Control(_scale_rows(buttons), text)


def _ends(block: Block, low: int, high: int) -> str:
    left, centre, right = map(words.shown, defaults.ends_of(block))
    ends = [(low, left), ((low + high) // 2, centre), (high, right)]
    return " · ".join(f"**{point}** {label}" for point, label in ends if label)


def _scale_rows(buttons: Sequence[Button]) -> list[Row]:
    """Rows of nearly the same length: eleven points are 4, 4 and 3."""
    rows = -(-len(buttons) // limits.BUTTONS)
    size = -(-len(buttons) // rows)
    return [buttons[n : n + size] for n in range(0, len(buttons), size)]


def _written(block: Block, draft: UnsentValue, to: References) -> Control:
    is_number = block.type == "open_numeric"
    label = words.CHANGE_TEXT if draft.text else words.WRITE_NUMBER if is_number else words.WRITE
    return Control(
        text="\n\n".join(filter(None, [defaults.help_of(block), _quoted(draft.text)])),
        advance=[Button(label, to.to(Op.WRITE), PRIMARY, "✏️")],
    )


def _quoted(text: str) -> str:
    return f"> {words.escape(words.clip(text, 1000))}".replace("\n", "\n> ") if text else ""


# --- Rows ---------------------------------------------------------------------------------------------------


def _packed(buttons: Sequence[Button], rows: int) -> list[Row]:
    """The buttons in rows. Long buttons share a row with fewer others, if there are enough rows."""
    longest = max((len(button.label) for button in buttons), default=0)
    size = next((size for length, size in _IN_A_ROW if longest <= length), 1)
    while -(-len(buttons) // size) > rows and size < limits.BUTTONS:
        size += 1
    return [buttons[n : n + size] for n in range(0, len(buttons), size)]


def _style(is_chosen: bool) -> int:
    return PRIMARY if is_chosen else SECONDARY


def _chosen(reply: Reply | None) -> Sequence[int]:
    ids = (reply or {}).get("option_ids")
    return ids if isinstance(ids, list) else ()
