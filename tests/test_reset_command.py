"""`manage.py reset` deletes the data of `make run`: after a question, and never while Colloquy is running."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from config import embedded

pytestmark = pytest.mark.long

DATA = {"postgres-17", "demo.json", "secret_key", "static", "log"}


@pytest.fixture
def var_dir(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the data of an installation and a file that is not ours."""
    settings.VAR_DIR = tmp_path
    monkeypatch.delenv("DATABASE_URL", raising=False)
    for name in ("postgres-17/base", "run", "static", "log"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("demo.json", "secret_key", "run/postgres.users", "mine.txt"):
        (tmp_path / name).touch()
    yield tmp_path
    embedded.detach(var_dir=tmp_path)


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _on_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answer)


def test_it_deletes_all_data_after_a_yes_and_nothing_else(
    var_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _on_terminal(monkeypatch, "yes")

    call_command("reset")

    assert _names(var_dir) == {"run", "mine.txt"}
    assert "demo.json, log, postgres-17, secret_key, static" in capsys.readouterr().out


@pytest.mark.parametrize("answer", ["", "no", "y"])
def test_it_deletes_nothing_after_another_answer(
    var_dir: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    _on_terminal(monkeypatch, answer)

    with pytest.raises(CommandError, match=r"^Nothing was deleted\.$"):
        call_command("reset")

    assert _names(var_dir) >= DATA


def test_without_a_terminal_it_asks_for_an_explicit_confirmation(
    var_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)

    with pytest.raises(CommandError, match="CONFIRM=yes make reset"):
        call_command("reset")
    before = _names(var_dir)
    call_command("reset", "--no-input")

    assert before >= DATA
    assert _names(var_dir) == {"run", "mine.txt"}


def test_it_refuses_while_colloquy_is_running(var_dir: Path) -> None:
    embedded.attach("valkey", var_dir=var_dir)

    with pytest.raises(CommandError, match=r"is running on .*: stop it first, with Ctrl-C"):
        call_command("reset", "--no-input")

    assert _names(var_dir) >= DATA


def test_it_leaves_an_installation_with_a_database_of_its_own_alone(
    var_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.example.org/colloquy")

    with pytest.raises(CommandError, match=r"^DATABASE_URL is set, and this deletes the embedded"):
        call_command("reset", "--no-input")

    assert _names(var_dir) >= DATA
