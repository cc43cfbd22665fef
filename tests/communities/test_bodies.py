"""Request bodies: accepted ones, and refusals of all others (rules 1.9, 11.6 and 11.12)."""

import time
import tracemalloc
from contextlib import suppress
from io import BytesIO
from typing import Any

import orjson
import pytest
from django.core.handlers.wsgi import WSGIRequest
from gunicorn.http.body import Body, ChunkedReader
from gunicorn.http.unreader import IterUnreader

from communities.gate.bodies import (
    MAX_BODY,
    MAX_DEPTH,
    MAX_FILE_BODY,
    MAX_FORM,
    MAX_LINES_BODY,
    MAX_VALUES,
    MAX_VALUES_OF_LINES,
    NotJson,
    TooLarge,
    admit,
    parse,
    parse_lines,
    read_raw,
)
from communities.ground import wire
from communities.ground.errors import MAX_PATH, MAX_VIOLATIONS, InvalidRequest
from communities.models import CommunitySettings
from tests.support.api_requests import ask
from tests.support.caller import Caller, faults, refusal
from tests.support.cases import try_each


@pytest.fixture
def caller(db: None) -> Caller:
    return Caller()


def patch(caller: Caller, body: bytes, **options: object) -> Any:
    path = f"/v1/communities/{caller.community.pk}/settings"
    return ask("PATCH", path, key=caller.secret, body=body, **options)  # type: ignore[arg-type]


def named(text: str) -> bytes:
    """A body with this JSON text as the name of XP."""
    return b'{"xp_name": ' + text.encode() + b"}"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"{", "line 1 column 2"),
        (b'{\n "a": 1,\n "b" 2}', "line 3 column 6"),
        (b"not json", "line 1"),
        (b"{'a': 1}", "line 1 column 2"),
        (b'{"a": 1,}', "line 1"),
        (b'{"a": 1} {"b": 2}', "line 1"),
        (b"\xff\xfe", "line 1"),
        (b'{"a": "\xc3\x28"}', "line 1"),
        (b"\xef\xbb\xbf{}", "line 1"),
        ('{"a": 1}'.encode("utf-16"), "line 1"),
        (b'{"a": "\n"}', "line 1"),
        (b'{"a": 0x10}', "line 1"),
        (b'{"a": 01}', "line 1"),
        (b" ", "line 1"),
    ],
)
def test_malformed_json_is_refused_with_its_position(caller: Caller, body: bytes, place: str) -> None:
    answer = patch(caller, body)

    assert refusal(answer) == (400, "invalid_request")
    assert place in answer.json()["message"]


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"1", b"null", b"true", b'[{"a": 1}]'])
def test_anything_but_an_object(caller: Caller, body: bytes) -> None:
    answer = patch(caller, body)

    assert refusal(answer) == (400, "invalid_request")
    assert answer.json()["message"] == "The body must be a JSON object."


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        (named("NaN"), "xp_name", "invalid"),
        (named("Infinity"), "xp_name", "invalid"),
        (named("-Infinity"), "xp_name", "invalid"),
        (named("1e400"), "xp_name", "invalid"),
        (named(r'"a\u0000b"'), "xp_name", "invalid"),
        (named(r'"\ud800"'), "xp_name", "invalid"),
        (named(r'"\udc00\ud800"'), "xp_name", "invalid"),
        (b'{"xp_per_question": 9223372036854775808}', "xp_per_question", "too_large"),
        (b'{"xp_per_question": -9223372036854775809}', "xp_per_question", "too_small"),
        (b'{"xp_per_question": 18446744073709551616}', "xp_per_question", "too_large"),
        (b'{"xp_per_question": 1%b}' % (b"0" * 5000), "xp_per_question", "too_large"),
        (named("18446744073709551616"), "xp_name", "invalid_type"),
        (b'{"unknown": {"deep": [1, NaN]}}', "unknown.deep[1]", "invalid"),
        (b'{"unknown": [{"deep": "\\u0000"}]}', "unknown[0].deep", "invalid"),
        (b'{"a\\u0000b": 1}', "a?b", "invalid"),
        (b'{"\\ud800": 1}', "?", "invalid"),
    ],
)
def test_values_that_cannot_be_stored_are_refused_by_field(
    caller: Caller, body: bytes, field: str, code: str
) -> None:
    answer = patch(caller, body)

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {(field, code)}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b'{"name": "a", "name": "b"}', ["name"]),
        (b'{"a": {"b": 1, "b": 1}, "c": [{}, {"d": 1, "\\u0064" : 2}]}', ["a.b", "c[1].d"]),
        (b'{"a": "\\"b\\": {", "b": ":", "c" :{"a":"\\\\"}}', []),
    ],
)
def test_a_key_that_an_object_has_twice_is_refused_by_name(body: bytes, fields: list[str]) -> None:
    """Rule 11.46."""
    if not fields:
        parse(body)
        return
    with pytest.raises(InvalidRequest) as refused:
        parse(body)

    assert [(each["field"], each["code"]) for each in refused.value.violations] == [
        (field, "duplicate") for field in fields
    ]


