"""The README tells what is so."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_setting_stands_in_the_readme_and_every_setting_there_exists() -> None:
    read = re.findall(r'_env\.\w+\(\s*"(\w+)"', (ROOT / "config/settings.py").read_text())
    for file in ("config/gunicorn.py", "config/servers.py"):
        read += re.findall(r"""environ\.get\(["'](\w+)["']""", (ROOT / file).read_text())

    told = re.findall(r"^\| `([A-Z0-9_]+)` \|", README, re.MULTILINE)

    assert sorted(told) == sorted(set(read))


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    told = set(re.findall(r"\bmake ([a-z-]+)", README)) - {"and"}

    assert told <= targets


def test_every_file_the_readme_shows_or_names_exists() -> None:
    told = re.findall(r"\]\(([^)#:]+)\)", README) + re.findall(r"`((?:config|tests|\.ci)/[^` ]+)`", README)

    assert [name for name in told if not (ROOT / name).exists()] == []
