"""The timetable contains exactly the periodic tasks."""

from communities.services.people import identities
from config.celery import INTERVALS, app
from surveys.chat import timed
from surveys.services import public_messages
from surveys.services.ai_work import generation
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.conversations import further, places
from surveys.services.imports import files
from surveys.services.projects import removal
from surveys.services.results import very_large
from webhooks.services.outbox import DELIVER
from xp.services import role_grants

WOKEN_ON_DEMAND = {
    DELIVER,
    identities.JOIN,
    analysis.RUN,
    generation.MAKE,
    very_large.RUN,
    files.RUN,
    places.COUNT,
    further.ASK,
    removal.CANCEL_BULK,
    public_messages.SEND,
    public_messages.SUMMARIZE,
    public_messages.REMOVE,
    timed.ADVANCE,
    role_grants.GRANT,
}


def test_every_task_of_the_timetable_is_registered() -> None:
    app.loader.import_default_modules()

    assert set(INTERVALS) <= set(app.tasks)


def test_every_periodic_task_of_ours_is_in_the_timetable() -> None:
    app.loader.import_default_modules()

    ours = {name for name in app.tasks if name.split(".")[0] in {"communities", "surveys", "webhooks", "xp"}}

    assert ours - WOKEN_ON_DEMAND == set(INTERVALS)
