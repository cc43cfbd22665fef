"""SECURITY.md names tests that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
TEXT = (TESTS.parent / "communities" / "SECURITY.md").read_text()


def _named() -> Iterator[tuple[Path, str]]:
    """Each file with a test's name; empty for the file alone. Dots stand for a part of the name."""
    for line in TEXT.splitlines():
        file: Path | None = None
        for found in re.findall(r"`([^`]+)`", line):
            path, colons, name = found.partition("::")
            places = [TESTS / each / path for each in ("communities", "")]
            files = [each.with_name(f"{prefix}{each.name}.py") for each in places for prefix in ("", "test_")]
            here = next((each for each in files if each.exists()), None)
            if here:
                file = here
            if file and (here or re.fullmatch("[a-z_…]+_[a-z_…]+", found)):
                yield file, name if colons or here else found
            assert here or not colons, found


def test_every_test_that_the_table_names_exists() -> None:
    named = list(_named())

    assert len(named) > 70
    for file, name in named:
        pattern = "def test_" + name.replace("…", "[a-z_0-9]*")
        assert re.search(rf"^{pattern}\(" if name else "", file.read_text(), re.MULTILINE), (file, name)


def test_every_requirement_of_the_levels_1_and_2_has_a_row() -> None:
    counts = {
        "6.1": [1, 2, 3],
        "6.2": range(1, 13),
        "6.3": [1, 2, 3, 4],
        "6.4": [1, 2, 3, 4],
        "6.5": [1, 2, 3, 4, 5],
        "6.6": [1, 2, 3],
        "6.8": [1, 2, 3, 4],
        "7.1": [1, 2, 3],
        "7.2": [1, 2, 3, 4],
        "7.3": [1, 2],
        "7.4": [1, 2, 3, 4, 5],
        "7.5": [1, 2],
        "7.6": [1, 2],
        "8.1": [1, 2],
        "8.2": [1, 2, 3],
        "8.3": [1],
        "8.4": [1],
        "10.1": [1, 2],
        "10.2": [1, 2],
        "10.5": [1, 2, 3, 4, 5],
    }
    rows = set()
    for cell in re.findall(r"^\| ([\d., –]+) \|", TEXT, re.MULTILINE):
        for part in cell.split(", "):
            first, _, last = part.partition("–")
            chapter, _, number = first.rpartition(".")
            until = int((last or first).rpartition(".")[2])
            rows |= {f"{chapter}.{each}" for each in range(int(number), until + 1)}

    assert rows == {f"{chapter}.{number}" for chapter, numbers in counts.items() for number in numbers}
