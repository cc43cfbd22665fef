"""The rules of `config/docs`, and their citations.

`python -m tests.support.contract` lists the rules that no test cites.
With numbers, such as `6.61`, it lists the places that cite these rules, also as a part of a range.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = Path("config/docs")
# The files that may have citations: source code, templates, documents and configuration.
FOLDERS = (".ci", ".github", "communities", "config", "surveys", "templates", "tests", "webhooks", "xp")
SUFFIXES = {"", ".css", ".html", ".js", ".json", ".md", ".py", ".sh", ".sql", ".svg", ".toml", ".txt", ".yml"}

_NUMBER = r"\d+\.\d+"
_CHAPTER = re.compile(r"^# (\d+)\. (.+)$", re.MULTILINE)
_RULE = re.compile(rf"^\*\*({_NUMBER})\*\* (.+?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_RULES = re.compile(rf"\brules? ({_NUMBER}(?:(?:,? and |,? or |, | to ){_NUMBER})*)", re.IGNORECASE)
_CHAPTERS = re.compile(r"\bchapters? (\d+(?:(?:,? and |, | to )\d+)*)(?![.\d])", re.IGNORECASE)
_BROKEN = re.compile(rf"\(rules?(?: {_NUMBER}(?:(?:,| and| to) {_NUMBER})*(?:,| and| to))?$", re.IGNORECASE)
# The documents that the chapters have replaced.
_EARLIER = re.compile(
    r"\b(?:decisions?|interface)(?:,? (?:section|rule))? \d+(?:\.\d+)?\b"
    r"|(?<=[a-z] )\((?:1[0-8]|[1-9])\.\d{1,2}(?=[,)])",  # a number alone, in parentheses
    re.IGNORECASE,
)


class Citation(NamedTuple):
    """A rule, such as `6.4`, or a chapter, such as `6`, and the file and line that cite it."""

    number: str
    file: str
    line: int


def chapters(root: Path = ROOT) -> dict[int, Path]:
    """The file of each chapter, by its number."""
    found = {}
    for path in sorted((root / DOCS).glob("*.md")):
        if heading := _CHAPTER.match(path.read_text(encoding="utf-8")):
            found[int(heading[1])] = path
    return dict(sorted(found.items()))


def numbered(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Each rule's number and text, in the order of the chapters."""
    for path in chapters(root).values():
        for number, text in _RULE.findall(path.read_text(encoding="utf-8")):
            yield number, " ".join(text.split())


def citations(root: Path = ROOT, folders: Iterable[str] = FOLDERS) -> Iterator[Citation]:
    """All citations of rules and chapters in these folders, and in files at the top."""
    for file, number, line in _lines(root, folders):
        for listed in _RULES.findall(line):
            yield from (Citation(each, file, number) for each in _expanded(listed, rf"{_NUMBER}"))
        for listed in _CHAPTERS.findall(line):
            yield from (Citation(each, file, number) for each in _expanded(listed, r"\d+"))


def earlier_citations(root: Path = ROOT) -> list[tuple[str, int, str]]:
    """File, line and text of citations of the documents that the chapters have replaced."""
    return [
        (file, number, found)
        for file, number, line in _lines(root, FOLDERS)
        for found in _EARLIER.findall(line)
    ]


def uncited(root: Path = ROOT) -> list[tuple[str, str]]:
    """Number and text of the rules that no test cites by their number."""
    cited = {each.number for each in citations(root, ["tests"]) if each.file.startswith("tests/")}
    return [(number, text) for number, text in numbered(root) if number not in cited]


def _lines(root: Path, folders: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    paths = [path for path in root.iterdir() if path.is_file() and path.name != ".git"]
    for folder in folders:
        paths += (root / folder).rglob("*")
    for path in sorted(paths):
        if path.suffix not in SUFFIXES or "__pycache__" in path.parts or not path.is_file():
            continue
        file = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield file, number, line


def _expanded(listed: str, pattern: str) -> Iterator[str]:
    """Every number of a list; `6.3 to 6.5` is three."""
    for first, last in re.findall(rf"({pattern})(?: to ({pattern}))?", listed):
        yield first
        if last:
            *chapter, start = first.split(".")
            *other, end = last.split(".")
            if chapter != other or int(start) >= int(end):
                yield f"{first} to {last}"  # of two chapters, or backwards: no rule has this number
            else:
                yield from (".".join([*chapter, str(each)]) for each in range(int(start) + 1, int(end) + 1))


def broken_citations(root: Path = ROOT) -> list[str]:
    """The files and lines that end within a citation: the rest of it, on the next line, is not found."""
    return [f"{file}:{number}" for file, number, line in _lines(root, FOLDERS) if _BROKEN.search(line)]


def cited_at(number: str, root: Path = ROOT) -> list[str]:
    """The files and lines that cite this rule: the code first, then the tests and documents."""
    places = [each for each in citations(root) if each.number == number]
    places.sort(key=lambda each: each.file.startswith(("tests/", "config/docs/")))
    return [f"{each.file}:{each.line}" for each in places]


def main(numbers: Iterable[str] = ()) -> None:
    """Print the places that cite each of these rules; without any, the rules that no test cites."""
    rules = dict(numbered())
    lines = [line for each in numbers for line in (f"{each}  {rules[each]}", *cited_at(each))]
    for line in lines or [f"{number}  {text}" for number, text in uncited()]:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
