"""Questionnaires of other systems, and what becomes of them."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

from openpyxl import Workbook

from tests.support.caller import Caller


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def workbook(**sheets: list[list[Any]]) -> str:
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return as_base64(file.getvalue())


def converted(format: str, content: Any) -> dict[str, Any]:
    """What was converted, after a new project has taken its blocks."""
    text = content if isinstance(content, str) else json.dumps(content)
    caller = Caller("creator")
    answer = caller.post("/scripts/convert", {"format": format, "content": text})
    assert answer.status_code == 200, answer.content
    made = caller.post("/projects", {"name": "Converted", "type": "convo"}).json()
    taken = caller.put(f"/projects/{made['id']}/script", {"blocks": answer.json()["blocks"]})
    assert taken.status_code == 200, taken.content
    return answer.json()


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {block["name"]: block for block in found["blocks"]}


def types(found: dict[str, Any]) -> list[str]:
    return [block["type"] for block in found["blocks"]]


def values(block: dict[str, Any]) -> list[str]:
    return [option["value"] for option in block["options"]]


REDCAP = """\
"Variable / Field Name","Form Name","Section Header","Field Type","Field Label",\
"Choices, Calculations, OR Slider Labels","Field Note","Text Validation Type OR Show Slider Number",\
"Text Validation Min","Text Validation Max",\
Identifier?,"Branching Logic (Show field only if...)","Required Field?","Custom Alignment","Question Number",\
"Matrix Group Name","Matrix Ranking?","Field Annotation"
smoker,f,Habits,radio,Do you smoke?,"1, Yes | 0, No",,,,,,,y,,,,,
kinds,f,,checkbox,What?,"1, Pipe | 2, Cigars | 9, None",,,,,,[smoker] = '1',,,,,,@NONEOFTHEABOVE='9'
years,f,,text,How many years?,,In years,integer,0,90,,[kinds(1)] = '1' or [kinds(2)] = '1',,,,,,
packs,f,,calc,Packs,[years] * 2,,,,,,,,,,,,
bmi,f,NA,calc,BMI,"round(([packs]*10000)/(([years])^(2)),1)",NA,NA,NA,NA,NA,NA,NA,NA,NA,NA,NA,NA
mail,f,,text,Your mail?,,,email,,,,[years] > 3 and [smoker] <> '0',,,,,,
m1,f,How often do you,radio,Run,"1, Never | 2, Often",,,,,,,,,,habits,,
m2,f,,radio,Swim,"1, Never | 2, Often",,,,,,,,,,habits,,
up,f,,file,A file,,,,,,,,,,,,,
when,f,,notes,Why?,,,,,,,"datediff([a], [b], 'y') > 3",,,,,,
"""
TEXT = """\
Our survey

Thank you for taking part.

1. How old are you? *
2. Which devices do you use? (choose all that apply)
   [ ] Phone
   [ ] Other: ______
   [ ] None of the above
3. How satisfied are you? (1-5, 1 = not at all, 5 = very)
4) What is your e-mail address?
   We only use it to reply.
5. Would you come again? (yes/no)
6. Rank these
   a) Price
   b) Quality
7. Where do you live?
   1. Oslo
   2. Bergen
8. Anything else?
   ________
"""
