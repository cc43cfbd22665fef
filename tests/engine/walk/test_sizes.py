"""Limits also apply to products: tokens × values, options × texts, copies of one answer (rule 4.32)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surveys.engine.intake import ordering, reader
from surveys.engine.intake.fields import MAX_DESCRIPTION, MAX_LABEL, MAX_OPTIONS, MAX_PROMPT, MAX_VALUE
from surveys.engine.language import piping, values
from surveys.engine.language.lexer import MAX_LENGTH
from surveys.engine.rules import script as rules
from surveys.engine.script import Option, Script
from surveys.engine.walk import answers, defaults, presentation, runner
from tests.support.effort import examples

# One byte in JSON and five in a page, two and five, three, four, and the worst: six.
SIGNS = ["&", '"', "語", "😀", "\x01"]
ADDRESS = "https://a.example/" + "語" * 2_030
SPECIAL = {"username": "&" * 10_000}


def texts(most: int) -> st.SearchStrategy[str]:
    """Long texts, of one sign each."""
    sizes = st.sampled_from([1, most // 3, most])
    return st.builds(lambda sign, size: sign * size, st.sampled_from(SIGNS), sizes)


@st.composite
def prompts(draw, before: list[str]) -> str:
    """Tokens of one or of several blocks up to the limit, with text around them."""
    tokens = "".join(f"[{name}]" for name in draw(st.permutations([*before, "UserName", "answer", "Nobody"])))
    piece = draw(st.sampled_from([f"[{(before or ['answer'])[0]}]", tokens]))
    around = draw(texts(MAX_PROMPT))[: draw(st.sampled_from([1, 20, MAX_PROMPT - 40]))]
    return (around + piece * MAX_PROMPT)[: MAX_PROMPT // len(piece) * len(piece)]


@st.composite
def options(draw, count: int) -> list[dict[str, Any]]:
    value, label, emoji = draw(texts(MAX_VALUE - 3)), draw(texts(MAX_LABEL)), draw(texts(100))
    return [{"value": f"{n}{value}"[:MAX_VALUE], "label": label, "emoji": emoji} for n in range(count)]


@st.composite
def blocks(draw) -> list[dict[str, Any]]:
    """The largest blocks that an author may write, and copies of their answers."""
    before: list[str] = []
    written = []
    kinds = [
        "open_text",
        "single_punch",
        "multi_punch",
        "ranking",
        "content_block",
        "calculated_block",
        "rating",
    ]
    for n in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(kinds))
        raw: dict[str, Any] = {"type": kind, "name": f"B{n}", "prompt": draw(prompts(list(before)))}
        raw |= {"image_url": ADDRESS, "thumbnail_url": ADDRESS} if draw(st.booleans()) else {}
        if kind != "calculated_block" and draw(st.booleans()):
            raw["description"] = draw(prompts(list(before)))[:MAX_DESCRIPTION]
        if kind in ("single_punch", "multi_punch"):
            raw["options"] = draw(options(draw(st.sampled_from([2, 30, MAX_OPTIONS]))))
        if kind == "ranking":
            raw["options"] = draw(options(20))
        if kind == "rating":
            raw["scale"] = {f"label_{side}": draw(texts(200)) for side in ("left", "center", "right")}
        if kind == "calculated_block":
            raw["calculated_formula"] = f"[{draw(st.sampled_from(before))}]" if before else "1"
        if kind not in ("content_block", "ranking"):
            before.append(f"B{n}")
        written.append(raw)
    return written


def read(raw: list[dict[str, Any]]) -> tuple[Script, set[str]]:
    """A script from its JSON, and the codes of its violations."""
    parsed = reader.read_blocks(raw, path="blocks")
    ordered = ordering.order_blocks(parsed)
    script = Script(ordered.blocks)
    found = rules.check(
        script, block_paths=ordered.block_paths, chat=False, invalid_fields=parsed.invalid_fields
    )
    return with_ids(script), {violation.code for violation in (*parsed.violations, *found)}


def with_ids(script: Script) -> Script:
    """The script with ids as long as they may become."""
    numbers = count(10**18)
    return replace(
        script,
        blocks=tuple(
            replace(
                block,
                id=next(numbers),
                options=tuple(replace(option, id=next(numbers)) for option in block.options),
            )
            for block in script.blocks
        ),
    )


def without_what_is_too_long(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks that may be written, since no rule finds their options too long."""
    return [each for each in raw if not read([{**each, "prompt": "."}])[1] & {"too_long"}]


