"""`make torture`: programs are killed with SIGKILL under load, and no event is lost, doubled or invented.

make torture                                 20 rounds
make torture ARGS='--rounds 4 --seed 17'     fewer; the same chances as a run that told this seed
make torture ARGS='--logs /some/folder'      keep what the programs log
"""

import argparse
import os
import secrets
import sys
from pathlib import Path

import django
from django.core.management import call_command

from tests.bench.servers import DataServers, data_servers, free_port
from tests.torture import programs


def main() -> int:
    asked = _arguments()
    sys.stdout.write(f"Seed {asked.seed}.\n")
    sys.stdout.flush()
    with data_servers() as data:
        port = free_port()
        environment = programs.environment(data, port=port)
        os.environ.update(environment)
        django.setup()
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        # Only now, with Django set up on the servers of this run, can what speaks of models be loaded.
        from tests.torture import running  # noqa: PLC0415

        with programs.kept(_victims(data, environment, asked.logs)) as keeper:
            return running.torture(
                keeper, port=port, rounds=asked.rounds, seconds=asked.seconds, seed=asked.seed
            )


def _victims(data: DataServers, environment: dict[str, str], logs: Path | None) -> list[programs.Victim]:
    folder = logs or data.var_dir
    folder.mkdir(parents=True, exist_ok=True)
    started = [
        programs.Program(name, environment=environment, log=folder / f"{name}.log")
        for name in ("web", "worker", "scheduler")
    ]
    return [programs.Redis(data), *started]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make torture", description="Kills programs under load.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=6, help="In which a round kills.")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--logs", type=Path, help="A folder for what the programs log.")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
