"""How columns of a file are read: in one way each, chosen from the whole column, and never in silence."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import openpyxl
import pytest
from django.utils import timezone

from communities.ground.errors import InvalidRequest
from surveys.models import Project, ResponseFile
from surveys.services.exports.cells import NumberText
from surveys.services.imports import files, tables
from surveys.services.imports import readings as reading_of_cells
from surveys.services.imports.files import OpenFile
from surveys.services.imports.names import Names
from surveys.services.imports.readings import MAX_COMPARED, SIGNS_OF_CELL, Readings, Way
from tests.support.caller import Caller
from tests.support.staff import client_of
from tests.support.surveys.import_files import csv_of, stored, table_of, take, worked
from tests.support.surveys.imports import listed, past, send

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller()


def received(caller: Caller, project: dict[str, Any], data: bytes) -> OpenFile:
    """A file whose columns were matched by themselves."""
    of_project = Project.objects.get(pk=project["id"])
    files.receive(actor=caller.actor, project=of_project, name="f", data=data, zone="UTC", at=timezone.now())
    opened = files.look(actor=caller.actor, project=of_project)
    assert opened is not None
    return opened


def checked(caller: Caller, project: dict[str, Any], **chosen: Any) -> OpenFile:
    of_project = Project.objects.get(pk=project["id"])
    opened = files.look(actor=caller.actor, project=of_project)
    assert opened is not None
    matching = replace(opened.matching, **chosen)
    files.match(actor=caller.actor, project=of_project, chosen=matching)
    files.check(actor=caller.actor, project=of_project)
    return worked(caller, project)


def readings_of(opened: OpenFile) -> Readings:
    return Readings(opened.table, opened.matching, opened.found)


def answers_in(caller: Caller, project: dict[str, Any]) -> list[Any]:
    names = ("block_name", "value", "label", "other_text")
    return sorted(
        str(sorted(tuple(str(answer.get(name)) for name in names) for answer in each["answers"]))
        for each in listed(caller, project)
    )


TEXTS = [
    "N/A",
    "0",
    "No",
    "False",
    "TRUE",
    "C++",
    "C",
    "a, b",
    "a",
    "b",
    ">18",
    "<18",
    "12,5",
    "-99",
    "NA",
    "x",
]
NASTY = {
    "values": [{"value": text} for text in TEXTS],
    "labels": [{"value": f"v{n}", "label": text} for n, text in enumerate(TEXTS)],
    "both": [{"value": text, "label": f"{text}; {n}"} for n, text in enumerate(TEXTS)],
    "reversed": [{"value": str(6 - n), "label": str(n)} for n in range(1, 6)],
    "booleans": [{"value": "False"}, {"value": "True"}],
}
OTHER = {"value": "Other", "is_other": True}
NUMBERS = ["-99", "999", "1.234", "12500", "0.125", "-1.5", "1000000", "12.5"]
WAYS = [{}, {"codes": True}, {"own_values": True}, {"marks_missing": True}, {"by_name": True}]


@pytest.mark.parametrize(
    ("named", "way", "format"),
    [
        *((named, way, "csv") for named, way in zip(NASTY, WAYS, strict=True)),
        *(("reversed", way, "xlsx") for way in WAYS[:3]),
    ],
)
def test_exports_of_odd_texts_and_numbers_are_read_back_exactly(
    caller: Caller, named: str, way: dict[str, Any], format: str
) -> None:
    """Rule 6.354."""
    options, none = NASTY[named], {"required": False}
    blocks = [
        {"type": "single_punch", "name": "one", "prompt": "One?", "options": [*options, OTHER], **none},
        {"type": "multi_punch", "name": "many", "prompt": "Many?", "options": [*options, OTHER], **none},
        {"type": "ranking", "name": "order", "prompt": "Order?", "options": options, **none},
        {"type": "open_text", "name": "say", "prompt": "Say?", **none},
        {"type": "open_text", "name": "born", "prompt": "Born?", "format": "date", **none},
        {"type": "open_numeric", "name": "count", "prompt": "How many?", **none},
        {"type": "rating", "name": "stars", "prompt": "Stars?", **none},
        {"type": "opinion_scale", "name": "scale", "prompt": "Scale?", **none},
        {"type": "nps", "name": "nps", "prompt": "Recommend?", **none},
    ]
    project, copy = caller.make_open(*blocks), caller.make_open(*blocks)
    values = [option["value"] for option in options]
    ids = {option["value"]: option["id"] for option in project["script"]["blocks"][2]["options"]}
    responses = [
        past(
            ("one", value),
            ("many", value),
            *([("many", values[n - 1])] if n % 2 else []),
            *(
                {"block_name": "order", "option_id": ids[each], "value": str(1 + (n + place) % len(values))}
                for place, each in enumerate(values)
            ),
            ("say", options[n].get("label") or value),
            ("born", f"1990-0{1 + n % 9}-1{n % 10}"),
            ("count", NUMBERS[n % len(NUMBERS)]),
            ("stars", "3"),
            ("scale", "5"),
            ("nps", str(n % 11)),
        )
        for n, value in enumerate(values)
    ]
    text = {"value": "Other", "other_text": "A boat, or: No"}
    responses += [
        past({"block_name": "one", **text}, {"block_name": "many", **text}, ("many", values[0])),
        past(("say", "null")),
        past(("count", "1.5")),
    ]
    sent = send(caller, project, *responses)
    assert sent.status_code == 201, sent.content

    opened = received(caller, copy, table_of(project, format, **way))
    readings = readings_of(opened)
    chosen: dict[str, str] = {}
    kind = "values" if way.get("own_values") else "labels"
    columns = [*opened.matching.columns]
    for key, hint in opened.matching.hints.items():
        label, block = opened.table.headers[int(key)].rpartition(": ")[2], opened.found.block(hint)
        assert block is not None
        assert named == "reversed"
        ids = {each.value if kind == "values" else each.label: each.id for each in block.options}
        columns[int(key)] = f"o:{block.id}:{ids[label]}"
    for index, target in enumerate(opened.matching.columns):
        if target and not readings.ways(index).is_clear:
            assert (named, target) == ("reversed", f"b:{copy['script']['blocks'][0]['id']}")
            chosen[str(index)] = kind
    again = checked(caller, copy, readings=chosen, columns=columns)

    assert (again.row.error, again.faults) == (None, [])
    stored(caller, copy)
    assert answers_in(caller, copy) == answers_in(caller, project)


def choice(*options: str, type: str = "single_punch", **more: Any) -> dict[str, Any]:
    listed = [{"value": each} for each in options]
    return {"type": type, "name": "q", "prompt": "Q?", "options": listed, "required": False, **more}


def labelled(**options: str) -> dict[str, Any]:
    listed = [{"value": value.strip("v"), "label": label} for value, label in options.items()]
    return choice() | {"options": listed}


def book(*rows: list[Any]) -> bytes:
    made, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        made.active.append(row)
    made.save(file)
    return file.getvalue()


NUMBER = {"type": "open_numeric", "name": "q", "prompt": "Q?", "required": False}
TEXT = {"type": "open_text", "name": "q", "prompt": "Q?", "required": False}
# What a column of a question holds, and what is read: the values of each row, or "!" for a fault.
COLUMNS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "numbers with a comma": (NUMBER, ["12,500", "7,5", "1.234,5"], ["12.500", "7.5", "1234.5"]),
    "numbers with a point": (NUMBER, ["12,500", "7.5", "1e5"], ["12500", "7.5", "100000"]),
    "a number in another notation": (NUMBER, ["7.5", "1,234.5", "1,5"], ["7.5", "1234.5", "!"]),
    "marks of a number": (NUMBER, ["7", "n/a", "-99"], ["7", "", "-99"]),
    "marks of a number with limits": ({**NUMBER, "min": 0}, ["7", "n/a", "-99"], ["7", "", ""]),
    "marks that are options": (choice("A", "N/A"), ["n/a", "A", "NULL"], ["N/A", "A", ""]),
    "marks that are texts": (TEXT, ["Null", "NA", "-"], ["Null", "NA", "-"]),
    "values": (labelled(v3="bad", v2="so", v1="good"), ["1", "3"], ["1", "3"]),
    "codes": (choice("Ada", "Bo", "Cy"), ["1", "3", "4"], ["Ada", "Cy", "!"]),
    "codes from 0": (choice("Ada", "Bo", "Cy"), ["0", "2", "1", "NA", "-1"], ["Ada", "Cy", "Bo", "", "!"]),
    "values with 0": (choice("0", "1", "2"), ["0", "2", "1"], ["0", "2", "1"]),
    "days": ({**TEXT, "format": "date"}, ["31/12/1990", "1/2/1991"], ["1990-12-31", "1991-02-01"]),
    "days with points": ({**TEXT, "format": "date"}, ["1.2.1991"], ["1991-02-01"]),
    "years of two digits": ({**TEXT, "format": "date"}, ["25.12.65", "1.2.1991"], ["!", "1991-02-01"]),
    "a list with a text": (
        {**choice("Car", "Bus", type="multi_punch"), "options": [{"value": "Car"}, {"value": "Bus"}, OTHER]},
        ["Car, Bus", "Car, Bus, Skateboard", "by ferry"],
        ["Bus Car", "Bus Car Other=Skateboard", "Other=by ferry"],
    ),
    "lists with other separators": (
        {**choice("Car", "Bus", type="multi_punch"), "options": [{"value": "Car"}, {"value": "Bus"}, OTHER]},
        ["Car; Bus", "Bus; Car", "Bus, Car"],
        ["Bus Car", "Bus Car", "!"],
    ),
    "a label that is a list": (choice("a, b", "a", "b", type="multi_punch"), ["a, b", "a"], ["a, b", "a"]),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_a_column_is_read_in_one_way(caller: Caller, case: str) -> None:
    """Rules 6.354 and 6.960."""
    block, cells, expected = COLUMNS[case]
    project = caller.make_open(block)
    opened = take(caller, project, csv_of(["id", "q"], *([str(n), cell] for n, cell in enumerate(cells))))
    reader = readings_of(opened)

    assert opened.row.error is None, opened.row.error
    faulty = {each.line - 2 for each in opened.faults}
    got = []
    for n, cell in enumerate(cells):
        if n in faulty:
            got.append("!")
            continue
        result = reader.read(1, cell)
        options = getattr(result, "options", None)
        texts = [
            f"Other={getattr(result, 'text', None)}" if each.is_other else each.value
            for each in options or ()
        ]
        got.append(" ".join(sorted(texts)) if options is not None else str(result or ""))
    assert got == expected


UNCLEAR: dict[str, tuple[dict[str, Any], list[str], set[str]]] = {
    "numbers": (NUMBER, ["12,500", "1,250"], {"point", "comma"}),
    "labels or values": (
        choice() | {"options": NASTY["reversed"]},
        ["1", "5"],
        {"labels", "values"},
    ),
    "days": ({**TEXT, "format": "date"}, ["03/04/2026"], {"dmy", "mdy"}),
    "codes from 0 or from 1": (choice("Ada", "Bo", "Cy"), ["0", "1", "2", "3"], {"codes", "codes0"}),
}


def test_codes_in_lists_may_begin_with_0(caller: Caller) -> None:
    """Rule 6.953."""
    project = caller.make_open(choice("Ada", "Bo", "Cy", type="multi_punch"))
    rows = [["1", "0; 2"], ["2", "1"]]

    assert take(caller, project, csv_of(["id", "q"], *rows)).row.error is None
    stored(caller, project)

    assert answers_in(caller, project) == [
        "[('q', 'Ada', 'Ada', 'None'), ('q', 'Cy', 'Cy', 'None')]",
        "[('q', 'Bo', 'Bo', 'None')]",
    ]


@pytest.mark.parametrize("case", UNCLEAR)
def test_what_can_be_read_in_two_ways_is_chosen_by_staff(caller: Caller, case: str) -> None:
    """Rule 6.355."""
    block, cells, ways = UNCLEAR[case]
    project = caller.make_open(block)
    opened = take(caller, project, csv_of(["id", "q"], *([str(n), cell] for n, cell in enumerate(cells))))

    assert opened.row.status == "failed"
    assert "Column “q”: The cells can be read as" in (opened.row.error or "")
    for way in ways:
        again = checked(caller, project, readings={"1": way})
        unread = 1 if way.startswith("codes") else 0
        assert (again.row.error, again.row.counts["new"]) == (None, len(cells) - unread)
        assert readings_of(again).ways(1).all[0].key == way


def test_columns_of_options_are_read_alike(caller: Caller) -> None:
    """Rule 6.354."""
    project = caller.make_open(choice("0", "1", "No", type="multi_punch"))
    rows = [["0", "", ""], ["", "1", ""], ["", "", "No"]]
    named = take(caller, project, csv_of(["q: 0", "q: 1", "q: No"], *rows))
    assert named.row.status == "failed"  # “0” and “No” may say that the option was not chosen
    assert checked(caller, project, readings={"0": "names"}).row.counts["new"] == 3
    stored(caller, project)
    assert answers_in(caller, project) == [
        f"[('q', '{each}', '{each}', 'None')]" for each in ("0", "1", "No")
    ]


def test_a_text_in_the_column_of_its_option_is_kept(caller: Caller) -> None:
    """Rule 6.354."""
    block = {**choice(type="multi_punch"), "options": [{"value": "Car"}, {"value": "Bus"}, OTHER]}
    project = caller.make_open(block)
    take(caller, project, csv_of(["q: Car", "q: Bus", "q: Other"], ["Car", "", ""], ["", "Bus", "Bicycle"]))
    stored(caller, project)

    assert answers_in(caller, project) == [
        "[('q', 'Bus', 'Bus', 'None'), ('q', 'Other', 'Other', 'Bicycle')]",
        "[('q', 'Car', 'Car', 'None')]",
    ]


def test_numbers_and_booleans_of_a_workbook_are_in_no_notation(caller: Caller) -> None:
    """Rule 6.354."""
    project = caller.make_open(NUMBER, {**choice("False", "True"), "name": "flat", "prompt": "Flat?"})
    take(caller, project, book(["q", "flat"], [1.234, True], [17.125, False], [12500, True], ["1,5", True]))
    opened = stored(caller, project)

    assert opened.row.counts["new"] == 4
    read = [each["answers"] for each in listed(caller, project)]
    assert sorted((each[0]["value"], each[1]["value"]) for each in read) == [
        ("1.234", "True"),
        ("1.5", "True"),
        ("12500", "True"),
        ("17.125", "False"),
    ]
    table = opened.table
    assert tables.unpacked(tables.packed(table)) == table
    assert isinstance(tables.unpacked(tables.packed(table)).rows[0][1][0], NumberText)


@pytest.mark.parametrize(
    ("headers", "columns", "hints"),
    [
        (["Q3. Rooms", "rooms?"], ["", "b"], {}),
        (["Rooms", "Rooms"], ["", ""], {"0": "b", "1": "b"}),
        (["Rooms (of others)", "rooms"], ["", "b"], {}),
        (["Any", "Room count"], ["", ""], {}),
    ],
)
def test_the_likest_header_is_matched(
    caller: Caller, headers: list[str], columns: list[str], hints: dict[str, str]
) -> None:
    """Rule 6.356."""
    project = caller.make_open({**NUMBER, "name": "x", "prompt": "Rooms"})
    matching = received(caller, project, csv_of(headers, ["1", "2"])).matching
    short = [each.partition(":")[0] for each in matching.columns]

    assert (short, {key: each.partition(":")[0] for key, each in matching.hints.items()}) == (columns, hints)


def test_cells_alone_match_no_column(caller: Caller) -> None:
    """Rule 6.356."""
    project = caller.make_open({**choice("Yes", "No"), "prompt": "Do you smoke?"})
    client, block = client_of(caller.community), project["script"]["blocks"][0]["id"]
    opened = received(caller, project, csv_of(["Consent given"], ["Yes"]))

    assert (opened.matching.columns, opened.matching.hints) == ([""], {"0": f"b:{block}"})
    page = client.get(f"/admin/surveys/project/{project['id']}/responses/import/")
    assert "Perhaps “Do you smoke?”" in page.content.decode()


REFUSED = {
    "an open quotation mark": (b'q,c\na,b\n"c,d\ne,f\n', "quotation mark in or before line 4"),
    "a quotation mark within": (b'q,c\n"c,d\ne "f",g\n', "quotation mark in or before line 3"),
    "a broken byte": (
        "q,c\nM\N{LATIN SMALL LETTER U WITH DIAERESIS}ller,a\n".encode() + b"caf\xe9,b",
        "line 3",
    ),
    "cyrillic": ("q,c\nПривет,a\n".encode("cp1251"), "not UTF-8 in line 2"),
    "macroman": ("q,c\nMüller,a\n".encode("mac_roman"), "not UTF-8 in line 2"),
    "a formula without its result": (book(["q"], ["=1+1"]), "Row 2 has a formula without its result"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_would_lose_texts_is_refused(case: str) -> None:
    """Rule 6.357."""
    data, said = REFUSED[case]
    with pytest.raises(InvalidRequest, match=said):
        tables.read(data)


def test_what_a_file_has_beside_its_table_is_named(caller: Caller) -> None:
    """Rule 6.357."""
    made, file = openpyxl.Workbook(), io.BytesIO()
    made.active.append(["q"])
    made.active.append([1])
    made.create_sheet("Wave 2").append(["q"])
    made.save(file)
    project = caller.make_open(TEXT)

    assert tables.read(file.getvalue()).notes == ["The sheet “sheet” was read, and not: “wave 2”."]
    assert "“Müller”" in tables.read("q\nMüller".encode("cp1252")).notes[0]
    opened = take(caller, project, b"id,q\n1,Yes, I like it\n2,fine\n")
    assert [(each.line, each.message) for each in opened.faults] == [
        (2, "“I like it” stands beyond the last column.")
    ]


@pytest.mark.parametrize(
    "data",
    [b"sep=;\nq;c\na;b\n", b"Say, if you like, what;c\na;b\n", b"q|c\na|b\n", b"q\tc\na, b\tc\n"],
)
def test_the_separator_is_the_one_that_divides_rows_alike(data: bytes) -> None:
    """Rule 6.357."""
    table = tables.read(data)
    assert (len(table.headers), [len(cells) for _, cells in table.rows]) == (2, [2])


def test_the_page_says_how_columns_are_read_and_takes_another_choice(caller: Caller) -> None:
    """Rule 6.355."""
    project = caller.make_open(NUMBER, {**TEXT, "name": "r", "prompt": "R?"})
    address = f"/admin/surveys/project/{project['id']}/responses/import/"
    client = client_of(caller.community)
    client.post(f"{address}file/", csv_of(["q", "r"], ["12,500", "NA"]), content_type="text/csv")
    page = client.get(address).content.decode()
    assert "which differ. Choose one." in page
    sent = {
        "zone": "UTC",
        "moment": "2026-01-01T00:00",
        "first": "0",
        **{f"column_{n}": target for n, target in enumerate(ResponseFile.objects.get().matching["columns"])},
    }

    refused = client.post(address, sent | {"do": "check"}, follow=True)
    assert "Column “q”: The cells can be read as" in refused.content.decode()
    client.post(address, sent | {"do": "check", "reading_0": "comma", "missing_1": "NA; none"})

    row = ResponseFile.objects.get()
    assert (row.matching["readings"], row.matching["missing"]) == ({"0": "comma"}, {"1": ["NA", "none"]})
    worked(caller, project)
    page = client.get(address).content.decode()
    assert "“12,500” is 12.5." in page
    assert "“NA” counts as no answer: 1 cell." in page


LABELS = [f"Label {n} of a long list" for n in range(98)] + ["a;b;c;d;e;f;g;h"]
LONG = {
    **choice(type="multi_punch"),
    "options": [{"value": f"v{n}", "label": text} for n, text in enumerate(LABELS)],
}
EXPENSIVE: dict[str, tuple[dict[str, Any], list[list[str]]]] = {
    "long lists": (LONG, [["q"], *([";".join(LABELS[n % 9 : 95]).upper() + f"|{n}"] for n in range(60))]),
    "columns of options": (
        LONG,
        [[f"q: {text}" for text in LABELS[:98]], *([f"{n} {m}" for m in range(98)] for n in range(60))],
    ),
    "numbers": (NUMBER, [["q"], *([f"{n:013b},5"] for n in range(4_000))]),
    "days": (
        {**TEXT, "format": "date"},
        [["q"], *([f"{n % 28 + 1}/{n % 12 + 1}/{n}"] for n in range(1_000, 5_000))],
    ),
}


@pytest.mark.parametrize("case", EXPENSIVE)
def test_the_cells_that_are_compared_are_limited_by_their_signs(
    caller: Caller, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 12.621."""
    block, table = EXPENSIVE[case]
    rows = [[str(n) if n else "id", *row] for n, row in enumerate(table)]
    opened = received(caller, caller.make_open(block), csv_of(*rows))
    costs, possible = Counter[str](), Readings._possible

    def noted(way: Way, cell: str) -> object:
        costs[way.key] += len(cell) + SIGNS_OF_CELL
        return way.read(cell)

    def counted(self: Readings, index: int) -> list[Way]:
        return [replace(way, read=partial(noted, way)) for way in possible(self, index)]

    monkeypatch.setattr(Readings, "_possible", counted)
    readings = readings_of(opened)
    ways = [readings.ways(n) for n in range(1, len(rows[0]))]

    longest = max(len(cell) + SIGNS_OF_CELL for row in table for cell in row)
    whole = sum(len(cell) + SIGNS_OF_CELL for row in table[1:] for cell in row)
    assert all(0 < cost < MAX_COMPARED + longest < whole for cost in costs.values()), costs

    costs.clear()
    assert list(readings.facts(1))
    assert (sum(costs.values()) > 0) == ways[0].is_clear
    assert sum(costs.values()) < MAX_COMPARED + longest


