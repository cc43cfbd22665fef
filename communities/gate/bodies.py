"""Request bodies: reading them within limits, and parsing them as JSON. `ground.wire` writes JSON.

Refuses values that PostgreSQL or other JSON readers cannot store, and names their field. Such values are null
characters, unpaired surrogates, NaN, infinities, and integers beyond 64 bits. The interface leaves the latter
to its fields, which refuse them: so they do no harm where nobody knows the field. Deep nesting is refused,
too.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any

import orjson
from django.http import HttpRequest, UnreadablePostError
from django.urls import Resolver404, resolve
from gunicorn.http.errors import ParseException

from communities.gate.validation import field_violation
from communities.ground.errors import (
    ENOUGH_VIOLATIONS,
    MAX_PATH,
    InvalidRequest,
    Refusal,
    ViolationJson,
    refuse_all,
    violation,
)
from communities.ground.ids import BEYOND_64_BITS, OF_64_BITS
from communities.ground.sent_text import UNSTORABLE, UNSTORABLE_MESSAGE
from communities.ground.words import shortened

MAX_BODY = 1_048_576  # bytes
MAX_FORM = 262_144  # bytes
MAX_FILE_BODY = 3_145_728  # bytes: a picture that is uploaded, as base64
MAX_LINES_BODY = 8_388_608  # bytes: responses that are imported, and a questionnaire that is converted
_PATHS_OF_LARGE_BODIES = ("/v1/", "/admin/", "/mcp")
# An upper bound for the number of values in a body: the number of its commas and opening brackets, also those
# in texts, plus one. In memory, an object takes up to a hundred times its bytes in a body.
MAX_VALUES = 100_000
# A body of MAX_LINES_BODY has at most this many values: 100,000 answers, each with a list of options.
MAX_VALUES_OF_LINES = 500_000
# Objects and lists may be nested this deep. Conditions may be nested 50 deep, and each of them has two
# levels.
MAX_DEPTH = 200
DIGITS_OF_INTEGERS = 18
MOST_DIGITS = 20  # An integer with more is read as BEYOND or -BEYOND, because Python refuses endless ones.
BEYOND = 10**MOST_DIGITS
MEDIA_TYPE = "application/json"
LINES_MEDIA_TYPE = "application/x-ndjson"
TOO_LARGE = "The body is larger than 1 MiB."
TOO_LARGE_FILE = "The body is larger than 3 MiB."
TOO_LARGE_LINES = "The body is larger than 8 MiB."
TOO_DEEP = f"The body is nested more than {MAX_DEPTH} deep."
NOT_JSON = "Content-Type must be application/json in UTF-8."
NOT_LINES = "Content-Type must be application/json or application/x-ndjson in UTF-8."
_IN_UTF_8 = r'\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?'
_MEDIA_TYPES = re.compile(f"application/json{_IN_UTF_8}", re.IGNORECASE)
_LINES_MEDIA_TYPES = re.compile(f"{LINES_MEDIA_TYPE}{_IN_UTF_8}", re.IGNORECASE)
# Values that orjson accepts and that must be refused: null characters, and integers that orjson would round
# to a float.
_SUSPICIOUS = re.compile(rb"\\u0000|[0-9]{19}")
_LONG_INTEGER = re.compile(rb"[0-9]{19}")
_FRACTION = re.compile(rb"[0-9][.eE]")  # matches where a number with a point or an exponent may be
_JSON_TEXT_OR_SIGN = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)|(?P<sign>[\[{,])', re.DOTALL)
_JSON_TEXT = re.compile(
    rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"\s*+(:?)|\Z)', re.DOTALL
)  # and the colon behind a key
_LINES = re.compile(rb"[^\s][^\n]*")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # Many Windows tools begin a file with these bytes.
_PLACE_IN_DATA = re.compile(r"data\[(\d+)\]")
# The names and indexes that lead to a value, the last one first. Only a violation makes a path of them: names
# may be as long as a body, which has many values.
_Place = tuple["_Place", str | int] | None


class TooLarge(Refusal):
    """The body is larger than `MAX_BODY` (rule 11.12)."""


class NotJson(Refusal):
    """The body has another media type, or is compressed (rule 11.12)."""


def limit(path: str, *, size: int) -> int:
    """Return the largest allowed body in bytes at this address. The limit for the interface and the admin is
    larger than for pages.

    A view whose body contains lines or a file allows more. That view is looked up only if the body exceeds
    the usual limit. `size` is the length of the body, or MAX_LINES_BODY for a body in chunks.
    """
    if not path.startswith(_PATHS_OF_LARGE_BODIES):
        return MAX_FORM
    return _limit_of_view(path) if size > MAX_BODY else MAX_BODY


def _limit_of_view(path: str) -> int:
    try:
        view = resolve(path).func
    except Resolver404:
        return MAX_BODY
    if getattr(view, "takes_file", False):  # The attribute belongs to the view of a page.
        return MAX_FILE_BODY
    if getattr(view, "takes_questionnaire", False):
        return MAX_LINES_BODY
    actions: frozenset[str] = frozenset(getattr(view, "actions", {}).values())
    shape = getattr(view, "cls", None)
    if any(actions & getattr(shape, name, frozenset()) for name in ("with_lines", "with_questionnaire")):
        return MAX_LINES_BODY
    return MAX_FILE_BODY if actions & getattr(shape, "with_files", frozenset()) else MAX_BODY


def admit(request: HttpRequest) -> None:
    """Refuse files and bodies that are too large without reading them, and read a body that is sent in
    chunks.

    Django would treat a body without Content-Length as empty. Raises TooLarge, NotJson (for files, at any
    address) or InvalidRequest.
    """
    meta = request.META
    is_chunked = "chunked" in meta.get("HTTP_TRANSFER_ENCODING", "").lower()
    length = 0 if is_chunked else _declared_length(meta.get("CONTENT_LENGTH", ""))
    if not (is_chunked or length):
        return
    if meta.get("CONTENT_TYPE", "").strip().lower().startswith("multipart/"):
        raise NotJson(NOT_JSON)
    most = limit(request.path_info, size=MAX_LINES_BODY if is_chunked else length)
    if is_chunked:
        body = _read_chunks(request, most + 1)
        length = len(body)
        request._body = body
    if length > most:
        raise TooLarge({MAX_LINES_BODY: TOO_LARGE_LINES, MAX_FILE_BODY: TOO_LARGE_FILE}.get(most, TOO_LARGE))


def has_lines(request: HttpRequest) -> bool:
    """Whether the body of a request is lines of JSON, by its media type."""
    return _LINES_MEDIA_TYPES.fullmatch(request.META.get("CONTENT_TYPE", "").strip()) is not None


def read_raw(request: HttpRequest, *, takes_lines: bool = False) -> bytes:
    """Return the raw body of an admitted request, empty if there is none."""
    try:
        raw = request.body
    except UnreadablePostError:
        raise InvalidRequest("The connection closed before the whole body arrived.") from None
    if raw:
        if not (takes_lines and has_lines(request)):
            _require_json(request.META.get("CONTENT_TYPE", ""), NOT_LINES if takes_lines else NOT_JSON)
        _require_uncompressed(request.META.get("HTTP_CONTENT_ENCODING", ""))
    return raw


def _declared_length(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise InvalidRequest("Content-Length must be a number.")
    return int(text.lstrip("0")[:20] or 0)


def _read_chunks(request: HttpRequest, size: int) -> bytes:
    try:
        body: bytes = request.META["wsgi.input"].read(size)
    except (ParseException, OSError):  # gunicorn could not parse a chunk, or the connection closed.
        raise InvalidRequest("The body could not be read.") from None
    return body


def _require_json(content_type: str, message: str) -> None:
    if not _MEDIA_TYPES.fullmatch(content_type.strip()):
        raise NotJson(message)


def _require_uncompressed(content_encoding: str) -> None:
    if content_encoding.strip().lower() not in {"", "identity"}:
        raise NotJson("Content-Encoding is not supported: send the body uncompressed.")


def parse(
    raw: bytes,
    *,
    is_exact: bool = False,
    max_values: int = MAX_VALUES,
    has_long_text: bool = False,
    leaves_integers: bool = False,
) -> dict[str, Any]:
    """Return the JSON object in a body; an empty object if there is no body (rule 11.32).

    A number such as 3.0 is an integer. If the body `is_exact`, other numbers with a point or an exponent are
    Decimals with every digit that was sent. Refuses a key that an object has twice, and a body that may have
    more than `max_values`, before any value is built. If it `has_long_text`, commas and brackets in texts are
    not counted. If it `leaves_integers`, those beyond 64 bits are not refused: the fields do that.
    """
    if not raw:
        return {}
    brackets = require_few_values(raw, max_values=max_values, has_long_text=has_long_text)
    if _SUSPICIOUS.search(raw):
        _refuse_unstorable(raw, leaves_integers=leaves_integers)
    has_long_integers = leaves_integers and _LONG_INTEGER.search(raw) is not None
    read_float = _exact if is_exact else _number
    try:
        value = _load_long(raw, read_float) if has_long_integers else orjson.loads(raw)
    except json.JSONDecodeError as error:  # orjson's error is one, too
        _refuse_other_encodings(raw)
        _refuse_unstorable(raw, leaves_integers=leaves_integers)
        raise InvalidRequest(
            f"The body is not valid JSON: {error.msg}, at line {error.lineno} column {error.colno}."
        ) from None
    if brackets > MAX_DEPTH:
        require_shallow(value)
    if not has_long_integers and _FRACTION.search(raw):
        # The first value is deleted, so that the memory never contains both values at the same time.
        del value
        value = json.loads(raw, parse_float=read_float)
    if type(value) is not dict:
        raise InvalidRequest("The body must be a JSON object.")
    if _count_keys(value) != len([1 for colon in _JSON_TEXT.findall(raw) if colon]):
        _refuse_repeated(raw)
    return value


def _load_long(raw: bytes, read_float: Callable[[str], object]) -> Any:
    """Parse JSON with integers that orjson would round or refuse. Raises JSONDecodeError."""
    try:
        return json.loads(raw.decode(), parse_float=read_float, parse_int=_integer)
    except UnicodeDecodeError:
        return orjson.loads(raw)  # This raises JSONDecodeError.
    except RecursionError:
        raise InvalidRequest(TOO_DEEP) from None


def _integer(digits: str) -> int:
    if len(digits.removeprefix("-")) <= MOST_DIGITS:
        return int(digits)
    beyond: int = BEYOND
    return -beyond if digits.startswith("-") else beyond


def _count_keys(value: object) -> int:
    """The number of keys of all objects in a value."""
    count, rest = 0, [value]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            count += len(part)
            part = part.values()
        rest += [each for each in part if each.__class__ in _CONTAINERS]  # type: ignore[attr-defined]
    return count


_CONTAINERS = (dict, list)


class _Repeated(dict[str, Any]):
    """A JSON object in which the key `name` occurs more than once."""

    name: str


def _refuse_repeated(raw: bytes) -> None:
    """Refuse a body in which an object has a key twice: readers of JSON disagree which value counts."""
    value = json.loads(raw, object_pairs_hook=_object, parse_int=_small)
    violations = list(islice(_repeated(value), ENOUGH_VIOLATIONS))
    if violations:
        refuse_all(violations)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = _Repeated(found)
    names = Counter(name for name, _ in pairs)
    repeated.name = next(name for name, count in names.items() if count > 1)
    return repeated


def _repeated(value: object, place: _Place = None) -> Iterator[ViolationJson]:
    if isinstance(value, _Repeated):
        yield field_violation(_path((place, value.name)), "duplicate", "occurs more than once.")
    for key, part in _parts(value):
        yield from _repeated(part, (place, key))


def _parts(value: object) -> Iterable[tuple[str | int, object]]:
    """The values of an object or a list with their names or indexes; nothing for other values."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _path(place: _Place) -> str:
    """The path of a field with a violation. Long names are cut."""
    parts: list[str] = []
    while place is not None:
        place, key = place
        parts.append(f"[{key}]" if isinstance(key, int) else f".{shortened(key, MAX_PATH)}")
    return "".join(reversed(parts)).removeprefix(".")


