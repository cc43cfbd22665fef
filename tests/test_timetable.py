"""The timetable names tasks that a worker has."""

from config.celery import EVERY, app


def test_every_task_of_the_timetable_is_registered() -> None:
    app.loader.import_default_modules()

    assert set(EVERY) <= set(app.tasks)


def test_every_periodic_task_of_ours_is_in_the_timetable() -> None:
    app.loader.import_default_modules()

    ours = {name for name in app.tasks if name.split(".")[0] in {"communities", "surveys", "xp"}}

    assert ours == set(EVERY)
