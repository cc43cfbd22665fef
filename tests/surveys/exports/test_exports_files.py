"""Exports as files: read in parts, deleted after use, and always complete."""

import os
import tempfile
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import OperationalError

from communities.ground.errors import InvalidRequest, NotFound
from surveys.models import Conversation, Project
from surveys.services.exports import columns as export_columns
from surveys.services.exports import service as exports
from surveys.services.exports import table
from surveys.services.exports import xlsx as export_xlsx
from surveys.services.exports.cells import FileOptions
from surveys.services.exports.service import MEDIA_TYPES
from surveys.services.responses import service as responses
from surveys.services.results.figures import Selection
from tests.support.cases import try_each
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.exports import answered, content, lines, sheets
from tests.support.surveys.scenario import TEXT

FORMATS = ["csv", "xlsx", "json", "ndjson"]


def ids(made, **told):
    return [line[0] for line in lines(content(made, **told))[1:]]


@pytest.fixture(scope="module")
def scene(kept_rows):
    """A project, and the ids of completed and partial responses by turns, a minute apart."""
    made = scenario.project(TEXT, TEXT)
    times = [LUNCHTIME + timedelta(minutes=n) for n in range(9)]
    told = [scenario.begin(made, f"person {n}", at=at) for n, at in enumerate(times)]
    for n, (each, at) in enumerate(zip(told, times, strict=True)):
        scenario.say(each, *["said"] * (1 + n % 2), at=at)
    return made, [str(each.conversation.pk) for each in told]


@pytest.fixture
def made(scene, db):
    return scene[0]


@pytest.fixture
def nine(scene):
    return scene[1]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 9, 10])
def test_parts_make_up_the_whole_in_the_order_of_the_listing(made, nine, monkeypatch, most):
    monkeypatch.setattr(responses, "FIRST_BATCH", most)
    monkeypatch.setattr(responses, "MAX_BATCH", most)

    assert ids(made) == nine


def test_an_anonymous_project_is_told_in_the_order_of_its_random_ids(monkeypatch, db):
    monkeypatch.setattr(responses, "MAX_BATCH", 2)
    made = scenario.project(TEXT, privacy_mode="anonymous")
    told = [str(answered(made, "a").conversation.pk) for _ in range(5)]

    assert ids(made) == sorted(told)


@pytest.mark.parametrize("most", [1, 250, 1_000, 10**9])
def test_a_part_holds_no_more_answers_than_fit_the_memory_and_one_response_at_least(
    made, nine, monkeypatch, most
):
    monkeypatch.setattr(responses, "MAX_BATCH_BYTES", most)
    parts = list(responses.batches(project=made, filters={}))

    assert [str(row[0]) for part in parts for row in part] == nine
    sizes = [sum(104 for row in part[:-1] for _ in row[table.ANSWERS][0]) for part in parts]
    assert max(sizes) < most


@pytest.mark.parametrize(("format", "statements"), [("csv", 8), ("xlsx", 8), ("json", 4), ("ndjson", 4)])
def test_a_part_is_one_statement(made, nine, django_assert_num_queries, format, statements):
    # Script, part, and at the end the project; columns, fields, readings, further questions and own
    # texts of a table, or removed questions
    with django_assert_num_queries(statements):
        b"".join(exports.export(project=made, options=FileOptions(format)).chunks)


def test_nothing_is_read_before_the_first_chunk_is_asked_for(made, nine, monkeypatch):
    asked = []

    def fetch_rows(*told):
        asked.append(told)
        return []

    monkeypatch.setattr("communities.ground.statements.fetch_rows", fetch_rows)

    export = exports.export(project=made, options=FileOptions("ndjson"))
    assert not asked
    assert list(export.chunks) == [b""]
    assert asked


@pytest.mark.parametrize(
    ("selection", "places"),
    [
        (Selection(), range(9)),
        (Selection(covers="completed"), (1, 3, 5, 7)),
        (Selection(covers="partial"), (0, 2, 4, 6, 8)),
        (Selection(submitted_after=LUNCHTIME + timedelta(minutes=3)), (3, 5, 7)),
        (Selection(submitted_before=LUNCHTIME + timedelta(minutes=3)), (1,)),
        (Selection(provider="web"), range(9)),
        (Selection(provider="chat"), ()),
    ],
)
def test_a_selection_chooses_the_rows(made, nine, selection, places):
    chosen = [nine[n] for n in places]

    assert ids(made, selection=selection) == chosen
    assert [row[0] for row in sheets(content(made, "xlsx", selection=selection))[0][1:]] == chosen
    listed = responses.list_page(
        project=made,
        filters={
            "status": selection.covers,
            "submitted_after": selection.submitted_after,
            "submitted_before": selection.submitted_before,
            "provider": selection.provider,
        },
        descending=False,
        page=1,
        per_page=25,
    )
    assert [response["id"] for response in listed.data] == chosen