@pytest.mark.parametrize("is_exact", [False, True])
def test_a_number_without_a_fraction_is_an_integer(is_exact: bool) -> None:
    """Rule 11.46."""
    read = parse(b'{"a": -15179.0, "b": 1e3, "c": 1.5, "e": 10000000000000000000.0}', is_exact=is_exact)

    assert {key: type(read[key]) for key in "ab"} == {"a": int, "b": int}
    assert (read["a"], read["b"], float(read["c"])) == (-15179, 1000, 1.5)
    assert all(type(read[key]) is not int for key in "ce")


def test_a_body_in_another_encoding_is_refused_with_the_place() -> None:
    """Rule 11.46."""
    with pytest.raises(InvalidRequest) as refused:
        parse(b'{"a":\n "M\xfcnze"}')

    assert "not UTF-8: byte 0xfc in line 2, at byte 4" in refused.value.message


def test_all_values_that_cannot_be_stored_are_refused_at_once(caller: Caller) -> None:
    answer = patch(caller, b'{"xp_name": "\\u0000", "locale": NaN, "x": 1e999}')

    assert {field for field, _ in faults(answer)} == {"xp_name", "locale", "x"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\\u0000"', r"\u0000"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        ('"1234567890123456789012345"', "1234567890123456789012345"),
        ('"[{[{"', "[{[{"),
    ],
)
def test_values_that_only_look_bad_are_accepted(caller: Caller, text: str, value: str) -> None:
    answer = patch(caller, named(text))

    assert answer.json()["xp_name"] == value


@try_each("exponent", ["-99999999999999999999", "99999999999999999999"])
def test_a_number_with_an_endless_exponent_is_refused(exponent: str) -> None:
    with pytest.raises(InvalidRequest):
        parse(b'{"value": 1e%b}' % exponent.encode(), is_exact=True)


def memory_of_parsing(body: bytes) -> tuple[int, int]:
    """Bytes that the parsed body takes, and the most that were taken on the way."""
    tracemalloc.start()
    try:
        value = parse(body, is_exact=True, max_values=MAX_VALUES_OF_LINES)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert value
    return held, most


