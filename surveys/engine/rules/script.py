"""What a whole script must be: every rule a sentence, all of them told at once.

    check(script, places=..., chat=..., faulty=...)   everything; `script` is arranged (see `arrangement`)
    fits_chat(script, path=...)                       only what delivery by chat asks, of a stored script

`places` are those of the arrangement: violations name the field in the array that was sent. A rule is
silent about a field that is faulty already (`Reading.faulty`), and about blocks whose type is not known.
Outro blocks are the service's own: of them `check_outro` looks at what can be written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set

from surveys.engine.intake.field_paths import BlockPath, is_invalid, stored_paths
from surveys.engine.rules import block as block_rules
from surveys.engine.rules import buckets
from surveys.engine.rules import logic as logic_rules
from surveys.engine.rules import option as option_rules
from surveys.engine.rules.context import RuleContext
from surveys.engine.script import Block, Script, Violation

POLL_QUESTIONS = frozenset({"single_punch", "multi_punch", "rating", "opinion_scale", "nps"})


def check(
    script: Script,
    *,
    places: Sequence[BlockPath],
    chat: bool,
    bucket_keys: Collection[str] | None = None,
    faulty: Set[str] = frozenset(),
    path: str = "blocks",
) -> list[Violation]:
    """Every rule of an arranged script. `chat`: it is delivered by chat. `path`: of the array of blocks.

    `bucket_keys` are the declared buckets that score values are held against; None where buckets are
    made from the keys (decisions 7.1). Whether scores count at all is `script.scoring_enabled`.
    """
    spots = [RuleContext(block, place, faulty) for block, place in zip(script.blocks, places, strict=True)]
    readable = [not (is_invalid(place.path, faulty) or place.at("type") in faulty) for place in places]
    found: list[Violation] = []
    for spot, is_readable in zip(spots, readable, strict=True):
        if not is_readable:
            continue
        for rule in block_rules.RULES:
            found += rule(spot)
        if spot.block.options:
            for option_rule in option_rules.RULES:
                found += option_rule(spot)
            if chat:
                found += option_rules.fits_chat(spot)
        if script.scoring_enabled:
            found += block_rules.scores_have_buckets(spot, bucket_keys)
    if script.scoring_enabled:
        found += buckets.violations(script, spots)
    found += _names_are_unique(spots)
    found += _ids_are_used_once(spots)
    found += logic_rules.check(script, spots, readable)
    if script.is_poll and all(readable):
        found += _is_a_poll(script.blocks, places, path)
    return [violation for violation in found if not is_invalid(violation.field, faulty)]


def check_outro(block: Block, place: BlockPath, *, faulty: Set[str] = frozenset()) -> list[Violation]:
    """What of an outro block's presentation, which alone can be written, is wrong."""
    spot = RuleContext(block, place, faulty)
    found = [*block_rules.prompts_say_something(spot), *block_rules.pauses_have_their_seconds(spot)]
    return [violation for violation in found if not is_invalid(violation.field, faulty)]


def check_chat(script: Script, *, path: str = "script.blocks") -> list[Violation]:
    """What of a stored script the chat platform could not show. Asked again when delivery is set to
    chat and when the project is opened (decisions 14.17)."""
    return [
        violation
        for block, place in zip(script.blocks, stored_paths(script, path=path), strict=True)
        for violation in option_rules.fits_chat(RuleContext(block, place, frozenset()))
    ]


def check_poll(script: Script, *, path: str = "script.blocks") -> list[Violation]:
    """Whether a stored script is a poll's: one question to vote on, and content around it."""
    return list(_is_a_poll(script.blocks, stored_paths(script, path=path), path))


def _is_a_poll(blocks: Sequence[Block], places: Sequence[BlockPath], path: str) -> Iterator[Violation]:
    questions = 0
    for block, place in zip(blocks, places, strict=True):
        if block.type in POLL_QUESTIONS:
            questions += 1
            if questions > 1:
                yield Violation(
                    place.at("type"), "too_many", "A poll has exactly one question; this `type` adds another."
                )
        elif block.type != "content_block":
            message = f"A poll's `type` must be one of {', '.join(sorted(POLL_QUESTIONS))} or content_block."
            yield Violation(place.at("type"), "not_allowed", message)
    if not questions:
        yield Violation(path, "too_few", "`blocks` of a poll must hold exactly one question.")


def _names_are_unique(spots: Sequence[RuleContext]) -> Iterator[Violation]:
    first: dict[str, RuleContext] = {}
    for spot in spots:
        if not spot.block.name:
            continue
        other = first.setdefault(spot.block.title, spot)
        if other is not spot:
            message = f"`name` {spot.block.title} is that of another block: names are compared in title case."
            told = spot if other.place.path else other  # a block sent alone is the one at fault
            yield told.fault("name", "duplicate", message)


def _ids_are_used_once(spots: Sequence[RuleContext]) -> Iterator[Violation]:
    blocks: set[int] = set()
    options: set[int] = set()
    for spot in spots:
        if (block_id := spot.block.id) is not None:
            if block_id in blocks:
                yield spot.fault("id", "duplicate", f"`id` {block_id} is sent twice.")
            blocks.add(block_id)
        for n, option in enumerate(spot.block.options):
            if option.id is None:
                continue
            if option.id in options:
                yield spot.option_fault(n, "id", "duplicate", f"`id` {option.id} is sent twice.")
            options.add(option.id)
