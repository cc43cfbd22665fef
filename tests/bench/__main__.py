"""`make bench`: CPU time of all server processes, the database's included, for one request of each kind.

make bench                                   the whole table
make bench ARGS='--rows 1,3 --repetitions 500'
make bench ARGS='--rows 8 --responses 100000'
make bench ARGS='--rows 3 --profile'         where the time goes, in one process
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import django
from django.core.management import call_command

from tests.bench import report
from tests.bench.servers import DataServers, Site, data_servers, site

if TYPE_CHECKING:
    from tests.bench.rows import Bench, Result

SMALL = 1_000
MEMBERS = 100_000


def main() -> None:
    asked = _arguments()
    begun = time.monotonic()
    with data_servers() as data:
        set_up(data)
        # Only now, with Django set up on the servers of this run, can what speaks of models be loaded.
        from tests.bench import (  # noqa: PLC0415
            admin_lists,
            chat,
            crowds,
            deliveries,
            exports,
            feeds,
            figures,
            listeners,
            people,
            profiling,
            rows,
            slow_clients,
            statements,
            world,
        )

        made = world.make()
        known = {
            **rows.ROWS,
            "12": listeners.listening,
            "13": deliveries.delivered,
            "14": crowds.crowd_of_voters,
            "15": crowds.crowd_of_respondents,
            "21": people.page_views,
            "22": chat.answers_in_chat,
            "25": slow_clients.others_under_attack,
        }
        if asked.profile:
            here = profiling.Here(profiles=True)
            for job in _jobs(asked, rows.Bench(here, profiling.Here(), made, asked.repetitions), known):
                job()
            here.tell()
            return
        with _sites(data) as (colloquy, minimal):
            bench = rows.Bench(colloquy, minimal, made, asked.repetitions)
            results: list[Result] = []
            for job in _jobs(asked, bench, known):
                results += job()
                report.say_progress(results, begun)
            if "8" in asked.rows:
                sizes = sorted({SMALL, asked.responses})
                filled = [(size, world.project_with_responses(data.database_url, size)) for size in sizes]
                data.settle()
                results += rows.listing(bench, filled)
                report.say_progress(results, begun)
            if "23" in asked.rows:
                project = world.project_with_responses(data.database_url, asked.responses)
                data.settle()
                results += feeds.read(bench, project, asked.responses)
                report.say_progress(results, begun)
            if {"9", "10", "11", "20"} & {*asked.rows}:
                filled = [
                    (size, world.project_with_responses(data.database_url, size)) for size in asked.sizes
                ]
                data.settle()
                results += figures.measured(bench, filled, data)
                report.say_progress(results, begun)
            if "19" in asked.rows:
                size = min(asked.responses, exports.MOST)
                project = world.project_with_responses(data.database_url, size)
                data.settle()
                results += exports.exported(bench, project, size)
                report.say_progress(results, begun)
            if {"17", "18"} & {*asked.rows}:
                world.members_with_xp(data.database_url, MEMBERS)
                data.settle()
                results += rows.members(bench, MEMBERS)
                report.say_progress(results, begun)
            if "24" in asked.rows:
                results += admin_lists.listed(bench, data, asked.responses)
                report.say_progress(results, begun)
            memory = report.memory_of(colloquy.pid)
        counts = statements.counted(made) if "16" in asked.rows else []
    sys.stdout.write(report.table(results, counts, memory=memory, seconds=time.monotonic() - begun))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description="Measures rows of the table.")
    rows = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25"
    parser.add_argument("--rows", default=os.environ.get("ROWS") or rows, help=f"Which, of {rows}.")
    parser.add_argument("--responses", type=int, default=int(os.environ.get("RESPONSES") or 0))
    parser.add_argument("--repetitions", type=int, default=int(os.environ.get("REPETITIONS") or 1_000))
    parser.add_argument("--profile", action="store_true", help="Tell the hottest functions instead.")
    asked = parser.parse_args()
    asked.rows = asked.rows.split(",")
    asked.sizes = sorted({10_000, 100_000, asked.responses} - {0})
    asked.responses = asked.responses or 1_000_000
    return asked


def set_up(data: DataServers) -> None:
    os.environ.update(data.environment, DJANGO_SETTINGS_MODULE="tests.bench.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)


@contextmanager
def _sites(data: DataServers) -> Iterator[tuple[Site, Site]]:
    with (
        site(data, settings="tests.bench.settings") as colloquy,
        site(data, settings="tests.bench.minimal_settings") as minimal,
    ):
        yield colloquy, minimal


def _jobs(
    asked: argparse.Namespace, bench: "Bench", known: "dict[str, Callable[[Bench], list[Result]]]"
) -> "Iterator[Callable[[], list[Result]]]":
    """Each function once, though it may measure two rows."""
    for function in dict.fromkeys(known[row] for row in asked.rows if row in known):
        yield lambda function=function: function(bench)  # type: ignore[misc]


if __name__ == "__main__":
    main()