def test_each_part_of_a_list_is_looked_up_once(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 12.621."""
    cells = [";".join(LABELS[n : n + 40]) for n in range(20)]
    opened = received(
        caller, caller.make_open(LONG), csv_of(["id", "q"], *([str(n), cell] for n, cell in enumerate(cells)))
    )
    looked_up, likest = Counter[tuple[str, tuple[str, ...]]](), Names._likest

    def counted(self: Names[Any], text: str, kinds: Any) -> Any:
        looked_up[text, tuple(kinds)] += 1
        return likest(self, text, kinds)

    monkeypatch.setattr(Names, "_likest", counted)
    ways = readings_of(opened).ways(1)

    assert ways.all[0].key == "labels semicolons"
    assert {*looked_up.values()} == {1}
    assert {text for text, _ in looked_up if ";" not in text} <= {*LABELS}
    assert len(looked_up) < 2 * len(LABELS)


@pytest.mark.parametrize(
    ("block", "alike", "telling"),
    [
        (NUMBER, [f"1{'0' * n}" for n in range(30)], "12,500"),
        ({**TEXT, "format": "date"}, [f"2026-01-{n}" for n in range(10, 31)], "03/04/2026"),
    ],
)
def test_cells_that_tell_ways_apart_are_compared_first(
    caller: Caller, block: dict[str, Any], alike: list[str], telling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 12.621."""
    monkeypatch.setattr(reading_of_cells, "MAX_COMPARED", 40)
    rows = [[str(n), cell] for n, cell in enumerate((*alike, telling))]
    readings = readings_of(received(caller, caller.make_open(block), csv_of(["id", "q"], *rows)))

    assert not readings.ways(1).is_clear
