"""The rules of `config/docs`: numbered once, cited by numbers that exist, and true where they name limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

from communities.gate.bodies import MAX_BODY, MAX_FILE_BODY, MAX_LINES_BODY, MAX_VALUES, MAX_VALUES_OF_LINES
from communities.gate.pagination import MAX_PER_PAGE
from communities.ground.errors import MAX_VIOLATIONS
from communities.services.api_keys.keys import MAX_KEYS
from communities.services.pictures.uploads import MAX_A_DAY
from config.web.connections import MAX_ON_DISK
from surveys.drawing.past import MAX_PAST_STEPS
from surveys.engine.intake.fields import MAX_OPTIONS, MAX_PAUSE, MAX_PROMPT, MAX_VALUE
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.walk.answers import MAX_TEXT
from surveys.services.exports.xlsx import MAX_CELLS
from tests.support import contract
from tests.support.cases import try_each
from tests.support.contract import DOCS, ROOT
from webhooks.events import EventType
from xp.services.achievements import MOST_IN_LISTS, MOST_OF_ONE

RULES = dict(contract.numbered())
GUIDES = sorted((ROOT / DOCS).glob("add-*.md"))
A_SENTENCE = re.compile(r"[A-Z`\[*].*[.]", re.DOTALL)
MEBIBYTE = 1_048_576
LIMITS = [
    ("rule 1.25", "{:,} keys", MAX_KEYS),
    ("rule 1.48", "newest {:,} achievements", MOST_IN_LISTS),
    ("rule 1.48", "has the newest {:,};", MOST_OF_ONE),
    ("rule 3.4", "{:,} seconds", MAX_PAUSE),
    ("rule 3.36", "{:,} blocks", MAX_BLOCKS),
    ("rule 3.36", "{:,} options", MAX_OPTIONS),
    ("rule 3.37", "{:,} characters", MAX_PROMPT),
    ("rule 3.37", "value {:,}", MAX_VALUE),
    ("rule 3.37", "answer {:,}", MAX_TEXT),
    ("rule 6.35", "{:,} conversations in a minute", settings.CONVERSATIONS_PER_ADDRESS_AND_MINUTE),
    ("rule 6.35", "{:,}, its answer", settings.CONVERSATIONS_PER_PROJECT_AND_MINUTE),
    ("rule 6.40", "{:,} past steps", MAX_PAST_STEPS),
    ("rule 6.69", "{:,} cells", MAX_CELLS),
    ("rule 11.3", "at most {:,}", MAX_PER_PAGE),
    ("rule 11.8", "{:,} violations", MAX_VIOLATIONS),
    ("rule 11.12", "{:,} MiB, or", MAX_BODY // MEBIBYTE),
    ("rule 11.12", "{:,} MiB for an import", MAX_LINES_BODY // MEBIBYTE),
    ("rule 11.12", "{:,} MiB for a picture", MAX_FILE_BODY // MEBIBYTE),
    ("rule 1.53", "at most {:,} pictures", MAX_A_DAY),
    ("rule 11.30", "more than {:,} GiB behind", MAX_ON_DISK // MEBIBYTE // 1024),
    ("rule 11.32", "has at most {:,} commas", MAX_VALUES),
    ("rule 11.32", "to import has at most {:,} in", MAX_VALUES_OF_LINES),
]


# --- The chapters -------------------------------------------------------------------------------------


def test_chapters_are_numbered_from_1_and_the_index_lists_them_in_order() -> None:
    chapters = contract.chapters()
    index = (ROOT / DOCS / "index.md").read_text(encoding="utf-8")

    assert list(chapters) == list(range(1, len(chapters) + 1))
    listed = re.findall(r"^\| (\d+)\. \[(.+?)\]\((.+?)\)", index, re.MULTILINE)
    assert [(int(number), file) for number, _, file in listed] == [
        (number, path.name) for number, path in chapters.items()
    ]
    for number, title, file in listed:
        assert (ROOT / DOCS / file).read_text(encoding="utf-8").startswith(f"# {number}. {title}\n")


def test_a_number_belongs_to_one_rule_of_its_chapter() -> None:
    numbers = [number for number, _ in contract.numbered()]

    assert len(numbers) > 250
    assert len(numbers) == len(set(numbers))
    for chapter, path in contract.chapters().items():
        text = path.read_text(encoding="utf-8")
        begun = re.findall(r"^\*\*(\S+)\*\*", text, re.MULTILINE)
        assert begun
        assert [number for number in begun if not re.fullmatch(rf"{chapter}\.\d+", number)] == []
        assert set(begun) <= set(numbers)


def test_a_rule_is_a_sentence_and_short() -> None:
    assert [number for number, text in RULES.items() if not A_SENTENCE.fullmatch(text)] == []
    assert [number for number, text in RULES.items() if len(text) > 360] == []


@try_each(("rule", "words", "limit"), LIMITS)
def test_a_limit_in_a_rule_is_that_of_the_code(rule: str, words: str, limit: int) -> None:
    assert words.format(limit) in RULES[rule.removeprefix("rule ")]


def test_the_rule_on_types_of_events_lists_all_of_them() -> None:
    """Rule 9.5."""
    types = re.findall(r"`([a-z_]+\.[a-z]+)`", RULES["9.5"])

    assert types == EventType.values


def test_the_changelog_begins_with_the_version_of_the_interface() -> None:
    changelog = (ROOT / DOCS / "changelog.md").read_text(encoding="utf-8")
    described = (ROOT / "tests/openapi.yml").read_text(encoding="utf-8")

    version = re.search(r"^  version: (\S+)$", described, re.MULTILINE)

    assert version
    assert re.findall(r"^## (\S+)$", changelog, re.MULTILINE)[0] == version[1]


def test_the_glossary_explains_each_word_once() -> None:
    words = re.findall(
        r"^\| \*\*(.+?)\*\* \| (.+) \|$", (ROOT / DOCS / "glossary.md").read_text(), re.MULTILINE
    )

    assert len(words) >= 20
    assert len({word for word, _ in words}) == len(words)
    assert [word for word, meaning in words if not A_SENTENCE.fullmatch(meaning)] == []


# --- Citations ----------------------------------------------------------------------------------------


def test_every_citation_names_a_rule_or_a_chapter_that_exists() -> None:
    known = set(RULES) | {str(number) for number in contract.chapters()}

    assert [each for each in contract.citations() if each.number not in known] == []


def test_nothing_cites_the_documents_before_these() -> None:
    assert contract.earlier_citations() == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project: two chapters, a module and a test."""
    docs, app, tests = tmp_path / DOCS, tmp_path / "surveys", tmp_path / "tests"
    for folder in (docs, app, tests):
        folder.mkdir(parents=True)
    (docs / "states.md").write_text("# 2. States\n\n**2.1** It opens.\n\n**2.2** It\ncloses.\n")
    (docs / "scripts.md").write_text("# 3. Scripts\n\n**3.1** It has blocks.\n\n**3.2** A block is named.\n")
    (docs / "guide.md").write_text("# How to\n\n**9.1** Not a rule.\n")
    return tmp_path