@pytest.mark.long
@pytest.mark.parametrize("element", [b'{"":1.5}', b"{}", b"[1.5]"])
def test_no_body_is_held_twice_and_its_memory_has_a_bound(element: bytes) -> None:
    body = b'{"data":[1.5,' + b",".join([element] * (MAX_VALUES_OF_LINES // 2 - 2)) + b"]}"

    held, most = memory_of_parsing(body)

    assert most < 1.6 * held  # a list takes more while it grows
    assert most < 120_000_000


@pytest.mark.parametrize("part", [b"1,", b"[],", b"{},", b'",,,,,,,,",'])
def test_a_body_with_too_many_values_is_refused_before_any_is_built(
    part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 11.32."""
    monkeypatch.setattr(orjson, "loads", lambda _: pytest.fail("The body was parsed."))

    with pytest.raises(InvalidRequest, match="too many values: at most 100,000"):
        parse(b'{"data":[' + part * MAX_VALUES + b"1]}")


@try_each("why", [b'"x":"\\\\u0000"', b'"x":1,"x":2', b'"x":"\\u0000"'])
def test_a_name_as_long_as_the_body_costs_nothing_for_each_value(why: bytes) -> None:
    """Rule 11.840."""
    body = b"{" + why + b',"' + b"k" * 2_000_000 + b'":[' + b"0," * 50_000 + b"0]}"

    begun = time.thread_time()
    with suppress(InvalidRequest):
        parse(body)

    assert time.thread_time() - begun < 1


@try_each(
    "body",
    [
        b'{"x":1,"x":2,"%s":{"a":1,"a":2}}',
        b'{"x":"\\u0000","%s":["\\u0000"]}',
        b'{"%s\\u0000":1,"x":"\\u0000"}',
    ],
)
def test_long_names_are_cut_in_paths(body: bytes) -> None:
    """Rules 11.8 and 11.840."""
    with pytest.raises(InvalidRequest) as refused:
        parse(body % (b"k" * 2_000))

    paths = [each["field"] for each in refused.value.violations]
    assert "x" in paths
    assert max(map(len, paths)) == MAX_PATH


def test_each_line_has_the_limit_of_values_of_a_body() -> None:
    """Rule 11.32."""
    wide = b'{"answers":[' + b"1," * MAX_VALUES + b"1]}"

    first, second = parse_lines(wide + b'\n{"answers":[]}', most=2)

    assert "The line has too many values" in first.violations[0]["message"]
    assert (second.value, second.violations) == ({"answers": []}, ())


@try_each("number", [2**63 - 1, -(2**63), 1.5e300])
def test_numbers_of_64_bits_are_read(number: float) -> None:
    assert parse(orjson.dumps({"a": number})) == {"a": number}


@try_each("digits", ["9223372036854775808", "-9223372036854775809", "1" * 21, "-" + "9" * 400, "1" * 5000])
def test_an_integer_beyond_64_bits_in_an_unknown_field_is_ignored(caller: Caller, digits: str) -> None:
    """Rule 11.84."""
    body = f'{{"xp_name": "Tempi", "a": {digits}, "b": {{"c": [1.5, {digits}]}}}}'

    answer = patch(caller, body.encode())

    assert (answer.status_code, answer.json()["xp_name"]) == (200, "Tempi")
    assert answer["X-Ignored-Fields"] == "a, b"


def test_long_integers_hide_no_other_fault(caller: Caller) -> None:
    """Rule 11.84."""
    long = "9" * 30
    for body, field in (
        (f'{{"a": {long}, "xp_name": "\\u0000"}}', "xp_name"),
        (f'{{"a": {long}, "xp_name": NaN}}', "xp_name"),
        (f'{{"a": {long}, "a": {long}}}', "a"),
        (f'{{"a": {long}, "xp_name": "\xff"}}', None),
        (f'{{"a": {long}, }}', None),
        (f'{{"a": {long}, "b": {"[" * 5000}{"]" * 5000}}}', None),
    ):
        answer = patch(caller, body.encode("latin-1"))

        assert refusal(answer) == (400, "invalid_request"), body[:60]
        assert {name for name, _ in faults(answer)} == ({field} if field else set())


@pytest.mark.parametrize("open_and_shut", [(b'{"a":', b"}"), (b"[", b"]")])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 10_000, 100_000])
def test_nesting_that_is_too_deep_is_refused(
    caller: Caller, open_and_shut: tuple[bytes, bytes], depth: int
) -> None:
    first, last = open_and_shut
    body = b'{"xp_name": ' + first * (depth - 1) + b"1" + last * (depth - 1) + b"}"

    assert refusal(patch(caller, body)) == (400, "invalid_request")


def test_nested_just_not_too_deep() -> None:
    assert parse(b'{"a": ' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}")

    with pytest.raises(InvalidRequest, match="nested more than 200 deep"):
        parse(b'{"a": ' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}")


def test_many_brackets_beside_each_other_are_not_deep() -> None:
    assert parse(b'{"a": [' + b",".join([b"[]"] * 1_000) + b"]}")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        'Application/JSON;charset="UTF-8"',
        "application/json ; charset=utf8",
    ],
)
def test_json_by_its_names(caller: Caller, content_type: str) -> None:
    """Rule 11.1."""
    assert patch(caller, named('"Tempi"'), content_type=content_type).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "application/jsonp",
        "application/merge-patch+json",
    ],
)
def test_other_media_types_are_refused(caller: Caller, content_type: str) -> None:
    """Rule 11.1."""
    answer = patch(caller, named('"Tempi"'), content_type=content_type)

    assert refusal(answer) == (415, "invalid_request")
    assert CommunitySettings.objects.get(pk=caller.community.pk).xp_name == "XP"


def test_compressed_bodies_are_refused(caller: Caller) -> None:
    answer = patch(caller, named('"Tempi"'), headers={"Content-Encoding": "gzip"})

    assert refusal(answer) == (415, "invalid_request")


def test_no_body_is_an_empty_object(caller: Caller) -> None:
    assert patch(caller, b"", content_type="").status_code == 200
    assert patch(caller, b"", content_type="text/plain").status_code == 200


def test_a_body_that_no_action_reads_has_to_be_json_all_the_same(caller: Caller) -> None:
    path = f"/v1/communities/{caller.community.pk}/api_keys/1"

    assert refusal(ask("DELETE", path, key=caller.secret, body=b"{"))[0] == 400
    assert refusal(ask("DELETE", path, key=caller.secret, body=b"x", content_type="text/plain"))[0] == 415
    assert refusal(ask("DELETE", path, key=caller.secret, body=b"{}"))[0] == 404


def test_the_body_of_a_read_means_nothing(caller: Caller) -> None:
    answer = ask("GET", "/v1/communities", key=caller.secret, body=b"{", content_type="text/plain")

    assert answer.status_code == 200


def test_one_mebibyte_and_a_byte_more(caller: Caller) -> None:
    frame = len(named('""'))

    assert refusal(patch(caller, named('"' + "x" * (MAX_BODY - frame) + '"')))[0] == 400
    assert refusal(patch(caller, named('"' + "x" * (MAX_BODY - frame + 1) + '"'))) == (413, "invalid_request")


# --- Lines of JSON ---------------------------------------------------------------------------------


def test_each_line_that_is_not_blank_is_an_object_with_its_number() -> None:
    lines = list(parse_lines(b' \n{"a": 1}\r\n\n\t\n  {"b": 2}  \n{"c": 3}', most=10))

    assert [(each.line, each.value) for each in lines] == [(2, {"a": 1}), (5, {"b": 2}), (6, {"c": 3})]


@try_each("text", [b"", b"\n", b" \r\n\t"])
def test_blank_lines_alone_are_nothing(text: bytes) -> None:
    assert list(parse_lines(text, most=10)) == []


def test_a_line_that_cannot_be_read_does_not_hide_the_next() -> None:
    deep = b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)
    texts = [b"{", b"[1]", b'{"a": %s}' % deep, b'{"a": "\\u0000"}', b'{"a": 1}']

    lines = list(parse_lines(b"\n".join(texts), most=10))

    assert [(each.line, [fault["field"] for fault in each.violations]) for each in lines] == [
        (1, [""]),
        (2, [""]),
        (3, [""]),
        (4, ["a"]),
        (5, []),
    ]
    assert [each.violations[0]["message"] for each in lines[1:3]] == [
        "The line must be a JSON object.",
        f"The line is nested more than {MAX_DEPTH} deep.",
    ]


def test_very_many_values_that_cannot_be_stored_are_not_all_named() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(b'{"a": [' + b"NaN," * (MAX_VIOLATIONS + 5) + b"1]}")

    assert len(refused.value.violations) == MAX_VIOLATIONS


class Stream(BytesIO):
    """A body that counts how much of it was read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.was_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        part = super().read(size)
        self.was_read += len(part)
        return part


def streamed(stream: BytesIO, **meta: str) -> WSGIRequest:
    base = {"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/", "CONTENT_TYPE": "application/json"}
    return WSGIRequest({**base, "wsgi.input": stream, **meta})


def test_a_body_in_chunks_is_read() -> None:
    request = streamed(Stream(b'{"a": 1}'), HTTP_TRANSFER_ENCODING="chunked")

    admit(request)

    assert read_raw(request) == read_raw(request) == b'{"a": 1}'


@try_each(
    ("path", "most"),
    [
        ("/v1/", MAX_BODY),
        ("/v1/communities/1/projects/2/responses", MAX_LINES_BODY),
        ("/v1/communities/1/projects/2/responses/", MAX_BODY),
        ("/v1/communities/1/pictures", MAX_FILE_BODY),
        ("/admin/picture/upload/", MAX_FILE_BODY),
        ("/v1/communities/1/projects/2/responses/export", MAX_BODY),
        ("/v1/communities/1/projects/x/responses", MAX_BODY),
        ("/x/v1/communities/1/projects/2/responses", MAX_FORM),
        ("/admin/x", MAX_BODY),
        ("/s/x", MAX_FORM),
        ("/", MAX_FORM),
    ],
)
def test_of_a_body_that_is_too_large_no_more_is_read_than_has_to_be(path: str, most: int) -> None:
    in_chunks, declared = Stream(b" " * 2 * MAX_LINES_BODY), Stream(b" " * 2 * MAX_LINES_BODY)

    admit(streamed(Stream(b" " * most), HTTP_TRANSFER_ENCODING="chunked", PATH_INFO=path))
    admit(streamed(Stream(b""), CONTENT_LENGTH=str(most), PATH_INFO=path))
    with pytest.raises(TooLarge):
        admit(streamed(in_chunks, HTTP_TRANSFER_ENCODING="Chunked", PATH_INFO=path))
    with pytest.raises(TooLarge):
        admit(streamed(declared, CONTENT_LENGTH=str(most + 1), PATH_INFO=path))

    assert in_chunks.was_read == most + 1
    assert declared.was_read == 0


@try_each("framing", [{"CONTENT_LENGTH": "9"}, {"HTTP_TRANSFER_ENCODING": "chunked"}])
@try_each("content_type", ["multipart/form-data; boundary=x", " Multipart/Mixed"])
def test_files_are_refused_unread(framing: dict[str, str], content_type: str) -> None:
    files = Stream(b" " * 9)

    with pytest.raises(NotJson):
        admit(streamed(files, CONTENT_TYPE=content_type, **framing))

    assert files.was_read == 0


@try_each("path", ["/s/no-such-page", "/r/no-such-page", "/admin/login/", "/docs", "/nowhere"])
@try_each(
    ("content_type", "size", "status", "words"),
    [
        ("application/x-www-form-urlencoded", MAX_BODY + 1, 413, "too much to read"),
        ("multipart/form-data; boundary=x", 100, 415, "cannot take files"),
    ],
)
def test_pages_refuse_large_forms_and_files_before_any_query_session_or_cookie(
    path: str, content_type: str, size: int, status: int, words: str
) -> None:
    """Without the database: a query would be an error here."""
    answer = ask("POST", path, body=b"x" * size, content_type=content_type)

    assert answer.status_code == status
    assert words in answer.content.decode()
    assert not answer.cookies
    assert int(answer["Content-Length"]) == len(answer.content)
    assert "Content-Security-Policy" in answer


@try_each("length", ["-1", "x", "1.5", "²"])
def test_a_length_that_is_no_number(length: str) -> None:
    with pytest.raises(InvalidRequest):
        admit(streamed(Stream(b"{}"), CONTENT_LENGTH=length))


def test_zeros_before_a_length_do_not_hide_it() -> None:
    with pytest.raises(TooLarge):
        admit(streamed(Stream(b"{}"), CONTENT_LENGTH="0" * 30 + str(MAX_BODY + 1)))


def test_a_body_that_breaks_off() -> None:
    with pytest.raises(InvalidRequest, match=r"The connection closed before the whole body arrived\."):
        read_raw(streamed(Broken(OSError()), CONTENT_LENGTH="10"))


class Broken(BytesIO):
    """A body whose reading raises an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def read(self, size: int | None = -1, /) -> bytes:
        raise self.error


@try_each(
    "sent",
    [
        b"5\r\n{}",  # ends within the chunk
        b"x\r\n{}\r\n0\r\n\r\n",  # a size that is no number
        b"2\r\n{}AB0\r\n\r\n",  # a chunk longer than its size
        b"2;=\r\n{}\r\n0\r\n\r\n",  # a malformed extension
        b"2\r\n{}\r\n0\r\n",  # no end after the last chunk
        b"",
    ],
)
def test_chunks_that_gunicorn_cannot_parse_are_the_callers_fault(sent: bytes) -> None:
    stream = Body(ChunkedReader(None, IterUnreader(iter([sent]))))

    with pytest.raises(InvalidRequest, match=r"The body could not be read\."):
        admit(streamed(stream, HTTP_TRANSFER_ENCODING="chunked"))


@try_each("error", [OSError(), ConnectionResetError(), TimeoutError()])
def test_a_connection_that_breaks_within_chunks_is_the_callers_fault(error: OSError) -> None:
    with pytest.raises(InvalidRequest, match=r"The body could not be read\."):
        admit(streamed(Broken(error), HTTP_TRANSFER_ENCODING="chunked"))


@try_each("error", [RuntimeError(), MemoryError(), TypeError(), ValueError()])
def test_an_error_of_ours_while_chunks_are_read_is_not_blamed_on_the_caller(error: Exception) -> None:
    with pytest.raises(type(error)):
        admit(streamed(Broken(error), HTTP_TRANSFER_ENCODING="chunked"))


def test_an_error_of_ours_while_chunks_are_read_is_a_500(caller: Caller) -> None:
    stream = Broken(RuntimeError())

    answer = patch(caller, b"{}", **{"wsgi.input": stream, "HTTP_TRANSFER_ENCODING": "chunked"})

    assert refusal(answer) == (500, "internal_error")


def test_a_value_that_json_cannot_represent_is_an_error_of_ours() -> None:
    with pytest.raises(TypeError):
        wire.render({"a": object()})
