"""The command line: `python -m colloquy_client`, or `colloquy`."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import cast, get_args

import httpx2

from colloquy_client import ApiError, Colloquy, api
from colloquy_client.types import EventWithoutDataType, NewProjectStatus, Project, ResponsesExportFormat

FORMATS = get_args(ResponsesExportFormat)
SECONDS_BETWEEN_POLLS = 5
# Requests overlap, and events about anonymous responses are listed at the beginning of their hour.
OVERLAP = timedelta(minutes=2)
HOURS = timedelta(hours=2)
POLLS_BETWEEN_HOURS = 12


class Fault(Exception):
    """A message for the person at the terminal."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code: 0, or 1 if the command failed; wrong usage exits with 2."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (Fault, ApiError, httpx2.TransportError, OSError) as error:
        sys.stderr.write(f"{error or type(error).__name__}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="colloquy", description="Work with the surveys of a community.")
    commands = parser.add_subparsers(required=True, metavar="command")

    login = commands.add_parser("login", help="store an API key on this machine")
    login.add_argument("url", help="the address of Colloquy, such as https://surveys.example.org")
    login.set_defaults(run=_login)

    projects = commands.add_parser("projects", help="list, open and close projects")
    actions = projects.add_subparsers(required=True, metavar="action")
    listing = actions.add_parser("list", help="list projects")
    listing.add_argument("--status", choices=get_args(NewProjectStatus))
    listing.set_defaults(run=_list_projects)
    for name, run in (("open", _open_project), ("close", _close_project)):
        action = actions.add_parser(name, help=f"{name} a project")
        action.add_argument("project")
        action.set_defaults(run=run)

    responses = commands.add_parser("responses", help="export responses")
    export = responses.add_subparsers(required=True, metavar="action").add_parser(
        "export", help="write all responses of a project to a file"
    )
    export.add_argument("project")
    export.add_argument("file", type=Path, help=f"its ending says the format: {', '.join(FORMATS)}")
    export.set_defaults(run=_export)

    events = commands.add_parser("events", help="show the events of the last hour, one JSON object a line")
    events.add_argument("--follow", action="store_true", help="go on with new events until Ctrl-C")
    events.add_argument("--type", choices=get_args(EventWithoutDataType))
    events.add_argument("--since", type=_moment, help="begin there, for instance at 2026-01-31T09:30:00Z")
    events.set_defaults(run=_events)
    return parser


def _settings() -> Path:
    """The file with the key: in the folder for settings that the system names."""
    base = os.environ.get("APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "colloquy" / "key.json"


def _client() -> Colloquy:
    try:
        settings = json.loads(_settings().read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Fault("No key is stored: run `colloquy login` first.") from None
    return Colloquy(**settings)


def _login(options: argparse.Namespace) -> None:
    key = getpass.getpass("API key: ") if sys.stdin.isatty() else sys.stdin.readline().strip()
    with Colloquy(url=options.url, key=key, community="") as client:
        (community,) = client.send(api.communities_list())["data"]
    path = _settings()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    # The file is readable for nobody else from its first byte on.
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"url": options.url, "key": key, "community": community["id"]}, file)
    kind = "test key" if community["mode"] == "test" else "key"
    _say(f"The {kind} of {community['name']} is stored in {path}.")


def _list_projects(options: argparse.Namespace) -> None:
    with _client() as client:
        for project in client.each(api.projects_list(status=options.status)):
            _show(project)


def _open_project(options: argparse.Namespace) -> None:
    with _client() as client:
        _show(client.send(api.projects_open(options.project)))


def _close_project(options: argparse.Namespace) -> None:
    with _client() as client:
        _show(client.send(api.projects_close(options.project)))


def _show(project: Project) -> None:
    _say(f"{project['id']}\t{project['status']}\t{project['name']}")


def _export(options: argparse.Namespace) -> None:
    file: Path = options.file
    if (ending := file.suffix.removeprefix(".")) not in FORMATS:
        raise Fault(f"{file}: the ending has to be one of {', '.join(FORMATS)}.")
    unfinished = file.with_name(f"{file.name}.part")
    call = api.responses_export(options.project, format=cast(ResponsesExportFormat, ending))
    with _client() as client, client.download(call) as response, unfinished.open("wb") as output:
        for chunk in response.iter_bytes():
            output.write(chunk)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{output.tell() / 1e6:,.1f} MB ")
    unfinished.replace(file)
    _say(f"{file}: {file.stat().st_size:,} bytes.")


def _events(options: argparse.Namespace) -> None:
    now = datetime.now(UTC)
    shown_from = options.since or now - timedelta(hours=1)
    since = min(shown_from, now - HOURS)
    seen: dict[str, datetime] = {}
    with _client() as client:
        for poll in count(1):
            call = api.events_list(order="asc", since=since.isoformat(), type=options.type)
            for event in client.each(call):
                is_new = event["id"] not in seen
                seen[event["id"]] = now
                if is_new and (poll > 1 or datetime.fromisoformat(event["timestamp"]) >= shown_from):
                    _say(json.dumps(event, ensure_ascii=False))
            sys.stdout.flush()
            if not options.follow:
                return
            seen = {each: at for each, at in seen.items() if at > now - HOURS}
            since = now - (OVERLAP if poll % POLLS_BETWEEN_HOURS else HOURS)
            time.sleep(SECONDS_BETWEEN_POLLS)
            now = datetime.now(UTC)


def _moment(text: str) -> datetime:
    """A time with an offset. argparse shows the message of the error."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError("a time needs an offset, such as Z or +01:00.")
    return moment


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
