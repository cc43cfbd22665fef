"""What it costs a worker to read open answers: memory over idle, calls and tokens, for all and for one more.

    python -m tests.bench.reading 1000 10000 100000             by text statistics
    python -m tests.bench.reading --model 100 1000 10000        by a model, which a loopback stands for

The loopback counts tokens as a model would: one for four characters of a request, and of its own answer.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from tests.bench.__main__ import set_up
from tests.bench.servers import DataServers, data_servers, free_port

if TYPE_CHECKING:
    from surveys.models import Project

ANSWERS = Path(__file__).resolve().parent.parent / "ai" / "answers"
QUESTION = [{"name": "opinion", "type": "open_text", "prompt": "What do you think?"}]
HEAD = f"{'answers':>10}{'MB':>8}{'calls':>8}{'input':>12}{'output':>10}{'USD':>9}{'seconds':>9}\n"
_WRITE = """
    WITH made AS (
        INSERT INTO surveys_conversation (id, project_id, provider, respondent, session_number, seed,
            state, packed, is_listed, started_at, updated_at, completed_at, changed_in)
        SELECT (lpad(to_hex(1750000000000 + n), 12, '0') || '7' || substr(hash, 1, 3) || 'a'
                || substr(hash, 4, 15))::uuid,
            %(project)s, 'web', hash || hash, 1, n, '{}', '', true,
            to_timestamp(1750000000 + n), to_timestamp(1750000060 + n), to_timestamp(1750000060 + n),
            pg_current_xact_id()::text::bigint
        FROM generate_series(%(first)s::bigint, %(last)s::bigint) n, md5(n || ' of ' || %(project)s) hash
        RETURNING id, seed
    )
    INSERT INTO surveys_answer (conversation_id, block_id, ordinal, value)
    SELECT id, %(block)s, 0, (%(texts)s::text[])[1 + seed %% %(count)s] || ' ' || seed FROM made
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.reading", description=__doc__)
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--model", action="store_true")
    asked = parser.parse_args()
    with data_servers() as data, _model(asked.model) as model:
        os.environ.update(model)
        set_up(data)
        from tests.bench import world  # noqa: PLC0415 - needs Django

        made = world.make()
        sys.stdout.write(HEAD)
        for size in asked.sizes:
            project = world.opened(made, QUESTION)
            _answer(data, project, first=1, last=size)
            data.settle()
            _tell(f"{size:,}", project, data, model)
            _answer(data, project, first=size + 1, last=size + 1)
            _tell("one more", project, data, model)


@contextmanager
def _model(is_asked: bool) -> Iterator[Mapping[str, str]]:
    """The environment of the worker, with a loopback in another process if a model is asked for."""
    if not is_asked:
        yield {"AI_PROVIDER": "local"}
        return
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.ai.loopback", "--port", str(port), "--counts-tokens"],
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()  # it listens
        address = f"http://127.0.0.1:{port}"
        yield {"AI_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": address}
    finally:
        process.terminate()
        process.wait()


def _answer(data: DataServers, project: "Project", *, first: int, last: int) -> None:
    """Conversations with one answer each, written directly into the tables, and the sums of them."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(ANSWERS.glob("*.json"))]
    texts = [each["text"] for file in found if "answers" in file for each in file["answers"]]
    values: dict[str, Any] = {"project": project.pk, "first": first, "last": last, "texts": texts}
    values |= {"count": len(texts), "block": project.blocks.get(type="open_text").pk}
    with psycopg.connect(data.database_url, autocommit=True) as loading:
        loading.execute(_WRITE, values)
        loading.execute(
            "INSERT INTO surveys_tally (project_id, slot, answered, completed, listed, changes)"
            " VALUES (%(project)s, 0, %(last)s, %(last)s, %(last)s, %(last)s) ON CONFLICT (project_id, slot)"
            " DO UPDATE SET answered = excluded.answered, completed = excluded.completed,"
            " listed = excluded.listed, changes = excluded.changes",
            values,
        )


def _tell(what: str, project: "Project", data: DataServers, model: Mapping[str, str]) -> None:
    from surveys.models import Analysis  # noqa: PLC0415 - needs Django

    begun = time.monotonic()
    analysis = Analysis.objects.create(
        project=project,
        revision=project.revision,
        changes=0,
        credits_used=1_000_000,
        created_at=project.created_at,
    )
    said = subprocess.run(
        [sys.executable, "-m", "tests.bench.analysing", str(analysis.pk)],
        env={**os.environ, **data.environment, **model},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    analysis.refresh_from_db()
    assert analysis.status == "completed", analysis.error
    spent = analysis.spending or {}
    sys.stdout.write(
        f"{what:>10}{float(said.stdout.split()[-1]):>8.1f}{spent.get('calls', 0):>8,}"
        f"{spent.get('input_tokens', 0):>12,}{spent.get('output_tokens', 0):>10,}"
        f"{spent.get('cost_usd') or 0:>9.4f}{time.monotonic() - begun:>9.1f}\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