def test_rules_are_found_in_chapters_alone_and_over_several_lines(tree: Path) -> None:
    assert list(contract.numbered(tree)) == [
        ("2.1", "It opens."),
        ("2.2", "It closes."),
        ("3.1", "It has blocks."),
        ("3.2", "A block is named."),
    ]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(rule {}.1)", ["2.1"]),
        ("Rule {}.1 and more. 3.4 is a number.", ["2.1"]),
        ("rules {}.1, 3.1 and 3.2.", ["2.1", "3.1", "3.2"]),
        ("rules {}.1 to 2.4, 3.7", ["2.1", "2.2", "2.3", "2.4", "3.7"]),
        ("rules {}.3 to 2.1", ["2.3", "2.3 to 2.1"]),
        ("rules {}.1 to 3.2", ["2.1", "2.1 to 3.2"]),
        ("chapter {}, chapters 3 and 4", ["2", "3", "4"]),
        ("chapter {}.5 of another book", []),
        ("the rules {} of us", []),
    ],
)
def test_citations_are_read_in_all_their_forms(tree: Path, text: str, numbers: list[str]) -> None:
    (tree / "surveys/module.py").write_text(f'"""{text.format(2)}"""\n')

    found = [each.number for each in contract.citations(tree) if each.file == "surveys/module.py"]

    assert found == numbers


