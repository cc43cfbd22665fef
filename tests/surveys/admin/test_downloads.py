"""Files of responses that the tab of results offers: their rows, their kinds, and downloads that fail."""

import re
from types import SimpleNamespace

import pytest

from communities.gate.downloads import DownloadAborted
from communities.ground.slots import Slots
from surveys.services.results import figures
from tests.support.staff import client_of
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import (
    look,
    respond,
    superuser,
    tab,
)
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture
def client():
    return superuser()


def test_files_are_offered_with_the_filters_that_are_on(client):
    made = scenario.project(CHOICE)
    respond(made, 0)

    seen = look(client, made, "?status=completed&submitted_after=2026-01-01")

    rest = "&status=completed&submitted_after=2026-01-01"
    assert f'href="{tab(made.pk, "results_export")}?format=csv&missing=marked&bom=1{rest}"' in seen
    assert f'href="{tab(made.pk, "results_export")}?format=xlsx&missing=marked{rest}"' in seen


@pytest.mark.parametrize("page", ["results", "responses"])
def test_files_that_are_offered_tell_skipped_from_not_shown(client, page):
    hidden = {**TEXT, "prompt": "And why?", "precondition": "TRUE"}
    made = scenario.project({**TEXT, "required": False}, hidden, CHOICE)
    respond(made, None, 0)

    offered = re.findall(r'href="([^"]*/export/\?format=csv[^"]*)"', look(client, made, page=page))
    (rows,) = [b"".join(client.get(address).streaming_content).decode() for address in offered]

    assert "[skipped],[not shown]" in rows
    assert "CSV and Excel files have [skipped] or [not shown]" in look(client, made, page=page)


def test_the_number_of_rows_is_told_before_and_long_files_are_watched(client, monkeypatch):
    made = scenario.project(CHOICE)
    respond(made, 0, times=2)
    short = look(client, made, "?status=all")
    filtered = look(client, made, "?status=completed")
    monkeypatch.setattr("surveys.admin.exporting.LARGE", 2)

    long = look(client, made)

    assert "2 responses, one in a row. CSV and" in short
    assert "no answer. The filters above apply.</p>" in filtered
    assert "data-watch" not in short
    assert f'data-watch="{tab(made.pk, "results_exported")}" data-rows="2"' in long


def test_too_many_downloads_are_refused_in_words(client, monkeypatch):
    made = scenario.project(CHOICE)
    monkeypatch.setattr("communities.gate.downloads._slots", Slots(2))
    monkeypatch.setattr("communities.gate.downloads.SECONDS_TO_WAIT", 0.01)
    running = client.get(tab(made.pk, "results_export"))

    refused = client.get(tab(made.pk, "results_export"))

    assert refused.status_code == 503
    assert "Too many downloads and imports are running. Please retry shortly." in refused.content.decode()
    running.close()


def test_a_file_is_streamed_with_the_selection_under_its_name(client, monkeypatch):
    made = scenario.project(CHOICE)
    asked = []

    def exported(**said):
        asked.append(said)
        chunks = (chunk for chunk in [b"a", b"b"])
        return SimpleNamespace(content_type="text/csv", file_name="Teé.csv", chunks=chunks)

    monkeypatch.setattr("surveys.services.exports.service.export", exported)

    response = client.get(tab(made.pk, "results_export") + "?format=csv&bom=1&status=completed&provider=web")

    assert b"".join(response.streaming_content) == b"ab"
    assert response["Content-Disposition"].endswith("; filename*=UTF-8''Te%C3%A9.csv")
    assert "no-store" in response["Cache-Control"]
    ((said),) = asked
    assert (said["options"].format, said["options"].with_bom) == ("csv", True)
    assert said["selection"] == figures.Selection(covers="completed", provider="web")


def test_a_workbook_without_room_for_all_columns_is_refused_with_a_sentence(client, monkeypatch):
    made = scenario.project(CHOICE)
    monkeypatch.setattr("surveys.services.exports.xlsx.MAX_COLUMNS", 8)

    response = client.get(tab(made.pk, "results_export") + "?format=xlsx")

    assert response.status_code == 400
    assert "the responses need 9 columns" in response.content.decode()


def test_a_file_that_breaks_off_ends_without_the_words_of_the_fault(client, monkeypatch):
    def chunks():
        yield b"id"
        raise ValueError("an answer")

    file = SimpleNamespace(content_type="text/csv", file_name="x.csv", chunks=chunks())
    monkeypatch.setattr("surveys.services.exports.service.export", lambda **_: file)

    response = client.get(tab(scenario.project(CHOICE).pk, "results_export"))

    with pytest.raises(DownloadAborted) as broken:
        list(response.streaming_content)
    assert broken.value.__suppress_context__


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?format=csv", ("csv", False, False)),
        ("?format=csv&values=codes", ("csv", True, False)),
        ("?format=xlsx&form=long", ("xlsx", False, True)),
        ("?format=parquet&form=long&values=codes", ("parquet", True, True)),
        ("?format=sav&form=wide&values=codes&bom=1", ("sav", True, False)),
    ],
)
def test_the_form_chooses_the_kind_of_file_codes_and_rows(client, monkeypatch, query, expected):
    asked = []

    def exported(**said):
        options = said["options"]
        asked.append((options.format, options.codes, options.is_long))
        return SimpleNamespace(content_type="text/csv", file_name="a", chunks=(chunk for chunk in [b"a"]))

    monkeypatch.setattr("surveys.services.exports.service.export", exported)

    response = client.get(tab(scenario.project(CHOICE).pk, "results_export") + query)

    assert response.status_code == 200
    assert asked == [expected]


@pytest.mark.parametrize("format", ["sav", "parquet"])
def test_every_kind_of_file_is_offered_and_comes(client, format):
    made = scenario.project(CHOICE)
    respond(made, 1)
    seen = look(client, made, "?status=completed")

    response = client.get(tab(made.pk, "results_export") + f"?format={format}")

    start = b"".join(response.streaming_content)[:4]
    assert start == {"sav": b"$FL2", "parquet": b"PAR1"}[format]
    assert f"?format={format}&status=completed" in seen
    assert '<input type="hidden" name="status" value="completed">' in seen
    assert "Choose what is in the file" in seen


def test_an_spss_file_that_would_be_too_large_is_refused_in_words(client, monkeypatch):
    made = scenario.project(CHOICE)
    respond(made, 1)
    monkeypatch.setattr("surveys.services.exports.spss.MAX_CELLS", 8)

    response = client.get(tab(made.pk, "results_export") + "?format=sav")

    assert response.status_code == 400
    assert "These responses do not fit into an SPSS file." in response.content.decode()
    assert "`format`" not in response.content.decode()


def test_a_member_downloads_no_solutions(monkeypatch):
    asked = []

    def exported(**said):
        asked.append(said["options"].solutions)
        return SimpleNamespace(content_type="text/csv", file_name="a", chunks=(chunk for chunk in [b"a"]))

    monkeypatch.setattr("surveys.services.exports.service.export", exported)
    made = scenario.project(CHOICE, privacy_mode="transparent")

    for access in ("member", "admin"):
        client_of(made.community, access).get(tab(made.pk, "results_export"))

    assert asked == [False, True]
