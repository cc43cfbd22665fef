"""The export over HTTP: its permissions, its file name, and its end after a failure."""

import json
import re
from urllib.parse import unquote

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import OperationalError, close_old_connections
from django.test import RequestFactory

from communities.gate.downloads import DownloadAborted, File, attachment
from surveys.models import Project
from surveys.services.exports import service as exports
from surveys.services.responses import service as responses
from tests.support.api_requests import RATE_HEADERS
from tests.support.caller import Caller, refusal
from tests.support.cases import try_each
from tests.support.surveys import scenario
from tests.support.surveys.exports import answered, lines, sheets
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db
FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "sav": "application/x-spss-sav",
}
PACKED = ("xlsx", "parquet", "sav")


@pytest.fixture(scope="module")
def admin(kept_rows):
    return Caller("admin")


def project(caller, **fields):
    return scenario.project(CHOICE, TEXT, **{"community": caller.community, "author": caller.user, **fields})


@pytest.fixture(scope="module")
def made(admin):
    return project(admin)


@pytest.fixture(scope="module")
def three(made):
    told = [
        answered(made, 0, "a", who="ann"),
        answered(made, 1, who="bob"),
        answered(made, 0, "b", who="ann"),
    ]
    return [str(each.conversation.pk) for each in told]


def export(caller, made, query="", **headers):
    return caller.get(f"/projects/{made.pk}/responses/export{query}", **headers)


def ids(answer):
    assert answer.status_code == 200, answer.getvalue()
    return [line[0] for line in lines(answer.getvalue())[1:]]


@pytest.mark.parametrize("format", FORMATS)
def test_each_format_is_a_file_with_all_headers_of_the_interface(admin, made, three, format):
    """Rule 6.60."""
    answer = export(admin, made, f"?format={format}", **{"X-Request-Id": "mine"})

    assert (answer.status_code, answer.streaming) == (200, True)
    assert answer["Content-Type"] == FORMATS[format]
    assert answer["Content-Disposition"].startswith(f'attachment; filename="What do you think.{format}";')
    assert answer["X-Request-Id"] == "mine"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert set(answer.headers) >= set(RATE_HEADERS)
    assert "Content-Length" not in answer.headers
    assert answer["Accept-Ranges"] == "none"
    assert three[1].encode() in answer.getvalue() or format in PACKED


def test_a_part_of_a_file_cannot_be_asked_for(admin, made, three):
    """Rule 11.85."""
    answer = export(admin, made, "?format=csv", Range="bytes=0-3")

    assert (answer.status_code, answer["Accept-Ranges"]) == (200, "none")
    assert "Content-Range" not in answer
    assert ids(answer) == three


def test_a_csv_is_made_where_nothing_else_is_asked_for(admin, made, three):
    answer = export(admin, made)

    assert answer["Content-Type"] == FORMATS["csv"]
    assert ids(answer) == three


def test_the_json_is_the_listing(admin, made, three):
    listed = admin.get(f"/projects/{made.pk}/responses").json()["data"]

    told = export(admin, made, "?format=json").getvalue()
    each = export(admin, made, "?format=ndjson").getvalue()

    assert json.loads(told) == {"data": listed}
    assert [json.loads(line) for line in each.splitlines()] == listed


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("status=all", [0, 1, 2]),
        ("status=completed", [0, 2]),
        ("status=partial", [1]),
        ("submitted_after=2026-01-31T12:34:56Z", [0, 2]),
        ("submitted_before=2026-01-31T12:34:56Z", []),
        ("provider=web", [0, 1, 2]),
        ("provider=chat", []),
    ],
)
def test_filters_are_those_of_the_listing(admin, made, three, query, places):
    """Rule 6.59."""
    chosen = [three[n] for n in places]
    listed = admin.get(f"/projects/{made.pk}/responses?{query}").json()["data"]

    assert ids(export(admin, made, f"?{query}")) == chosen
    assert [
        row[0] for row in sheets(export(admin, made, f"?format=xlsx&{query}").getvalue())[0][1:]
    ] == chosen
    assert [each["id"] for each in listed] == chosen


@try_each(
    "query",
    [
        "format=pdf",
        "format=CSV",
        "status=open",
        "submitted_after=yesterday",
        "submitted_before=2026-01-31T12:00:00",
        "provider=mail",
        "bom=yes",
        "page=1",
        "order=desc",
        "format=csv&format=json",
    ],
)
def test_what_a_query_cannot_mean_is_refused(admin, made, query):
    assert refusal(export(admin, made, f"?{query}")) == (400, "invalid_request")


