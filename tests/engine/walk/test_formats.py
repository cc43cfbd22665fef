"""Answers in a format: what is one, what is not, and what the refusal says (rule 6.132)."""

import pytest

from surveys.engine.script import FORMATS
from surveys.engine.walk import answers, defaults, formats
from surveys.engine.walk.answers import InvalidAnswer
from tests.support.cases import try_each
from tests.support.engine.script_builder import script

ONE_LINE = "Answer in one line, without line breaks."


def question(format_):
    return script({"type": "open_text", "name": "B", "format": format_}).blocks[0]


@try_each(
    ("format_", "text"),
    [
        ("line", "Two words & <signs>"),
        ("email", "ann@example.org"),
        ("email", "a+tag@sub.example.co.uk"),
        ("email", "zoë@exämple.de"),
        ("email", f"{'a' * 242}@example.org"),
        ("url", "https://example.org"),
        ("url", "HTTP://localhost:8000/a?b=c#d"),
        ("url", f"https://example.org/{'a' * 2_028}"),
        ("phone", "12345"),
        ("phone", "1" * 20),
        ("phone", "+49 (0)30-123.45"),
        ("phone", "(+49) 30 1234"),
        ("phone", "030\N{NO-BREAK SPACE}12\N{NON-BREAKING HYPHEN}34"),
        ("date", "2024-02-29"),
        ("date", "0001-01-01"),
    ],
)
def test_an_answer_in_the_format_is_taken_as_it_is(format_, text):
    """Rule 6.132."""
    assert answers.parse(question(format_), {"value": f" {text}\n"}) == {"text": text}


@try_each(
    ("format_", "text"),
    [
        ("email", "ann"),
        ("email", "ann@example"),
        ("email", "@example.org"),
        ("email", "a b@example.org"),
        ("email", "a..b@example.org"),
        ("email", ".a@example.org"),
        ("email", "a@exa_mple.org"),
        ("email", "a@.org"),
        ("email", "a@127.0.0.1"),
        ("email", "<a@example.org>"),
        ("email", f"{'a' * 243}@example.org"),
        ("url", "example.org"),
        ("url", "ftp://example.org"),
        ("url", "https://"),
        ("url", "https://example.org/a b"),
        ("url", "https://["),
        ("url", "https://example.org:99999"),
        ("url", "javascript:alert(1)"),
        ("url", f"https://example.org/{'a' * 2_029}"),
        ("phone", "1234"),
        ("phone", "1" * 21),
        ("phone", "1+2345"),
        ("phone", "++12345"),
        ("phone", "call 12345"),
        ("phone", "٠١٢٣٤٥"),
        ("date", "2026-02-29"),
        ("date", "31.01.2026"),
        ("date", "2026-1-31"),
        ("date", "0000-01-01"),
        ("date", "٢٠٢٦-01-01"),
    ],
)
def test_another_answer_is_refused_with_an_example(format_, text):
    """Rule 6.132."""
    with pytest.raises(InvalidAnswer) as caught:
        answers.parse(question(format_), {"value": text})

    violation = caught.value.violation
    assert (violation.field, violation.code) == ("value", "invalid")
    assert formats.example_of(format_) in violation.message


@try_each("format_", FORMATS)
@try_each("end", ["\n", "\r\n", "\u2028", "\x0b"])
def test_no_format_has_line_breaks(format_, end):
    """Rule 6.132."""
    text = f"ann@example.org{end}bob@example.org"

    with pytest.raises(InvalidAnswer, match=ONE_LINE):
        answers.parse(question(format_), {"value": text})


@try_each("format_", [name for name in FORMATS if name != "line"])
def test_every_example_is_an_answer(format_):
    example = formats.example_of(format_)

    assert formats.problem(format_, example) is None
    assert example in defaults.help_of(question(format_))
