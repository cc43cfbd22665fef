"""Few files are sent at one time: the site needs its threads."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.signals import request_finished
from django.db import close_old_connections
from django.http import StreamingHttpResponse
from django.test import RequestFactory

from communities.gate import downloads
from communities.gate.downloads import DownloadAborted
from communities.ground import slots
from communities.ground.errors import Unavailable
from communities.ground.slots import LARGE_JOBS, Slots
from config.web import gunicorn
from surveys.services.exports import missing
from surveys.services.exports import service as exports
from tests.support.caller import Caller, refusal
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slots]:
    places = Slots(LARGE_JOBS)
    monkeypatch.setattr(downloads, "_slots", places)
    monkeypatch.setattr(downloads, "SECONDS_TO_WAIT", 0.05)
    request_finished.disconnect(close_old_connections)  # the test's transaction is on it
    yield places
    request_finished.connect(close_old_connections)


def sent(
    *chunks: bytes, owner: int = 1, method: str = "GET", fault: Exception | None = None
) -> StreamingHttpResponse:
    def made() -> Iterator[bytes]:
        yield from chunks
        if fault is not None:
            raise fault

    request = RequestFactory().generic(method, "/")
    file = downloads.File("text/csv", "a.csv", made())  # type: ignore[arg-type]
    return downloads.download(request, file, owner=slots.of_community(owner))


def test_no_more_files_begin_than_there_are_places_and_nothing_is_made_for_them(
    places: Slots,
) -> None:
    """Rule 11.30."""
    begun = [sent(b"a", b"b", owner=n) for n in range(LARGE_JOBS)]
    assert places.free == 0

    with pytest.raises(Unavailable, match="Too many downloads") as refused:
        sent(owner=LARGE_JOBS, fault=AssertionError("A chunk was made."))
    assert refused.value.retry_after == 10

    begun[0].close()
    assert b"".join(sent(b"a", b"b", owner=0)) == b"ab"
    begun[1].close()
    assert places.free == LARGE_JOBS


def test_a_community_has_one_place_and_leaves_the_others(places: Slots) -> None:
    """Rule 11.30."""
    own = sent(b"a", b"b")

    with pytest.raises(Unavailable, match="Too many downloads"):
        sent(fault=AssertionError("A chunk was made."))
    other = sent(b"c", owner=2)

    assert (places.free, b"".join(other)) == (LARGE_JOBS - 2, b"c")
    own.close()
    assert b"".join(sent(b"d")) == b"d"
    assert places.free == LARGE_JOBS


@pytest.mark.parametrize("taken", [0, 1, 2, 3])
def test_a_place_is_given_back_once_however_much_was_taken(places: Slots, taken: int) -> None:
    answer = sent(b"a", b"b")
    body = iter(answer)
    assert places.free == LARGE_JOBS - 1

    assert [next(body, b"") for _ in range(taken)] == [b"a", b"b", b""][:taken]
    assert places.free == LARGE_JOBS - (taken < 3)
    for _ in range(2):
        answer.close()

        assert places.free == LARGE_JOBS  # a place too many would be a ValueError of the semaphore


def test_a_place_is_given_back_where_the_first_chunk_fails(places: Slots) -> None:
    with pytest.raises(KeyError):
        sent(fault=KeyError())

    assert places.free == LARGE_JOBS


def test_a_place_is_given_back_where_a_later_chunk_fails(places: Slots) -> None:
    answer = sent(b"a", fault=KeyError())

    with pytest.raises(DownloadAborted):
        list(answer)
    assert places.free == LARGE_JOBS
    answer.close()

    assert places.free == LARGE_JOBS


def test_a_place_is_given_back_where_nobody_closes_the_response(places: Slots) -> None:
    sent(b"a", b"b")
    gc.collect()

    assert places.free == LARGE_JOBS


def test_head_takes_no_place(places: Slots) -> None:
    begun = [sent(b"a", b"b", owner=n) for n in range(LARGE_JOBS)]

    told = [sent(fault=AssertionError("A chunk was made."), method="HEAD") for _ in range(9)]

    assert [list(answer) for answer in told] == [[]] * 9
    for answer in (*begun, *told):
        answer.close()
    assert places.free == LARGE_JOBS


@pytest.mark.django_db
def test_an_export_takes_the_place_of_its_community(places: Slots) -> None:
    admin = Caller("admin")
    made = scenario.project(TEXT, community=admin.community, author=admin.user)
    path = f"/projects/{made.pk}/responses/export"
    assert places.acquire(slots.of_community(admin.community.pk), timeout=0)

    assert refusal(admin.get(path)) == (503, "unavailable")
    assert refusal(admin.get(f"/projects/{made.pk}/links/export")) == (503, "unavailable")
    places.release(slots.of_community(admin.community.pk))
    assert places.acquire(slots.of_user(admin.user.pk), timeout=0)
    assert admin.get(path).getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize("format", exports.MEDIA_TYPES)
def test_an_export_that_finds_no_place_is_told_when_to_come_again(places: Slots, format: str) -> None:
    """Rule 11.30."""
    admin = Caller("admin")
    made = scenario.project(TEXT, community=admin.community, author=admin.user)
    path = f"/projects/{made.pk}/responses/export?format={format}"
    for n in range(LARGE_JOBS):
        places.acquire(str(n), timeout=0)
    refused = admin.get(path)
    assert admin.call("head", path).status_code == 200
    for n in range(LARGE_JOBS):
        places.release(str(n))

    assert (*refusal(refused), refused["Retry-After"]) == (503, "unavailable", "10")
    assert "X-RateLimit-Limit" in refused
    answer = admin.get(path)
    assert (answer.status_code, bool(answer.getvalue())) == (200, format != "ndjson")
    assert places.free == LARGE_JOBS


def test_threads_of_a_process_are_left_while_all_places_are_taken() -> None:
    assert gunicorn.threads > LARGE_JOBS


@pytest.mark.long
def test_only_who_makes_a_workbook_loads_its_library() -> None:
    code = (
        "import sys, config.wsgi, config.urls, surveys.tasks; from surveys.services import exports;"
        "assert 'xlsxwriter' not in sys.modules; from surveys.services.exports import xlsx;"
        "assert 'xlsxwriter' in sys.modules"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_an_export_prepares_nothing_before_it_has_its_place(
    places: Slots, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    """Rule 11.36."""
    made = scenario.project({"type": "multi_punch", "options": ["a", "b"]})
    caller = Caller(community=made.community)
    path = f"/projects/{made.pk}/responses/export?format="
    held = caller.get(f"{path}csv")
    monkeypatch.setattr(exports, "_table", lambda *_: pytest.fail("A header was made."))
    monkeypatch.setattr(missing, "removed_questions", lambda *_: pytest.fail("It was read."))

    refused = [refusal(caller.get(f"{path}{format}")) for format in exports.MEDIA_TYPES]

    assert refused == [(503, "unavailable")] * len(exports.MEDIA_TYPES)
    held.close()
