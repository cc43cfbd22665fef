"""A list page of the admin: columns, a search, filters as chips, an order, bulk actions, keyset paging."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, QueryDict

from communities.ground.sent_text import sent_text
from communities.staff import keyset
from communities.staff.day_range import DayRange

M = TypeVar("M", bound=Model)
PER_PAGE = 50
MAX_SEARCH = 200  # A search term has at most this many characters.
LOOKED_THROUGH = 10_000  # A Walk looks through at most this many rows for one page.


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `cell` returns its text, or safe HTML, for a row."""

    label: str
    cell: Callable[[Any], object]
    is_number: bool = False
    # The column contains the link to the row's page, and the heading of the row's card on a phone.
    is_title: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice among values, shown as chips. `apply` narrows the rows to the chosen value."""

    name: str
    label: str
    choices: Sequence[tuple[str, str]]
    apply: Callable[[QuerySet[Any], str], QuerySet[Any]]


@dataclass(frozen=True, slots=True)
class Order:
    """A way to sort, by fields that an index covers; see `keyset`."""

    label: str
    fields: Sequence[str]


@dataclass(frozen=True, slots=True)
class BulkAction:
    """An action on the selected rows. It links to a page that asks for confirmation, at this address."""

    label: str
    address: str
    is_dangerous: bool = False


@dataclass(frozen=True, slots=True)
class Empty:
    """The text of an empty list: a description of the objects, and the first step if the user may take it."""

    text: str
    step: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Walk:
    """The rows in which a page searches for matches that no index finds, in the orders of the list.

    A page searches LOOKED_THROUGH of the rows, and offers to search the next ones. `noun` is the word for the
    rows.
    """

    rows: QuerySet[Any]
    noun: str


@dataclass(frozen=True, slots=True)
class Chip:
    label: str
    query: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ChipGroup:
    label: str
    chips: Sequence[Chip]


@dataclass(frozen=True, slots=True)
class Cell:
    label: str
    content: object
    is_number: bool
    is_title: bool


@dataclass(frozen=True, slots=True)
class Row:
    key: str
    address: str
    cells: Sequence[Cell]

    @property
    def title(self) -> object:
        """The content of the title's cell, to name the row elsewhere."""
        return next((each.content for each in self.cells if each.is_title), "")


@dataclass(frozen=True)
class Listing(Generic[M]):
    """The description of a list. `searches` names the searched fields; a list without this text has no search
    box.
    """

    columns: Sequence[Column]
    orders: Mapping[str, Order]
    empty: Empty
    filters: Sequence[Filter] = ()
    searches: str = ""
    search: Callable[[QuerySet[Any], str], QuerySet[Any]] | None = None
    actions: Sequence[BulkAction] = ()
    address_of: Callable[[Any], str] = lambda row: ""
    # Loads the data of other tables that the cells need, for all rows at once.
    load: Callable[[Sequence[Any]], None] | None = None
    parts: Sequence[Q] = ()  # The value is an argument of keyset.read_page.
    keys_first: bool = False  # The value is an argument of keyset.read_page, used for searches.
    walk: Walk | None = None
    rows_template: str = "admin/table.html"
    # Parameters by which the caller has filtered the rows.
    keeps: Mapping[str, str] = field(default_factory=dict)
    days: DayRange | None = None


@dataclass(frozen=True)
class ListPage:
    """A drawn page of a list, for `admin/listing.html`."""

    listing: Listing[Any]
    rows: Sequence[Row]
    term: str
    filters: Sequence[ChipGroup]
    orders: Sequence[Chip]
    next: str
    previous: str
    is_narrowed: bool
    hidden: Sequence[tuple[str, str]]  # The parameters of the address that the search form keeps.
    # The number of rows that the list's walk looked through, if the page ended at the limit; else 0.
    looked_through: int
    first: str
    is_beyond_first: bool

    @property
    def hidden_beside_days(self) -> Sequence[tuple[str, str]]:
        """The parameters of the address that the form for days keeps."""
        others = [(name, value) for name, value in self.hidden if name not in ("from", "to")]
        return [*others, ("q", self.term)] if self.term else others