def _refuse_other_encodings(raw: bytes) -> None:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise InvalidRequest(
            f"The body is not UTF-8: byte {raw[error.start]:#04x} in line {line}, at byte {column}, fits no "
            "character. Send the text encoded as UTF-8."
        ) from None


def require_few_values(raw: bytes, *, max_values: int, has_long_text: bool) -> int:
    """Refuse JSON that may have more than `max_values`, and return how many opening brackets it may have."""
    brackets = raw.count(b"[") + raw.count(b"{")
    count = brackets + raw.count(b",")
    if count > max_values and has_long_text:
        signs = (found for found in _JSON_TEXT_OR_SIGN.finditer(raw) if found.lastgroup)
        count = sum(1 for _ in islice(signs, max_values + 1))
    if count > max_values:
        raise InvalidRequest(
            f"The body has too many values: at most {max_values:,} commas and opening brackets are read."
        )
    return brackets


def _exact(number: str) -> int | Decimal:
    """A number with a point or an exponent: an integer if that is what it is, else a Decimal."""
    try:
        exact = Decimal(number)
    except InvalidOperation:  # The exponent has more than 18 digits.
        raise InvalidRequest("The body contains a number whose exponent is too long.") from None
    is_short = exact.adjusted() < DIGITS_OF_INTEGERS and len(number) <= 2 * DIGITS_OF_INTEGERS
    return int(exact) if is_short and exact == exact.to_integral_value() else exact


