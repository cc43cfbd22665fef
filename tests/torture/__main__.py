"""`make torture`: kills programs under load, and checks that no event is lost, doubled or invented.

make torture                                 20 rounds
make torture ARGS='--rounds 4 --seed 17'     fewer; the random choices of a run that printed this seed
make torture ARGS='--logs /some/folder'      keep the logs of the programs
make torture ARGS=--chat                     200 people in chat instead, on a platform of this machine
"""

import argparse
import os
import secrets
import sys
from pathlib import Path

import django
from django.core.management import call_command

from tests.bench.servers import DataServers, data_servers, free_port
from tests.support.chat.server import Platform
from tests.torture import supervisor


def main() -> int:
    arguments = _arguments()
    sys.stdout.write(f"Seed {arguments.seed}.\n")
    sys.stdout.flush()
    with data_servers() as data:
        port = free_port()
        platform = Platform() if arguments.chat else None
        environment = supervisor.environment(data, port=port)
        if platform is not None:
            environment |= platform.environment()
        os.environ.update(environment)
        django.setup()
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        # Imported here, because modules with models need Django set up on the servers of this run.
        from tests.torture import chat, run  # noqa: PLC0415

        with supervisor.supervised(_victims(data, environment, arguments.logs)) as programs:
            if platform is not None:
                with platform:
                    return chat.torture(
                        programs, platform, port=port, rounds=arguments.rounds, seed=arguments.seed
                    )
            return run.torture(
                programs, port=port, rounds=arguments.rounds, seconds=arguments.seconds, seed=arguments.seed
            )


def _victims(data: DataServers, environment: dict[str, str], logs: Path | None) -> list[supervisor.Victim]:
    folder = logs or data.var_dir
    folder.mkdir(parents=True, exist_ok=True)
    programs = [
        supervisor.Program(name, environment=environment, log=folder / f"{name}.log")
        for name in ("web", "worker", "scheduler")
    ]
    return [supervisor.Redis(data), *programs]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make torture", description="Kills programs under load.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=6, help="Longest time before the kill of a round.")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--chat", action="store_true", help="Answer and vote in chat.")
    parser.add_argument("--logs", type=Path, help="A folder for the logs of the programs.")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
