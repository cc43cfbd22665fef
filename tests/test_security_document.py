"""The security document names tests and files that exist, and has a row for each requirement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
TEXT = (ROOT / ".github" / "SECURITY.md").read_text()
FILES = sorted(TESTS.rglob("*.py"), key=lambda path: (len(path.parts), path))
# Chapter and section: how many requirements of the levels 1 and 2 it has; those of level 3 follow them.
REQUIREMENTS = (
    "1.1: 2, 1.2: 9, 1.3: 11, 1.4: 3, 1.5: 2, 2.1: 3, 2.2: 3, 2.3: 4, 2.4: 1, 3.2: 2, 3.3: 4, 3.4: 6, "
    "3.5: 5, 3.7: 2, 4.1: 3, 4.2: 1, 4.3: 2, 4.4: 4, 5.1: 1, 5.2: 3, 5.3: 2, 5.4: 3, 6.1: 3, 6.2: 12, "
    "6.3: 4, 6.4: 4, 6.5: 5, 6.6: 3, 6.8: 4, 7.1: 3, 7.2: 4, 7.3: 2, 7.4: 5, 7.5: 2, 7.6: 2, 8.1: 2, "
    "8.2: 3, 8.3: 1, 8.4: 1, 9.1: 3, 9.2: 4, 10.1: 2, 10.2: 2, 10.3: 4, 10.4: 11, 10.5: 5, 10.6: 2, "
    "10.7: 3, 11.1: 2, 11.2: 3, 11.3: 3, 11.4: 4, 11.5: 1, 11.6: 1, 12.1: 3, 12.2: 2, 12.3: 4, "
    "13.1: 1, 13.2: 5, 13.3: 2, 13.4: 5, 14.1: 2, 14.2: 4, 14.3: 3, 15.1: 3, 15.2: 3, 15.3: 7, "
    "16.1: 1, 16.2: 5, 16.3: 4, 16.4: 3, 16.5: 3, 17.1: 1, 17.2: 4, 17.3: 2"
)


def _rows() -> list[list[str]]:
    """The cells of each requirement's row: numbers, requirement, measure, tests."""
    lines = [line for line in TEXT.splitlines() if re.match(r"\| \d", line)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def _named() -> Iterator[tuple[Path, str]]:
    """Each file with a test's name; empty for the file alone. Later names of a cell are of its last file."""
    for line in TEXT.splitlines():
        file: Path | None = None
        for found in re.findall(r"`([^`]+)`", line):
            path, colons, name = found.partition("::")
            here = _file(path) if re.match(r"(\w+/)*test_\w+$", path) else None
            file = here or file
            assert here or not colons, found
            if file and (here or re.fullmatch("[a-z_…]+_[a-z_…]+", found)):
                yield file, name if here else found


def _file(path: str) -> Path | None:
    return next((each for each in FILES if each.with_suffix("").as_posix().endswith(f"/{path}")), None)


def test_every_test_that_the_document_names_exists() -> None:
    named = list(_named())

    assert len(named) > 150
    for file, name in named:
        pattern = r"^\s*def test_" + name.replace("…", "[a-z_0-9]*")
        assert re.search(rf"{pattern}\(" if name else "", file.read_text(), re.MULTILINE), (file, name)


def test_every_file_and_folder_that_the_document_names_exists() -> None:
    paths = set(re.findall(r"`((?:[\w.-]+/)*[\w.-]*(?:\.(?:py|md|txt)|/))`", TEXT))

    assert len(paths) > 50
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_requirement_of_the_levels_1_and_2_has_one_row() -> None:
    expected = [
        f"{section}.{number + 1}"
        for section, count in re.findall(r"(\d+\.\d+): (\d+)", REQUIREMENTS)
        for number in range(int(count))
    ]
    rows: list[str] = []
    for cells in _rows():
        for part in cells[0].split(", "):
            first, _, last = part.partition("–")
            section, _, number = first.rpartition(".")
            until = int((last or first).rpartition(".")[2])
            rows += [f"{section}.{each}" for each in range(int(number), until + 1)]

    assert sorted(rows) == sorted(expected)


def test_a_row_without_a_test_says_why() -> None:
    for numbers, _, held_by, tests in _rows():
        assert "`" in tests or tests == "*none here*" or "**Not met**" in held_by, numbers