def _number(number: str) -> int | float:
    exact = _exact(number)
    return exact if isinstance(exact, int) else float(number)


@dataclass(frozen=True, slots=True)
class Element:
    """One of many objects in a body, from line 1 on.

    `path` is the path of the object in the body; `violations` are the reasons why the element is not an
    object.
    """

    line: int
    path: str
    value: dict[str, Any]
    violations: Sequence[ViolationJson] = ()


class TooManyElements(Exception):
    """A body has more elements than the caller accepts. No element was checked."""


def parse_lines(raw: bytes, *, most: int) -> Iterator[Element]:
    """Return the JSON objects of all lines that are not blank, one after the other.

    Blank lines count as lines; a byte order mark does not. Raises TooManyElements at once.
    """
    raw = raw.removeprefix(_BYTE_ORDER_MARK)
    if next(islice(_LINES.finditer(raw), most, None), None) is not None:
        raise TooManyElements
    return _elements_of_lines(raw)


def _elements_of_lines(raw: bytes) -> Iterator[Element]:
    line, end = 1, 0
    for found in _LINES.finditer(raw):
        line += raw.count(b"\n", end, found.start())
        end = found.start()
        yield _element(found.group(), line)


def _element(raw: bytes, line: int) -> Element:
    try:
        return Element(line, "", parse(raw, is_exact=True, leaves_integers=True))
    except InvalidRequest as refused:
        message = refused.message.replace("The body", "The line").replace(", at line 1 column", ", at column")
        violations = refused.violations or [violation("", "invalid", message)]
        return Element(line, "", {}, violations)


