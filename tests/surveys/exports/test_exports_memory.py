"""An export needs memory for one part only, however many responses there are and however long they are."""

import tracemalloc

import pytest
from django.db import connection

from surveys.services.exports import service as exports
from surveys.services.exports.cells import FileOptions
from tests.support.surveys import scenario
from tests.support.surveys.exports import content, fill
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = [pytest.mark.long, pytest.mark.django_db]
FORMATS = ["csv", "xlsx", "json", "ndjson", "parquet"]
MEGABYTE = 1_000_000


def highest(made, format):
    """The additional bytes of memory, and the export's size."""
    made.refresh_from_db()
    content(made, format)  # what the first loads stays
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        size = sum(len(chunk) for chunk in exports.export(project=made, options=FileOptions(format)).chunks)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before, size


@pytest.mark.parametrize("format", FORMATS)
def test_three_times_the_responses_take_no_more_memory(format):
    few, many = (scenario.project(CHOICE, {"type": "nps"}, TEXT) for _ in range(2))
    fill(few, 2_000)
    fill(many, 6_000)

    of_few, size_of_few = highest(few, format)
    of_many, size_of_many = highest(many, format)

    assert size_of_many > 2 * size_of_few
    assert of_many < of_few + 2 * MEGABYTE
    assert of_many < 10 * MEGABYTE


@pytest.mark.parametrize("format", FORMATS)
def test_the_longest_texts_take_no_more_memory_than_a_part(format):
    made = scenario.project(*[TEXT] * 20)
    for n in range(1, 51):
        scenario.say(scenario.begin(made, f"person {n}"), "x")
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO surveys_answer (conversation_id, block_id, ordinal, value)
            SELECT c.id, b.id, 0, repeat('é', 10000) FROM surveys_conversation c, surveys_block b
            WHERE c.project_id = %s AND b.project_id = c.project_id AND b.section = 'main'
            ON CONFLICT DO NOTHING
            """,
            [made.pk],
        )

    memory, size = highest(made, format)

    assert size > 18 * MEGABYTE or format in ("xlsx", "parquet")  # which are packed
    assert memory < 16 * MEGABYTE
