"""The rules of a whole script. All violations are reported at once.

    check(script, block_paths=..., chat=..., invalid_fields=...)   every rule; `script` is ordered
    check_chat(script)                                             a stored script: the limits of chat
    check_poll(script)                                             a stored script: the form of a poll
    check_anonymous(script, ...)                                   what an anonymous project must not ask
    check_ends(script, dependence, ...)                            what the ends of an anonymous project tell
    check_formulas(script)                                         a stored script: what a copy may lack
    check_outro(block, block_path, ...)                            an outro block: the fields one may write

Each violation names the field in the submitted array, by `block_paths`. No rule reports a field in
`invalid_fields` (see `ParsedBlocks`), or a block whose type is unknown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import accumulate, groupby

from communities.ground.sent_text import appearance
from surveys.engine.intake.field_paths import STORED, BlockPath, is_invalid, stored_paths
from surveys.engine.intake.fields import MAX_SCRIPT_OPTIONS
from surveys.engine.language import names, piping, references
from surveys.engine.rules import block as block_rules
from surveys.engine.rules import buckets
from surveys.engine.rules import logic as logic_rules
from surveys.engine.rules import option as option_rules
from surveys.engine.rules.context import RuleContext
from surveys.engine.rules.dependence import NOTHING, Dependence
from surveys.engine.script import (
    ENOUGH_VIOLATIONS,
    GROUPED,
    SCALES,
    Block,
    Option,
    Scale,
    Script,
    Violation,
)

POLL_QUESTIONS = frozenset({"single_punch", "multi_punch", "rating", "opinion_scale", "nps"})
MAX_TEXTS = 1_048_576  # characters of the texts, options and scores of a script: the limit of one body
# Characters of its conditions and formulas (rule 3.41): a process keeps several such scripts parsed.
MAX_LOGIC = 100_000
VIDEO = "video_url"
LINK_OF_ANONYMOUS = (
    "On anonymous projects the addresses of links in `{key}` can hold no token: another site would learn "
    "whose answers these are."
)
CONDITION_OF_LINK = (
    "On anonymous projects the condition of a block with a link or a video can name only `field.<name>`: "
    "another site would learn the answers by who opens it."
)
LINK_IN_FEEDBACK = (
    "On anonymous projects `{key}` can have no link: another site would learn the answers by who opens it."
)
LINK_BEHIND_END = (
    "On anonymous projects `{key}` can have no link where `ends` name answers: another site would learn the "
    "answers by who opens it."
)
GIFT_BEHIND_END = (
    "On anonymous projects an action block cannot stand where an end that names answers has screened people "
    "out before: what it gives would tell the answers."
)
FEEDBACK = ("when_correct", "when_incorrect")  # texts that are shown after some answers alone
MAX_CELLS = 1_000  # rows × options of a group: all controls of one page (rule 6.139)
MAX_PICTURES = 200  # of all options of a script: each is fetched and stored


def check(
    script: Script,
    *,
    block_paths: Sequence[BlockPath],
    chat: bool,
    bucket_keys: Collection[str] | None = None,
    invalid_fields: Set[str] = frozenset(),
    path: str = "blocks",
) -> list[Violation]:
    """Apply every rule to an ordered script.

    `chat` is true for projects delivered by chat. `path` is that of the array of blocks. `bucket_keys` are
    the declared buckets to which score values must belong; None if buckets are derived from the keys
    (rules 5.2 to 5.4). Whether scores count at all is `script.scoring_enabled`.
    """
    contexts = [
        RuleContext(block, block_path, invalid_fields)
        for block, block_path in zip(script.blocks, block_paths, strict=True)
    ]
    readable = [
        not (is_invalid(block_path.path, invalid_fields) or block_path.field("type") in invalid_fields)
        for block_path in block_paths
    ]
    violations: list[Violation] = []
    for context, is_readable in zip(contexts, readable, strict=True):
        if is_readable and len(violations) < ENOUGH_VIOLATIONS:
            violations += _block_violations(script, context, chat, bucket_keys)
    if script.scoring_enabled:
        violations += buckets.violations(script, contexts)
    violations += _texts_fit(script, path)
    violations += _options_fit(script, path)
    violations += _pictures_fit(script, path)
    violations += _names_are_unique(contexts)
    violations += _ids_are_used_once(contexts)
    violations += _groups_hold_together(contexts)
    violations += _groups_fit_a_page(contexts)
    violations += logic_rules.check(script, contexts, readable, path)
    if script.is_poll and all(readable):
        violations += _is_a_poll(script.blocks, block_paths, path)
    return [violation for violation in violations if not is_invalid(violation.field, invalid_fields)]


def _block_violations(
    script: Script, context: RuleContext, chat: bool, bucket_keys: Collection[str] | None
) -> Iterator[Violation]:
    for rule in block_rules.RULES:
        yield from rule(context)
    if context.block.options:
        for option_rule in option_rules.RULES:
            yield from option_rule(context)
        if chat:
            yield from option_rules.fits_chat(context)
        if chat and script.is_poll:
            yield from option_rules.fits_chat_poll(context)
    if script.scoring_enabled:
        yield from block_rules.scores_have_buckets(context, bucket_keys)


def check_outro(
    block: Block, block_path: BlockPath, *, invalid_fields: Set[str] = frozenset()
) -> list[Violation]:
    """Check the fields of an outro block that can be written: its presentation and its pause."""
    context = RuleContext(block, block_path, invalid_fields)
    violations = [
        *block_rules.prompts_say_something(context),
        *block_rules.pauses_have_their_seconds(context),
    ]
    return [violation for violation in violations if not is_invalid(violation.field, invalid_fields)]


def check_chat(script: Script) -> list[Violation]:
    """The parts of a stored script that the chat platform could not display.

    The check runs again when delivery is set to chat, and when the project is opened (rule 2.7).
    """
    contexts = [
        RuleContext(block, block_path, frozenset())
        for block, block_path in zip(script.blocks, stored_paths(script), strict=True)
    ]
    violations = [violation for context in contexts for violation in option_rules.fits_chat(context)]
    if script.is_poll:
        for context in contexts:
            violations += option_rules.fits_chat_poll(context)
    return violations


def check_poll(script: Script) -> list[Violation]:
    """Check that a stored script is a poll: one question to vote on, and content blocks around it
    (rule 2.19).
    """
    return list(_is_a_poll(script.blocks, stored_paths(script), STORED))


def check_anonymous(script: Script, block_paths: Sequence[BlockPath] | None = None) -> list[Violation]:
    """Blocks with further questions: no model reads an anonymous answer as it is given (rule 10.66).

    Also links whose addresses have tokens (rule 6.193), and links that are shown after some answers alone
    (rule 1.154). Without `block_paths` the script is a stored one.
    `block_paths` may contain those of the outro.
    """
    every = (*script.blocks, *script.outro)
    paths = block_paths or [BlockPath(f"{STORED}[{n}]") for n in range(len(every))]
    found = [
        Violation(
            block_path.field("follow_ups"),
            "not_allowed",
            "`follow_ups` is not allowed on an anonymous project: a model would read each answer at once.",
        )
        for block, block_path in zip(script.blocks, paths, strict=False)
        if block.follow_ups
    ]
    for block, block_path in zip(every, paths, strict=False):
        found += [
            Violation(block_path.field(key), "not_allowed", LINK_OF_ANONYMOUS.format(key=key))
            for key in references.TEXTS_WITH_TOKENS
            if has_token_in_link(getattr(block, key), script)
        ]
        found += [
            Violation(block_path.field(key), "not_allowed", LINK_IN_FEEDBACK.format(key=key))
            for key in FEEDBACK
            if has_link(getattr(block, key))
        ]
        if leading_out(block) and any(
            names.field_key(mention.name) is None for mention in references.named_by_condition(block)
        ):
            key = references.condition_key(block)
            found.append(Violation(block_path.field(key), "not_allowed", CONDITION_OF_LINK))
    return found


def check_ends(
    script: Script,
    dependence: Dependence,
    block_paths: Sequence[BlockPath] | None = None,
) -> list[Violation]:
    """Links and gifts of an anonymous project that only some see, by the ends of the project (rule 1.180).

    Without `block_paths` the script is a stored one. `block_paths` may contain those of the outro.
    """
    if dependence == NOTHING:
        return []
    every = (*script.blocks, *script.outro)
    paths = block_paths or [BlockPath(f"{STORED}[{n}]") for n in range(len(every))]
    found: list[Violation] = []
    for at, (block, block_path) in enumerate(zip(every, paths, strict=False)):
        if not dependence.decides(at, script):
            continue
        found += [
            Violation(block_path.field(key), "not_allowed", LINK_BEHIND_END.format(key=key))
            for key in leading_out(block)
        ]
        if block.action_kind and at < len(script.blocks):
            found.append(Violation(block_path.field("action_kind"), "not_allowed", GIFT_BEHIND_END))
    return found


def leading_out(block: Block) -> list[str]:
    """The fields of a block that lead respondents to another site, which learns who comes."""
    found = [key for key in references.TEXTS_WITH_TOKENS if has_link(getattr(block, key))]
    return [*found, VIDEO] if block.video_url else found


def has_link(text: str | None) -> bool:
    """Whether a text may have a link. Chat makes one of an address without a label, too."""
    return bool(text) and ("](" in str(text) or piping.has_bare_address(str(text)))


def has_token_in_link(text: str | None, script: Script) -> bool:
    """Whether the address of a link in a text has a token, by which another site could learn an answer."""
    if not text or not has_link(text):
        return False

    def is_known(name: str) -> bool:
        return piping.is_prompt_variable(name) or references.resolve(name, script) is not None

    return any(map(is_known, piping.tokens_in_links(text, is_known)))


def check_formulas(script: Script) -> list[Violation]:
    """The calculated blocks of a stored script whose formula was left out of a copy (rule 2.17)."""
    return [
        violation
        for block, block_path in zip(script.blocks, stored_paths(script), strict=True)
        for violation in block_rules.calculated_blocks_have_a_formula(
            RuleContext(block, block_path, frozenset())
        )
    ]


def _is_a_poll(blocks: Sequence[Block], block_paths: Sequence[BlockPath], path: str) -> Iterator[Violation]:
    questions = 0
    for block, block_path in zip(blocks, block_paths, strict=True):
        if block.type in POLL_QUESTIONS:
            questions += 1
            if questions > 1:
                message = "A poll has exactly one question; this `type` adds another."
                yield Violation(block_path.field("type"), "too_many", message)
        elif block.type != "content_block":
            message = f"A poll's `type` must be one of {', '.join(sorted(POLL_QUESTIONS))} or content_block."
            yield Violation(block_path.field("type"), "not_allowed", message)
    if not questions:
        yield Violation(path, "too_few", "`blocks` of a poll must hold exactly one question.")


def _texts_fit(script: Script, path: str) -> Iterator[Violation]:
    """Blocks that are written one by one are together no longer than one body may be
    (rules 3.38 and 3.41).
    """
    size = sum(map(_characters, script.blocks))
    if size > MAX_TEXTS:
        message = (
            f"The texts, options and scores of a script must have at most {MAX_TEXTS:,} characters together, "
            f"not {size:,}."
        )
        yield Violation(path, "too_long", message)
    logic = sum(
        len(block.precondition or "") + len(block.calculated_formula or "") for block in script.blocks
    )
    if logic > MAX_LOGIC:
        message = (
            f"The conditions and formulas of a script must have at most {MAX_LOGIC:,} characters together, "
            f"not {logic:,}."
        )
        yield Violation(path, "too_long", message)


def _characters(block: Block) -> int:
    """The least number of characters of a block in JSON, where an option has 12 characters of syntax and a
    score has 5.
    """
    texts = (
        block.prompt,
        block.description,
        block.when_correct,
        block.when_incorrect,
        block.precondition,
        block.calculated_formula,
    )
    size = sum(len(text) for text in texts if text)
    for option in block.options:
        size += 12 + len(option.value) + len(option.label or "")
        size += len(option.image_url or "") + len(option.image_alt or "")
        size += sum(5 + len(key) for key in option.score_values or ())
    return size


def _options_fit(script: Script, path: str) -> Iterator[Violation]:
    """Rule 3.157, also if blocks are written one by one."""
    options = sum(len(block.options) for block in script.blocks)
    if options > MAX_SCRIPT_OPTIONS:
        message = f"All options of a script must be at most {MAX_SCRIPT_OPTIONS:,} together, not {options:,}."
        yield Violation(path, "too_many", message)


def _pictures_fit(script: Script, path: str) -> Iterator[Violation]:
    """Rule 3.156."""
    pictures = sum(bool(option.image_url) for block in script.blocks for option in block.options)
    if pictures > MAX_PICTURES:
        message = f"At most {MAX_PICTURES} options of a script have pictures, not {pictures}."
        yield Violation(path, "too_many", message)


def _names_are_unique(contexts: Sequence[RuleContext]) -> Iterator[Violation]:
    """No two names look the same: an invisible letter would make a name that no condition could contain."""
    first: dict[str, RuleContext] = {}
    for context in contexts:
        title = context.block.title
        if not context.block.name:
            continue
        other = first.setdefault(appearance(title), context)
        if other is not context:
            message = f"`name` {title} is already used by another block: names are compared in title case."
            if title != other.block.title:
                message = f"`name` {title} looks the same as that of another block."
            # A block that was sent alone is the one to report
            at_fault = context if other.block_path.path else other
            yield at_fault.violation("name", "duplicate", message)


def _groups_hold_together(contexts: Sequence[RuleContext]) -> Iterator[Violation]:
    """Blocks with one title are neighbours, and differ in nothing that one table would show for all
    (rule 3.123).
    """
    left: set[str] = set()
    before: Block | None = None
    for number, context in enumerate(contexts, 1):
        was, before = before, context.block
        title = before.group
        if was is not None and was.group and was.group != title:
            left.add(was.group)
        if not title or before.type not in GROUPED:
            continue
        if title in left:
            message = f"`group` “{title}” is that of earlier blocks, and other blocks stand between them."
            yield context.violation("group", "conflicting", message)
        elif was is not None and was.group == title and (differing := _differing(was, before)):
            message = (
                f"`group` is shared by blocks that have the same `{differing}`, and the `{differing}` of "
                f"block {number} is not that of the block before it."
            )
            yield context.violation("group", "conflicting", message)


def _groups_fit_a_page(contexts: Sequence[RuleContext]) -> Iterator[Violation]:
    """The rows of a group have few controls together (rule 6.139). Reported once, at the first beyond."""
    for title, neighbours in groupby(contexts, key=lambda context: context.block.group):
        rows = [context for context in neighbours if title and context.block.type in GROUPED]
        cells = list(accumulate(len(each.block.options) or _points(each) for each in rows))
        beyond = bisect_right(cells, MAX_CELLS)
        if 0 < beyond < len(rows):  # a menu alone has its own limit
            message = (
                f"The rows of the `group` “{title}” must have at most {MAX_CELLS:,} options or points "
                f"together, not {cells[-1]:,}."
            )
            yield rows[beyond].violation("group", "too_many", message)


def _points(context: RuleContext) -> int:
    low, high = context.block.points if context.block.type in SCALES else (0, -1)
    return max(0, high - low + 1)


def _differing(one: Block, other: Block) -> str | None:
    """The field in which two blocks of a group must not differ, and do; None if there is none."""
    if one.type != other.type:
        return "type"
    if [_looks(option) for option in one.options] != [_looks(option) for option in other.options]:
        return "options"
    if one.type not in SCALES:
        return None
    if one.points != other.points:
        return "min" if one.points[0] != other.points[0] else "max"
    return None if (one.scale or Scale()) == (other.scale or Scale()) else "scale"


def _looks(option: Option) -> tuple[str, str | None, str | None]:
    return option.value, option.label, option.emoji


def _ids_are_used_once(contexts: Sequence[RuleContext]) -> Iterator[Violation]:
    blocks: set[int] = set()
    options: set[int] = set()
    for context in contexts:
        if (block_id := context.block.id) is not None:
            if block_id in blocks:
                yield context.violation("id", "duplicate", f"`id` {block_id} is sent twice.")
            blocks.add(block_id)
        for n, option in enumerate(context.block.options):
            if option.id is None:
                continue
            if option.id in options:
                yield context.option_violation(n, "id", "duplicate", f"`id` {option.id} is sent twice.")
            options.add(option.id)
