"""Lists of people in files of staff: what each column is, what each row says, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from communities.ground.errors import refuse
from communities.ground.sent_text import sent_text
from communities.services.mail import mails
from communities.services.people.memberships import ListedPerson
from surveys.engine.language.names import is_page_parameter
from surveys.services.ground import metadata
from surveys.services.imports.tables import Table

MOST_PEOPLE = 1_000  # of one list
MAX_NAME, MAX_ADDRESS = 200, 254  # characters
NAMES = frozenset({"name", "full_name", "nick", "display_name"})
ADDRESSES = frozenset(
    {"email", "e_mail", "mail", "mail_address", "email_address", "e_mail_address", "address"}
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem with a row, by the row's number in the file."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class PeopleList:
    """The people of the rows without a fault, the names of their attributes, and the faults."""

    people: Sequence[ListedPerson]
    attributes: Sequence[str]
    faults: Sequence[Fault]


def read(table: Table) -> PeopleList:
    """The people in a table. Refuses a table without a column of names or addresses, with a column that
    cannot be an attribute, or with more than MOST_PEOPLE rows.
    """
    if len(table.rows) > MOST_PEOPLE:
        refuse("rows", "too_many", f"At most {MOST_PEOPLE:,} people at one time. Divide the list.")
    columns = _columns(table.headers)
    people: list[ListedPerson] = []
    faults: list[Fault] = []
    seen: dict[str, int] = {}
    for line, cells in table.rows:
        if len(cells) > len(columns):
            faults.append(Fault(line, "It has a cell beyond the last heading."))
            continue
        row = {column: sent_text(cell) for column, cell in zip(columns, cells, strict=True) if column}
        person = ListedPerson(
            row.pop("name", ""),
            row.pop("email", "").lower(),
            {key: text for key, text in row.items() if text},
        )
        messages = list(_faults(person, seen))
        faults += [Fault(line, message) for message in messages]
        if not messages:
            people.append(person)
            seen[person.email] = line
    return PeopleList(people, [each for each in columns if each not in ("", "name", "email")], faults)


def _columns(headers: Sequence[str]) -> list[str]:
    """The meaning of each column: `name`, `email`, the name of an attribute, or empty without a heading."""
    columns: list[str] = []
    for header in headers:
        key = re.sub(r"[^a-z0-9]+", "_", header.strip().lower()).strip("_")
        column = "name" if key in NAMES else "email" if key in ADDRESSES else key
        if header.strip() and column in columns:
            refuse(
                "rows", "duplicate", f"Two columns are “{header.strip()}”. Give one of them another heading."
            )
        if header.strip() and not metadata.is_key(column):
            refuse(
                "rows",
                "invalid",
                f"The heading “{header.strip()[:60]}” needs 1 to 40 Latin letters or digits.",
            )
        if column not in ("name", "email", "") and is_page_parameter(column):
            refuse(
                "rows", "invalid", f"“{header.strip()}” cannot be a field: give the column another heading."
            )
        columns.append(column)
    if not {"name", "email"} & {*columns}:
        refuse("rows", "required", "The first row needs a column “Name” or a column “E-mail”.")
    if len([each for each in columns if each not in ("", "name", "email")]) > metadata.MAX_FIELDS:
        refuse("rows", "too_many", f"At most {metadata.MAX_FIELDS} columns besides names and addresses.")
    return columns


def _faults(person: ListedPerson, seen: Mapping[str, int]) -> Iterator[str]:
    if not (person.name or person.email):
        yield "It has neither a name nor an address."
    if len(person.name) > MAX_NAME:
        yield f"The name is longer than {MAX_NAME} characters."
    if not person.name.isprintable():
        yield "The name has signs that cannot be printed."
    if person.email and not _is_address(person.email):
        yield f"“{person.email[:80]}” is not an e-mail address."
    elif person.email in seen and person.email:
        yield f"{person.email} is in line {seen[person.email]} already."
    for key, text in person.attributes.items():
        if len(text) > metadata.MAX_VALUE:
            yield f"`{key}` is longer than {metadata.MAX_VALUE} characters."
        elif not text.isprintable():
            yield f"`{key}` has signs that cannot be printed."


def _is_address(email: str) -> bool:
    try:
        validate_email(email)
    except ValidationError:
        return False
    return len(email) <= MAX_ADDRESS and mails.is_sendable(email)