def test_chunks_go_out_as_they_are_made(made, nine, monkeypatch):
    monkeypatch.setattr(exports, "CHUNK_BYTES", 100)
    monkeypatch.setattr(responses, "FIRST_BATCH", 2)
    read = []
    batches = responses.batches

    def noted(**told):
        for part in batches(**told):
            read.append(len(part))
            yield part

    monkeypatch.setattr(responses, "batches", noted)
    chunks = exports.export(project=made, options=FileOptions("csv")).chunks

    next(chunks), next(chunks)

    assert read == [2]
    chunks.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def open_files():
    return [os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if _is_open(each)]


def _is_open(descriptor):
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


@pytest.mark.parametrize("taken", [0, 1, 2, None])
def test_a_workbook_leaves_nothing_behind(made, nine, folder, monkeypatch, taken):
    monkeypatch.setattr(exports, "CHUNK_BYTES", 1_000)
    chunks = exports.export(project=made, options=FileOptions("xlsx")).chunks

    for _ in zip(chunks, range(10**6 if taken is None else taken), strict=False):
        assert list(folder.iterdir()) == []  # the file has no name any more, whatever kills the process
    chunks.close()

    assert list(folder.iterdir()) == []
    assert not [each for each in open_files() if str(folder) in each]


def test_a_fault_in_a_workbook_leaves_nothing_behind(made, nine, folder, monkeypatch):
    monkeypatch.setattr(responses, "FIRST_BATCH", 3)
    batches = responses.batches

    def broken(**told):
        yield next(batches(**told))
        raise OperationalError("gone")

    monkeypatch.setattr(responses, "batches", broken)
    with pytest.raises(OperationalError):
        content(made, "xlsx")

    assert list(folder.iterdir()) == []
    assert not [each for each in open_files() if str(folder) in each]


def test_a_workbook_of_more_columns_than_a_sheet_has_is_refused_and_a_csv_is_made(made, monkeypatch):
    monkeypatch.setattr(export_xlsx, "MAX_COLUMNS", 9)

    with pytest.raises(InvalidRequest, match="Use csv") as refused:
        next(exports.export(project=made, options=FileOptions("xlsx")).chunks)

    assert refused.value.violations[0]["field"] == "format"
    assert len(lines(content(made))[0]) == 10


@pytest.mark.parametrize("format", FORMATS)
def test_what_comes_or_goes_meanwhile_breaks_nothing(made, nine, monkeypatch, format):
    monkeypatch.setattr(responses, "FIRST_BATCH", 2)
    monkeypatch.setattr(responses, "MAX_BATCH", 2)
    batches = responses.batches

    def while_others_write(**told):
        for n, part in enumerate(batches(**told)):
            if n == 1:
                Conversation.objects.filter(pk=nine[5]).delete()
                scenario.write(made, TEXT)
                new = made.blocks.order_by("-pk")[1]
                Conversation.objects.get(pk=nine[6]).answers.create(block=new, ordinal=0, value="new")
            yield part

    monkeypatch.setattr(responses, "batches", while_others_write)
    told = content(made, format)

    assert nine[5].encode() not in told
    if format == "csv":
        assert [line[0] for line in lines(told)[1:]] == [each for each in nine if each != nine[5]]


@pytest.mark.parametrize("format", MEDIA_TYPES)
def test_the_file_of_a_project_that_is_deleted_meanwhile_never_ends_as_complete(made, monkeypatch, format):
    """Rule 6.700."""
    monkeypatch.setattr(responses, "FIRST_BATCH", 2)
    batches = responses.batches

    def while_others_delete(**told):
        for part in batches(**told):
            Conversation.objects.filter(project=made).delete()
            Project.objects.filter(pk=made.pk).delete()
            yield part

    monkeypatch.setattr(responses, "batches", while_others_delete)

    with pytest.raises(NotFound):
        content(made, format)


NAMES = [
    ("Opening moves", "Opening moves.csv"),
    ('He said "no"\r\n\tX-Evil: 1', "He said no X-Evil 1.csv"),
    ("../../etc/passwd", "etcpasswd.csv"),
    ("Où? 🙂", "Où 🙂.csv"),
    ("سؤال \u202egpj.exe", "سؤال gpj.exe.csv"),
    ("👩\u200d👧", "👩\u200d👧.csv"),
    ("...", "responses.csv"),
    (" / ", "responses.csv"),
    ("x" * 200, "x" * 120 + ".csv"),
    ("🙂" * 200, "🙂" * 30 + ".csv"),
    ("xé" * 100, "xé" * 40 + ".csv"),
]


@try_each(("name", "file_name"), NAMES)
def test_a_file_is_named_for_its_project(name, file_name):
    assert exports.file_name(name, "csv") == file_name


def test_columns_are_told_by_id_never_by_words():
    """Two blocks with the same words keep their answers apart, in every position."""
    same = scenario._block(0, {**TEXT, "prompt": "Why?", "name": "same"})
    columns = [export_columns.ExportColumn(replace(same, id=number)) for number in (7, 8)]

    assert export_columns.headers(columns) == ["Why? (same) (block 7)", "Why? (same) (block 8)"]