def parse_elements(raw: bytes, *, most: int) -> Iterator[Element]:
    """Return the objects in `data` of a JSON object, one after the other. The n-th has the line n.

    Raises InvalidRequest at once for a body without such a list, and TooManyElements.
    """
    try:
        body = parse(
            raw.removeprefix(_BYTE_ORDER_MARK),
            is_exact=True,
            max_values=MAX_VALUES_OF_LINES,
            leaves_integers=True,
        )
    except InvalidRequest as refused:
        for each in refused.violations:
            if (place := _PLACE_IN_DATA.match(each["field"])) is not None:
                each["line"] = int(place.group(1)) + 1
        raise
    data = body.get("data")
    if not isinstance(data, list):
        code, words = ("invalid_type", "must be a list.") if "data" in body else ("required", "is required.")
        refuse_all([field_violation("data", code, words)])
    if len(data) > most:
        raise TooManyElements
    return (_element_of_list(each, n) for n, each in enumerate(data))


def _element_of_list(value: object, index: int) -> Element:
    path = f"data[{index}]"
    if isinstance(value, dict):
        return Element(index + 1, path, value)
    return Element(index + 1, path, {}, [field_violation(path, "invalid_type", "must be an object.")])


def require_shallow(value: object) -> None:
    """Refuse nesting that is too deep. One branch is visited after the other, so that memory grows only with
    the depth.
    """
    branch: list[Iterator[object]] = [iter((value,))]
    while branch:
        for part in branch[-1]:
            if not isinstance(part, dict | list):
                continue
            if len(branch) > MAX_DEPTH:
                raise InvalidRequest(TOO_DEEP)
            branch.append(iter(part.values() if isinstance(part, dict) else part))
            break
        else:
            branch.pop()


def _refuse_unstorable(raw: bytes, *, leaves_integers: bool) -> None:
    """Parse again with Python's lenient parser, to name the fields whose values cannot be stored
    (rule 1.9).
    """
    try:
        value = json.loads(raw.decode("utf-8"), parse_int=_small if leaves_integers else _integer)
    except (ValueError, RecursionError):
        return
    require_shallow(value)
    violations = list(islice(_unstorable(value), ENOUGH_VIOLATIONS))
    if violations:
        refuse_all(violations)


def _small(digits: str) -> int:
    """In place of an integer that the fields check."""
    return 0


def _unstorable(value: object, place: _Place = None) -> Iterator[ViolationJson]:
    if isinstance(value, str) and UNSTORABLE.search(value):
        yield field_violation(_path(place), "invalid", UNSTORABLE_MESSAGE)
    elif isinstance(value, float) and not math.isfinite(value):
        yield field_violation(_path(place), "invalid", "must be a finite number.")
    elif isinstance(value, int) and value not in OF_64_BITS:
        code = "too_large" if value > 0 else "too_small"
        yield field_violation(_path(place), code, BEYOND_64_BITS)
    for key, part in _parts(value):
        if isinstance(key, str) and UNSTORABLE.search(key):
            words = "must be a name without null characters."
            yield field_violation(UNSTORABLE.sub("?", _path((place, key))), "invalid", words)
        else:
            yield from _unstorable(part, (place, key))
