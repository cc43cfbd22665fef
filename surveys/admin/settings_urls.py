"""The addresses of the tabs with a project's settings, and of the page that opens it."""

from __future__ import annotations

from collections.abc import Callable

from django.http.response import HttpResponseBase

from surveys.admin import address_values, delivery, grants, links, look, opening, renaming, rewards, share

SETTINGS_ROUTES: list[tuple[str, Callable[..., HttpResponseBase], str]] = [
    ("open/", opening.open_view, "open"),
    ("rename/", renaming.rename, "rename"),
    ("delivery/", delivery.delivery, "delivery"),
    ("delivery/preview/", delivery.preview, "delivery_preview"),
    ("look/", look.look, "look"),
    ("look/preview/", look.preview, "look_preview"),
    ("rewards/", rewards.rewards, "rewards"),
    ("share/", share.share, "share"),
    ("share/people/", grants.people, "share_people"),
    ("share/links/", links.all_links, "share_links"),
    ("share/links/send/", links.send, "share_links_send"),
    ("share/links/file/<str:format>/", links.file, "share_links_file"),
    ("share/links/<uuid:link_id>/", links.one, "share_link"),
    ("share/links/<uuid:link_id>/revoke/", links.revoke, "share_link_revoke"),
    ("share/values/", address_values.values, "share_values"),
    ("share/post-again/", share.post_again, "share_post_again"),
    ("share/short-address/", share.short_address, "share_short_address"),
    ("share/qr.svg", share.qr_svg, "share_qr_svg"),
    ("share/qr.png", share.qr_png, "share_qr_png"),
    ("share/new-address/", share.new_address, "share_new_address"),
]
