"""Golden files: a script, answers over the interface, and the resulting figures of each block.

In the files each id is replaced by the name of its block or the value of its option. `removes` are options
and blocks that are taken out of the script after the answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.caller import Caller
from tests.support.surveys.results import OPEN_WEB, converse, results

pytestmark = pytest.mark.django_db
FILES = sorted((Path(__file__).parent / "golden").glob("*.json"))


def walked(golden: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The blocks of the results after the conversations, and the name of each id."""
    caller = Caller()
    project = caller.make_open(*golden["blocks"], delivery=OPEN_WEB)
    for answers in golden["talks"]:
        converse(caller, project, answers)
    names = {
        option["id"]: option["value"] for b in project["script"]["blocks"] for option in b["options"] or ()
    }
    if removed := golden.get("removes"):
        assert caller.post(f"/projects/{project['id']}/close").status_code == 200
        blocks = [each for each in project["script"]["blocks"] if each["name"] not in removed]
        for block in blocks:
            if block["options"]:
                block["options"] = [each for each in block["options"] if each["value"] not in removed]
        told = caller.put(f"/projects/{project['id']}/script", {"blocks": blocks})
        assert told.status_code == 200, told.content
    return results(caller, project)["blocks"], names


# What results tell of questions that stand since the opening.
NOT_ADDED: dict[str, Any] = {"since": None, "added_options": [], "could_see_count": None}


def with_names(told: Any, names: dict[int, str]) -> Any:
    """The same without ids: values replace the ids of options, and a block's name replaces its id."""
    if isinstance(told, list):
        return [with_names(each, names) for each in told]
    if isinstance(told, dict):
        return {
            key: names[value] if key == "option_id" and value is not None else with_names(value, names)
            for key, value in told.items()
            if key != "block_id"
        }
    return told


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_golden_file_says_is_told(path: Path) -> None:
    golden = orjson.loads(path.read_bytes())

    blocks, names = walked(golden)

    assert with_names(blocks, names) == [{**NOT_ADDED, **block} for block in golden["told"]]