def longest_reply(block: Any, sign: str) -> answers.Reply:
    match block.type:
        case "open_text":
            most = min(answers.MAX_TEXT, answers.MAX_TEXT_BYTES // (values.json_bytes(sign) - 2))
            return answers.parse(block, {"value": f".{sign * (most - 2)}."})
        case "rating":
            return answers.parse(block, {"value": 5})
        case "single_punch":
            return answers.parse(block, {"option_id": block.options[-1].id})
        case "multi_punch":
            return answers.parse(block, {"option_ids": [option.id for option in block.options]})
    return answers.parse(block, {"ranking": [option.id for option in block.options]})


def step_bytes(block: Any, reply: answers.Reply | None) -> int:
    """The size of a step as the interface sends it."""
    step = {
        "block": presentation.step_as_json(block, is_poll=False),
        "help": defaults.help_of(block),
        "skip_label": defaults.SKIP,
        "answer": reply and answers.as_sent(block, reply),
        "is_locked": False,
        "follow_up": 0,
        "progress": 0.3333,
        "can_go_back": False,
    }
    return values.json_bytes(step)


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(raw=blocks(), sign=st.sampled_from(SIGNS))
def test_no_script_and_no_answers_make_a_text_or_a_step_too_large(raw, sign):
    script, _ = read(without_what_is_too_long(raw))
    turn = runner.begin(script)
    while turn.show is not None:
        block, state = turn.show, turn.state
        reply = longest_reply(block, sign) if block.asks else None
        shown = presentation.present(script, state, block, seed=1, token_values=SPECIAL)

        assert len(shown.prompt) <= piping.MAX_FILLED
        assert len(runner.fill(script, state, f"[{block.name}][answer]", SPECIAL)) <= 2 * (
            piping.MAX_VALUE + 1
        )
        assert step_bytes(shown, reply) < presentation.MAX_STEP
        assert all(len(str(each.get("text", ""))) <= MAX_LENGTH + 1 for each in state.results.values())
        assert sum(len(str(each.get("text", ""))) for each in state.results.values()) < 1.1 * answers.MAX_TEXT
        turn = runner.answer(script, state, reply) if reply else runner.proceed(script, state)


def test_many_copies_of_a_long_answer_are_cut_together():
    """Rule 4.33."""
    copies = [
        {"type": "calculated_block", "name": f"Copy{n}", "prompt": "", "calculated_formula": "[Long]"}
        for n in range(20)
    ]
    script, _ = read([{"type": "open_text", "name": "Long", "prompt": "?"}, *copies])

    state = runner.answer(script, runner.begin(script).state, {"text": "x" * MAX_LENGTH}).state

    lengths = [len(str(each["text"])) for each in state.results.values()]
    assert lengths == [MAX_LENGTH] * 5 + [0] * 15


def test_the_prompts_and_options_of_a_script_have_a_limit_together():
    """Rule 3.38."""
    raw = [{"type": "content_block", "name": f"B{n}", "prompt": "." * 5} for n in range(2)]
    parsed = reader.read_blocks(raw, path="blocks")
    ordered = ordering.order_blocks(parsed)
    one, two = ordered.blocks
    full = replace(one, prompt="." * (rules.MAX_TEXTS - len(two.prompt)))
    longer = replace(two, options=(Option(value="v", label=""),))

    def too_long(*blocks):
        found = rules.check(Script(blocks), block_paths=ordered.block_paths, chat=False)
        return [(each.field, each.code) for each in found if each.code == "too_long"]

    assert (too_long(full, two), too_long(full, longer)) == ([], [("blocks", "too_long")])
    scores = {f"bucket{n}": Decimal(n) for n in range(100)}
    scored = replace(one, options=tuple(Option(value=str(n), score_values=scores) for n in range(950)))
    assert ("blocks", "too_long") in too_long(scored, two)
