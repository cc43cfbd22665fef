"""A member's XP ledger: the newest entries on the profile, and all entries on a page of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.ground.actors import Actor, Role
from communities.models import Member
from communities.services import get_settings
from communities.staff import listing
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment, number
from xp.admin import profile
from xp.models import XpEntry
from xp.services import ledger

ON_THE_PROFILE = 10
KINDS = {
    "opening_balance": "Balance at the start",
    "unknown": "Unknown",
    "survey_completion": "Survey completed",
    "action_block": "Given in a survey",
    "poll_vote": "Vote in a poll",
    "poll_unwind": "Vote taken back",
    "recalculate": "Recalculated",
    "admin_manual": "By hand",
    "reset": "Reset to 0",
}


def may_read(actor: Actor, member: Member) -> bool:
    """Whether the actor may read this ledger: their own, and admins any (rule 8.5)."""
    return actor.is_admin or member.user_id == actor.user_id


@profile.add_sections
def newest(request: HttpRequest, actor: Actor, member: Member) -> list[profile.Section]:
    if not may_read(actor, member):
        return []
    rows = list(ledger.entries(member_id=member.pk)[: ON_THE_PROFILE + 1])
    page_rows = rows[:ON_THE_PROFILE]
    entries = ledger.entries_as_json(page_rows, community_id=actor.community_id)
    context = {
        "entries": [{**each, "kind": KINDS[str(each["source_kind"])], "by": by(each)} for each in entries],
        "more": profile.address(member.pk, "ledger") if len(rows) > ON_THE_PROFILE else "",
        "xp_name": get_settings(community_id=actor.community_id).name_of_xp,
    }
    return [profile.Section(30, "Ledger", "admin/communities/member/ledger.html", context)]


@profile.member_page("ledger", least_role=Role.MEMBER)
def whole(request: HttpRequest, actor: Actor, member: Member) -> HttpResponse:
    """All entries, newest first, in pages."""
    if not may_read(actor, member):
        raise Http404
    names = dict[int, str]()

    def load(rows: Sequence[XpEntry]) -> None:
        entries = ledger.entries_as_json(rows, community_id=actor.community_id)
        names.update({int(str(each["id"])): by(each) for each in entries})

    spec = Listing[XpEntry](
        columns=[
            Column("What", lambda entry: KINDS[entry.source_kind], is_title=True),
            Column("Change", change, is_number=True),
            Column("Total after", lambda entry: number(entry.balance_after), is_number=True),
            Column("Survey or note", lambda entry: entry.note or entry.survey_name or "–"),
            Column("By", lambda entry: names.get(entry.pk, "–")),
            Column("When", lambda entry: moment(entry.created_at)),
        ],
        orders={"newest": Order("Newest first", ("-id",))},
        filters=[Filter("by", "Kind", [("hand", "By hand"), ("survey", "By surveys and polls")], _by_kind)],
        empty=Empty("Each gain and each loss is written here, and stays."),
        load=load,
    )
    xp_name = get_settings(community_id=actor.community_id).name_of_xp
    context = {
        "title": f"{xp_name} ledger of {profile.name_of(member)}",
        "page": listing.draw(request, spec, ledger.entries(member_id=member.pk)),
    }
    return profile.render(request, member, "admin/communities/member/list.html", context)


def by(entry: Mapping[str, object]) -> str:
    """The user who gave or took the XP by hand."""
    if entry["actor_pseudonym"]:
        return f"Former staff {entry['actor_pseudonym']}"
    return str(entry["actor_name"] or "–")


def change(entry: XpEntry) -> SafeString:
    """A change with its sign."""
    sign = "+" if entry.delta >= 0 else "−"
    return format_html('<span class="change">{}{}</span>', sign, number(abs(entry.delta)))


def _by_kind(rows: Any, by: str) -> Any:
    by_hand = (XpEntry.SourceKind.ADMIN_MANUAL, XpEntry.SourceKind.RESET)
    return rows.filter(source_kind__in=by_hand) if by == "hand" else rows.exclude(source_kind__in=by_hand)