@pytest.mark.parametrize("number", [" 8.8", " 10"])
@pytest.mark.parametrize("document", ["decisions", "Decision", "interface", "interface, section", "("])
def test_a_citation_of_the_documents_before_these_is_found(tree: Path, document: str, number: str) -> None:
    cited = f"{document}{number}" if document != "(" else "(8" + ".8"
    (tree / "surveys/module.py").write_text(f"# As it says in the text {cited}).")

    assert contract.earlier_citations(tree) == [("surveys/module.py", 1, cited)]


def test_the_listing_has_the_rules_that_no_test_cites(tree: Path) -> None:
    two, three = 2, 3  # so that the lists of citations do not contain these
    (tree / "surveys/module.py").write_text(f"# Closes (rule {two}.2).")
    (tree / "tests/test_module.py").write_text(f"# Opens (rules {two}.1 and {three}.2; chapter {three}).")

    assert [number for number, _ in contract.uncited(tree)] == ["2.2", "3.1"]


def test_no_line_ends_within_a_citation(tree: Path) -> None:
    rule = "rule"  # so that the search does not find these
    (tree / "surveys/module.py").write_text(
        f"# Opens ({rule}\n# 2.1) and closes ({rule}s 2.1 and\n# 2.2).\n# It."
    )

    assert contract.broken_citations(tree) == ["surveys/module.py:1", "surveys/module.py:2"]
    assert contract.broken_citations() == []


def test_the_places_of_a_rule_are_listed_with_ranges_and_the_code_first(tree: Path) -> None:
    two = 2  # so that the lists of citations do not contain these
    (tree / "surveys/module.py").write_text(f"# Opens, closes and deletes (rules {two}.1 to {two}.3).")
    (tree / "surveys/other.py").write_text(f"# Opens (rule {two}.1).")
    (tree / "tests/test_module.py").write_text(f"# Opens.\n# Closes (rule {two}.2).")

    assert contract.cited_at("2.2", tree) == ["surveys/module.py:1", "tests/test_module.py:2"]


def test_the_listing_of_this_project_is_part_of_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    contract.main([])

    lines = capsys.readouterr().out.splitlines()
    assert [tuple(line.split("  ", 1)) for line in lines] == contract.uncited()
    assert len(lines) < len(RULES)


# --- For contributors ---------------------------------------------------------------------------------


@try_each("guide", GUIDES)
def test_every_path_in_a_guide_exists(guide: Path) -> None:
    paths = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", guide.read_text(encoding="utf-8")))

    assert len(paths) >= 10
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_there_are_guides_for_block_types_export_formats_and_pages() -> None:
    assert [path.stem for path in GUIDES] == [
        "add-a-block-type",
        "add-a-page-for-staff",
        "add-an-export-format",
    ]


def test_pull_requests_are_checked_by_the_script_that_everybody_runs() -> None:
    workflow = (ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8")

    assert re.search(r"^  pull_request:$", workflow, re.MULTILINE)
    assert re.findall(r"^        run: (.+)$", workflow, re.MULTILINE)[-1] == "bash .ci/run"
    assert (ROOT / ".ci/run").is_file()