@try_each(
    ("query", "field"),
    [
        ("format=json&values=codes", "values"),
        ("format=ndjson&values=codes", "values"),
        ("format=json&form=long", "form"),
        ("format=ndjson&form=long", "form"),
        ("format=sav&form=long", "form"),
        ("values=numbers", "values"),
        ("format=json&missing=marked", "missing"),
        ("form=long&missing=marked", "missing"),
        ("missing=all", "missing"),
        ("form=tall", "form"),
    ],
)
def test_what_a_format_has_no_form_or_values_for_is_refused_by_name(admin, made, query, field):
    answer = export(admin, made, f"?{query}")

    assert refusal(answer) == (400, "invalid_request")
    assert [each["field"] for each in answer.json()["violations"]] == [field]


def test_codes_and_the_long_form_are_asked_for_over_http(admin, made, three):
    codes = lines(export(admin, made, "?values=codes").getvalue())
    answers = lines(export(admin, made, "?form=long&values=codes").getvalue())

    assert codes[0][8:] == ["Prompt 0.", "Prompt 0..code", "Prompt 1."]
    assert codes[1][8:] == ["red", "1", "a"]
    assert answers[0][8:] == ["block_id", "block", "prompt", "item", "value", "number", "code"]
    assert [line[9:] for line in answers[1:3]] == [
        ["q0", "Prompt 0.", "", "red", "", "1"],
        ["q1", "Prompt 1.", "", "a", "", ""],
    ]


@pytest.mark.parametrize("limit", ["MAX_CELLS", "MAX_VARIABLES"])
def test_an_spss_file_that_would_be_too_large_is_refused_with_what_to_do(
    admin, made, three, monkeypatch, limit
):
    monkeypatch.setattr(f"surveys.services.exports.spss.{limit}", 9)

    answer = export(admin, made, "?format=sav")

    assert refusal(answer) == (400, "invalid_request")
    assert "Parquet and csv have no such limit." in answer.json()["message"]


@pytest.mark.parametrize("query", ["", "&form=long"])
def test_a_workbook_that_would_be_too_large_is_refused_with_what_to_do(
    admin, made, three, monkeypatch, query
):
    monkeypatch.setattr("surveys.services.exports.xlsx.MAX_CELLS", 9)

    answer = export(admin, made, f"?format=xlsx{query}")

    assert refusal(answer) == (400, "invalid_request")
    assert "more than 9 cells. Use csv instead." in answer.json()["message"]


def test_an_spss_file_may_have_as_many_variables_as_the_limit_says(admin, made, three, monkeypatch):
    def with_at_most(limit):
        monkeypatch.setattr("surveys.services.exports.spss.MAX_VARIABLES", limit)
        return export(admin, made, "?format=sav")

    [count] = map(int, re.findall(r"has (\d+) columns", with_at_most(1).json()["message"]))

    assert with_at_most(count).getvalue().startswith(b"$FL")
    assert with_at_most(count - 1).status_code == 400


def test_a_byte_order_mark_is_there_where_it_is_asked_for(admin, made, three):
    assert export(admin, made, "?bom=1").getvalue().startswith(b"\xef\xbb\xbfid,")
    assert export(admin, made, "?bom=0").getvalue().startswith(b"id,")


# Permissions: rules 1.29 and 6.33.


@pytest.mark.parametrize(
    ("privacy_mode", "member", "other", "live"),
    [
        ("transparent", 200, 200, True),
        ("semi-private", 403, 403, False),
        ("anonymous", 403, 403, True),
    ],
)
def test_who_may_take_an_export(privacy_mode, member, other, live):
    """Rule 1.34."""
    author = Caller("creator")
    made = project(author, privacy_mode=privacy_mode, status="active" if live else "inactive")

    def status(caller):
        return export(caller, made).status_code

    assert status(author) == status(author.beside("admin")) == 200
    assert status(author.beside("creator")) == other
    assert status(author.beside("member")) == (member if live else 404)
    assert status(Caller("admin")) == 404


@pytest.mark.parametrize(
    ("mode", "live", "has_voted"),
    [
        ("public", True, False),
        ("voters_only", True, True),
        ("voters_only", True, False),
        ("hidden", True, True),
        ("public", False, True),
    ],
)
def test_members_take_the_export_of_a_poll_by_its_mode(mode, live, has_voted):
    author = Caller("creator")
    member = author.beside("member")
    poll = scenario.poll(community=author.community, author=author.user, poll_results_mode=mode)
    told = answered(poll, 0)
    if has_voted:
        poll.conversations.filter(pk=told.conversation.pk).update(user=member.user)
    Project.objects.filter(pk=poll.pk).update(status="active" if live else "inactive")

    may = mode == "public" or (mode == "voters_only" and has_voted)
    expected = 404 if not live else 200 if may else 403
    assert export(member, poll).status_code == expected
    assert export(author.beside("creator"), poll).status_code == 200


def test_an_anonymous_project_names_nobody(admin):
    made = project(admin, privacy_mode="anonymous")
    answered(made, 0, "a", who="customer-42")

    (told,) = json.loads(export(admin, made, "?format=json").getvalue())["data"]
    _, row = lines(export(admin, made).getvalue())

    assert (told["user_id"], told["platform_id"], told["session_number"]) == (None, None, None)
    assert (row[2], row[5], row[6]) == ("", "", "")