def draw(request: HttpRequest, listing: Listing[M], rows: QuerySet[M]) -> ListPage:
    """Read the page in the address. Parameters that the list does not know are ignored."""
    query = request.GET
    term, chosen = _asked(query, listing)
    rows = narrowed(request, listing, rows)
    names = list(listing.orders)
    order = query.get("sort", "") if query.get("sort") in listing.orders else names[0]
    page, is_cut_off = _read(query, listing, rows, listing.orders[order].fields, is_search=bool(term))
    if listing.load:
        listing.load(page.rows)
    parameters = {
        **_narrowing(listing, term, chosen),
        **({"sort": order} if order != names[0] else {}),
    }
    return ListPage(
        listing=listing,
        rows=[_row(listing, each) for each in page.rows],
        term=term,
        filters=[_chips(each, chosen, parameters) for each in listing.filters],
        orders=[_sort_chip(name, listing.orders[name], order, names[0], parameters) for name in names],
        next=_with(parameters, after=page.next) if page.next else "",
        previous=_with(parameters, before=page.previous) if page.previous else "",
        is_narrowed=bool(_narrowing(listing, term, chosen)),
        hidden=[(name, value) for name, value in parameters.items() if name != "q"],
        looked_through=LOOKED_THROUGH if is_cut_off else 0,
        first=_with(parameters),
        is_beyond_first=bool(query.get("after") or query.get("before")),
    )


def _read(
    query: QueryDict, listing: Listing[M], rows: QuerySet[M], order: keyset.Order, *, is_search: bool
) -> tuple[keyset.Page[M], bool]:
    """The page, and whether it ended at the limit of rows that one page searches."""
    after, before = query.get("after", ""), query.get("before", "")
    if listing.walk:
        return keyset.look_through(
            rows,
            order,
            among=listing.walk.rows,
            most=LOOKED_THROUGH,
            after=after,
            before=before,
            length=PER_PAGE,
        )
    page = keyset.read_page(
        rows,
        order,
        after=after,
        before=before,
        length=PER_PAGE,
        parts=listing.parts,
        keys_first=listing.keys_first and is_search,
    )
    return page, False


def narrowed(request: HttpRequest, listing: Listing[M], rows: QuerySet[M]) -> QuerySet[M]:
    """Return the rows that match the search and the filters of the address, for all pages of the list."""
    term, chosen = _asked(request.GET, listing)
    if term and listing.search:
        rows = listing.search(rows, term)
    if listing.days:
        rows = listing.days.narrow(rows)
    for each in listing.filters:
        if each.name in chosen:
            rows = each.apply(rows, chosen[each.name])
    return rows


def query_of(request: HttpRequest, listing: Listing[Any]) -> str:
    """The search and the filters of the address as a query string; empty if there are none."""
    parameters = _narrowing(listing, *_asked(request.GET, listing))
    return _with(parameters) if parameters else ""


def _asked(query: QueryDict, listing: Listing[Any]) -> tuple[str, dict[str, str]]:
    """The term of the search and the chosen filters."""
    term = sent_text(query.get("q", "").replace("\x00", ""))[:MAX_SEARCH] if listing.search else ""
    chosen = {each.name: str(query[each.name]) for each in listing.filters if _is_choice(each, query)}
    return term, chosen


def _narrowing(listing: Listing[Any], term: str, chosen: Mapping[str, str]) -> dict[str, str]:
    days = listing.days.parameters if listing.days else {}
    return {**listing.keeps, **days, **({"q": term} if term else {}), **chosen}


def _is_choice(each: Filter, query: QueryDict) -> bool:
    return query.get(each.name) in {value for value, _ in each.choices}


def _row(listing: Listing[M], row: M) -> Row:
    cells = [Cell(each.label, each.cell(row), each.is_number, each.is_title) for each in listing.columns]
    return Row(str(row.pk), listing.address_of(row), cells)


def _chips(each: Filter, chosen: Mapping[str, str], parameters: Mapping[str, str]) -> ChipGroup:
    value_now = chosen.get(each.name)
    others = {name: value for name, value in parameters.items() if name != each.name}
    every = Chip("All", _with(others), value_now is None)
    return ChipGroup(
        each.label,
        [
            every,
            *(
                Chip(label, _with(others, **{each.name: value}), value == value_now)
                for value, label in each.choices
            ),
        ],
    )


def _sort_chip(name: str, order: Order, chosen: str, default: str, parameters: Mapping[str, str]) -> Chip:
    others = {key: value for key, value in parameters.items() if key != "sort"}
    query = _with(others) if name == default else _with(others, sort=name)
    return Chip(order.label, query, name == chosen)


def _with(values: Mapping[str, str], **more: str | None) -> str:
    query = QueryDict(mutable=True)
    query.update({**values, **{name: value for name, value in more.items() if value is not None}})
    return f"?{query.urlencode()}"
