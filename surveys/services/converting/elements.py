"""Elements of XML in files of others, one after the other and within limits. No tree is built of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from xml.parsers.expat import ExpatError, ParserCreate

from surveys.services.converting.questionnaire import unreadable

MAX_DEPTH = 32
MAX_NAMES = 5_000  # different names of elements and attributes: the parser keeps each name
MAX_TAG = 262_144  # bytes of a tag or comment, which the parser keeps as a whole
MAX_TEXT = 131_072  # characters of one element; what follows is left out
PIECE = 65_536  # bytes

Path = Sequence[str]  # the names of an element and of those around it, without prefixes
FAULTS = (ExpatError, ValueError, LookupError)  # of XML, and of its encoding


class Reader:
    """Reads the elements of one document that have the names in `wanted`; without these, of all."""

    wanted: Container[str] = ()

    def start(self, path: Path, attributes: Mapping[str, str]) -> None:
        """Read the attributes of an element."""

    def end(self, path: Path, text: str) -> None:
        """Read the text of an element, which is the text after the last element in it."""


class Elements:
    """Counts the elements and attributes of a file, which may have several documents."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.count = 0

    def walk(self, pieces: Iterable[bytes], reader: Reader) -> None:
        """Let the reader read the elements of a document. Raises one of FAULTS if the document is no XML.

        Refuses too many elements, deep nesting, and document types, without which there are no entities.
        """
        path: list[str] = []
        text: list[str] = []
        room = MAX_TEXT
        names: dict[str, str] = {}
        most, wanted, start, end = self._most, reader.wanted, reader.start, reader.end

        def opened(name: str, attributes: dict[str, str]) -> None:
            nonlocal room
            self.count += 1 + len(attributes)
            if self.count > most:
                unreadable(f"must have at most {most:,} elements and attributes.")
            if len(path) == MAX_DEPTH:
                unreadable(f"must not have elements nested more than {MAX_DEPTH} deep.")
            if ":" in name:
                name = name.rpartition(":")[2]
            path.append(name)
            text.clear()
            room = MAX_TEXT
            if not wanted or name in wanted:
                start(path, attributes)

        def closed(_: str) -> None:
            if not wanted or path[-1] in wanted:
                end(path, "".join(text))
            path.pop()
            text.clear()

        def written(data: str) -> None:
            nonlocal room
            if room > 0:
                text.append(data[:room])
                room -= len(data)

        parser = ParserCreate(intern=names)
        parser.buffer_text = True
        parser.buffer_size = PIECE
        parser.StartDoctypeDeclHandler = _refuse_document_type
        parser.StartElementHandler = opened
        parser.EndElementHandler = closed
        parser.CharacterDataHandler = written
        size = 0
        for piece in pieces:
            parser.Parse(piece, False)
            size += len(piece)
            if len(names) > MAX_NAMES or size - parser.CurrentByteIndex > MAX_TAG:
                unreadable(f"must have at most {MAX_NAMES:,} names of elements, and shorter tags.")
        parser.Parse(b"", True)


def local(attributes: Mapping[str, str], name: str) -> str:
    """An attribute whose prefix is unknown; empty without one."""
    return next((value for key, value in attributes.items() if key.rpartition(":")[2] == name), "")


def _refuse_document_type(*_: object) -> None:
    unreadable("must be XML without entities and document types.")