# The name of the file.


@pytest.mark.parametrize(
    ("name", "plain", "full"),
    [
        ('"; rm -rf /\r\nX-Evil: 1', "; rm -rf X-Evil 1", "; rm -rf X-Evil 1"),
        ("Où? 🙂", "Ou", "Où 🙂"),
        ("استطلاع \u202egpj", "gpj", "استطلاع gpj"),
        ("日本語", "download", "日本語"),
        ("100 % sure; \\ ok", "100 sure ok", "100 % sure; ok"),
    ],
)
def test_a_file_name_is_safe_in_a_header(admin, name, plain, full):
    told = export(admin, project(admin, name=name))["Content-Disposition"]

    head, _, tail = told.partition("; filename*=UTF-8''")
    assert head.isascii()
    assert head == f'attachment; filename="{plain.strip("; ")}.csv"'
    assert tail.isascii()
    assert unquote(tail) == f"{full}.csv"


def test_a_name_without_an_ending_is_told_too():
    assert attachment("README") == "attachment; filename=\"README\"; filename*=UTF-8''README"


# How it begins and ends.


@pytest.mark.parametrize("format", FORMATS)
def test_head_tells_the_headers_and_reads_no_response(admin, made, three, monkeypatch, format):
    def read(**_):
        yield pytest.fail("A response was read.")

    monkeypatch.setattr(responses, "batches", read)

    answer = admin.call("head", f"/projects/{made.pk}/responses/export?format={format}")

    assert (answer.status_code, answer.getvalue()) == (200, b"")
    assert answer["Content-Type"] == FORMATS[format]
    assert "attachment" in answer["Content-Disposition"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_database_that_is_gone_before_the_first_byte_is_503(admin, made, three, monkeypatch, format):
    def gone(*_):
        raise OperationalError("connection of the secret refused")

    monkeypatch.setattr("communities.ground.statements.fetch_rows", gone)

    answer = export(admin, made, f"?format={format}")

    assert (*refusal(answer), "Retry-After" in answer) == (503, "unavailable", True)
    assert set(answer.headers) >= set(RATE_HEADERS)
    assert "Content-Disposition" not in answer


def test_a_fault_in_the_middle_of_a_workbook_comes_before_its_first_byte(admin, made, three, monkeypatch):
    monkeypatch.setattr(responses, "FIRST_BATCH", 1)
    _break_after_the_first_part(monkeypatch)

    assert refusal(export(admin, made, "?format=xlsx")) == (503, "unavailable")


def _break_after_the_first_part(monkeypatch):
    batches = responses.batches

    def broken(**told):
        yield next(batches(**told))
        raise OperationalError("a text that somebody wrote")

    monkeypatch.setattr(responses, "batches", broken)
    monkeypatch.setattr(exports, "CHUNK_BYTES", 1)


@pytest.mark.parametrize("format", ["csv", "json", "ndjson"])
def test_a_fault_in_mid_stream_breaks_off_and_is_logged_without_its_words(
    admin, made, three, monkeypatch, caplog, format
):
    monkeypatch.setattr(responses, "FIRST_BATCH", 1)
    _break_after_the_first_part(monkeypatch)
    answer = export(admin, made, f"?format={format}")

    taken = []
    with pytest.raises(DownloadAborted) as fault:
        taken.extend(answer)

    assert taken
    assert three[2].encode() not in b"".join(taken)
    assert format != "json" or taken[-1] != b"]}"
    assert fault.value.__suppress_context__
    assert "somebody wrote" not in str(fault.value)


@pytest.fixture
def begun(admin, made, three, monkeypatch):
    """A response that has begun, read as by a web server and not by the test client."""
    monkeypatch.setattr(exports, "CHUNK_BYTES", 1)
    closed = []
    make = exports.export

    def watched(**told):
        made = make(**told)

        def chunks():
            try:
                yield from made.chunks
            finally:
                closed.append(True)

        return File(made.content_type, made.file_name, chunks())

    monkeypatch.setattr(exports, "export", watched)
    path = f"/v1/communities/{admin.community.pk}/projects/{made.pk}/responses/export"
    environ = RequestFactory().get(path, headers={"X-API-Key": admin.secret}).environ
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)  # the test's transaction is on it
    answer = WSGIHandler()(environ, lambda *_: lambda _: None)
    assert answer.status_code == 200
    yield answer, closed
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_a_client_that_goes_away_ends_the_reading(begun, taken):
    answer, closed = begun
    finished = []
    request_finished.connect(lambda **_: finished.append(True), weak=False, dispatch_uid="exports")

    for _ in range(taken):
        next(iter(answer))
    assert (closed, finished) == ([], [])  # the connection is still needed
    answer.close()
    request_finished.disconnect(dispatch_uid="exports")

    assert (closed, finished) == ([True], [True])
