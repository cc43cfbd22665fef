"""Webhooks of a community, for its admins: create, edit, ping, rotate, delete, and the deliveries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.views.decorators.cache import never_cache

from communities.forms import once
from communities.ground.actors import Actor
from communities.ground.errors import Refusal
from communities.ground.words import plural
from communities.staff import undo
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.listing import Column, Empty, Listing, Order
from communities.staff.texts import moment
from webhooks.admin import words
from webhooks.forms import NewWebhookForm, RedeliverForm, WebhookForm, initial_of
from webhooks.models import Delivery, Webhook
from webhooks.services import deliveries, webhooks
from webhooks.words import events_in_words

RECENT = 10  # A webhook's page shows this many deliveries.
NOTHING_TO_SEND = "No message of this time can be sent again: all have arrived, or are on their way already."
Page = Callable[[HttpRequest, Actor, Webhook], HttpResponse]


@admin.register(Webhook)
class WebhookAdmin(CommunityModelAdmin[Webhook]):
    nav = Nav("Webhooks", "send", 40)

    def rows(self, actor: Actor) -> Any:
        return Webhook.objects.in_community(actor.community_id)

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[Webhook]:
        about: dict[int, str] = {}

        def load(rows: Sequence[Webhook]) -> None:
            about.update(webhooks.projects_in_short(community_id=actor.community_id, webhooks=rows))

        return Listing(
            columns=[
                Column("Name", lambda row: row.name or row.url, is_title=True),
                Column("State", words.webhook_state),
                Column("Address", lambda row: row.url),
                Column("Events", events_in_words),
                Column("About", lambda row: about[row.pk]),
            ],
            load=load,
            orders={"newest": Order("Newest first", ("-pk",))},
            empty=Empty(
                "A webhook tells another program at once when something happens: a response comes in, "
                "a project opens or closes, an analysis is finished.",
                "New webhook",
                self.address("add"),
            ),
            address_of=lambda row: self.address("change", row.pk),
        )

    def tools(self, request: HttpRequest, actor: Actor) -> list[tuple[str, str]]:
        return [
            ("New webhook", self.address("add")),
            ("Deliveries", reverse("admin:webhooks_delivery_changelist")),
        ]

    def get_urls(self) -> list[URLPattern]:
        pages: list[tuple[str, Page]] = [
            ("edit", self.edit_page),
            ("ping", self.ping_page),
            ("rotate", self.rotate_page),
            ("delete", self.delete_page),
            ("redeliver", self.redeliver_page),
        ]
        own = [
            path(
                f"<int:object_id>/{name}/",
                self.admin_site.admin_view(never_cache(self._opened(page))),
                name=f"webhooks_webhook_{name}",
            )
            for name, page in pages
        ]
        restore = path(
            "<int:object_id>/restore/",
            self.admin_site.admin_view(self.restore_view),
            name="webhooks_webhook_restore",
        )
        return [*own, restore, *super().get_urls()]

    def _opened(self, page: Page) -> Callable[[HttpRequest, int], HttpResponse]:
        def view(request: HttpRequest, object_id: int) -> HttpResponse:
            return page(request, *self.open_row(request, str(object_id)))

        return view

    def _back(self, webhook: Webhook) -> HttpResponseRedirect:
        return HttpResponseRedirect(self.address("change", webhook.pk))

    # --- Pages ----------------------------------------------------------------------------------------

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        actor = self.actor(request)
        form, refusal = NewWebhookForm(request.POST or None, community_id=actor.community_id), ""
        if request.method == "POST" and form.is_valid():
            try:
                with transaction.atomic():
                    if not once.use(request, form.cleaned_data["ticket"]):
                        made = once.noted(
                            request, form.cleaned_data["ticket"], default=self.address("changelist")
                        )
                        return self._sent_twice(request, made)
                    webhook, secret = webhooks.register(
                        actor=actor, community_id=actor.community_id, at=timezone.now(), **form.values
                    )
                    once.note(request, form.cleaned_data["ticket"], self.address("change", webhook.pk))
            except Refusal as error:
                refusal = error.message
            else:
                return self._secret(request, webhook, secret, title="The webhook is ready")
        context = {
            "title": "New webhook",
            "form": form,
            "refusal": refusal,
            "button": "Create webhook",
            "back": self.address("changelist"),
        }
        return self.render(request, "admin/form.html", context, status=409 if refusal else 200)

    def detail_view(self, request: HttpRequest, actor: Actor, row: Webhook) -> HttpResponse:
        recent = Delivery.objects.filter(webhook=row).select_related("event").defer("event__body")
        facts = [
            ("State", words.webhook_state(row)),
            ("Address", row.url),
            ("Events", events_in_words(row)),
            ("About", webhooks.projects_in_words(row)),
            ("Secret begins with", row.secret_prefix),
            ("Created", moment(row.created_at)),
            ("Changed", moment(row.updated_at)),
        ]
        if row.failing_since:
            facts.append(
                ("Failing since", moment(max(row.failing_since, row.created_at)))
            )  # the hour is kept
        if row.previous_secret_expires_at and row.previous_secret_expires_at > timezone.now():
            facts.append(("The earlier secret signs until", moment(row.previous_secret_expires_at)))
        context = {
            "title": row.name or row.url,
            "webhook": row,
            "facts": facts,
            "tools": [
                (label, self.address(page, row.pk))
                for label, page in (
                    ("Edit", "edit"),
                    ("Send again", "redeliver"),
                    ("New secret", "rotate"),
                    ("Delete", "delete"),
                )
            ],
            "recent": [
                {
                    "address": reverse("admin:webhooks_delivery_change", args=[each.pk]),
                    "delivery": each,
                    "state": words.delivery_state(each),
                }
                for each in recent.order_by("-created_at", "-pk")[:RECENT]
            ],
            "deliveries_address": f"{reverse('admin:webhooks_delivery_changelist')}?webhook={row.pk}",
        }
        return self.render(request, "admin/webhooks/webhook/detail.html", context)

    def edit_page(self, request: HttpRequest, actor: Actor, webhook: Webhook) -> HttpResponse:
        """Change the address, the events, the name, or switch it on or off."""
        form = WebhookForm(request.POST or None, community_id=actor.community_id, initial=initial_of(webhook))
        if request.method == "POST" and form.is_valid():
            webhooks.change(
                actor=actor,
                community_id=actor.community_id,
                webhook_id=webhook.pk,
                fields=form.changes,
                at=timezone.now(),
            )
            messages.success(request, "Saved.")
            return self._back(webhook)
        context = {
            "title": f"Edit {webhook.name or webhook.url}",
            "form": form,
            "back": self.address("change", webhook.pk),
        }
        return self.render(request, "admin/form.html", context)

    def ping_page(self, request: HttpRequest, actor: Actor, webhook: Webhook) -> HttpResponse:
        """Send a test message, and show the endpoint's answer."""
        if request.method != "POST":
            return self._back(webhook)
        delivery = webhooks.ping(
            actor=actor, community_id=actor.community_id, webhook_id=webhook.pk, at=timezone.now()
        )
        return HttpResponseRedirect(reverse("admin:webhooks_delivery_change", args=[delivery.pk]))

    def rotate_page(self, request: HttpRequest, actor: Actor, webhook: Webhook) -> HttpResponse:
        """Ask for confirmation, then create a new signing secret."""
        form = once.TicketForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            with transaction.atomic():
                if not once.use(request, form.cleaned_data["ticket"]):
                    return self._sent_twice(request, self.address("change", webhook.pk))
                changed, secret = webhooks.rotate_secret(
                    actor=actor, community_id=actor.community_id, webhook_id=webhook.pk, at=timezone.now()
                )
            return self._secret(request, changed, secret, title="The new secret")
        context = {
            "title": f"New secret for {webhook.name or webhook.url}",
            "consequences": [
                "A new signing secret is made and shown to you once.",
                "For 24 hours each message carries two signatures, by the old secret and by the new one. "
                "Change your endpoint within that time.",
                "If an earlier secret was still signing, it stops at once.",
            ],
            "form": form,
            "button": "Make a new secret",
            "back": self.address("change", webhook.pk),
        }
        return self.render(request, "admin/confirm.html", context)

    def delete_page(self, request: HttpRequest, actor: Actor, webhook: Webhook) -> HttpResponse:
        """Ask for confirmation, then delete the webhook. It can be restored for ten minutes."""
        if request.method == "POST":
            webhooks.remove_with_undo(
                actor=actor, community_id=actor.community_id, webhook_id=webhook.pk, at=timezone.now()
            )
            name = webhook.name or webhook.url
            undo.offer(request, f"Deleted the webhook {name}.", address=self.address("restore", webhook.pk))
            return HttpResponseRedirect(self.address("changelist"))
        waiting = Delivery.objects.filter(webhook=webhook, due_at__isnull=False)[:1001].count()
        held = f"{plural(waiting, 'message')} that wait for it" if waiting <= 1000 else "Over 1,000 messages"
        context = {
            "title": f"Delete {webhook.name or webhook.url}?",
            "consequences": [
                "No event is sent to it any more.",
                *([f"{held} are not sent."] if waiting else []),
                "Its secret and the record of its deliveries are erased an hour later.",
                "You can undo this for ten minutes.",
            ],
            "button": "Delete the webhook",
            "is_dangerous": True,
            "back": self.address("change", webhook.pk),
        }
        return self.render(request, "admin/confirm.html", context)

    def restore_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Restore a webhook that was deleted in the last ten minutes."""
        actor = self.actor_of(request, str(object_id))
        if request.method != "POST":
            return HttpResponseRedirect(self.address("changelist"))
        try:
            webhooks.restore(
                actor=actor, community_id=actor.community_id, webhook_id=object_id, at=timezone.now()
            )
        except Refusal as refusal:
            messages.error(request, refusal.message)
            return HttpResponseRedirect(self.address("changelist"))
        messages.success(request, "The webhook is back.")
        return HttpResponseRedirect(self.address("change", object_id))

    def redeliver_page(self, request: HttpRequest, actor: Actor, webhook: Webhook) -> HttpResponse:
        """Send the deliveries of a range of time again."""
        form, refusal = RedeliverForm(request.POST or None), ""
        is_complete = request.method == "POST" and form.is_valid()
        if is_complete:
            try:
                count = deliveries.redeliver_range(
                    actor=actor,
                    community_id=actor.community_id,
                    webhook_id=webhook.pk,
                    since=form.cleaned_data["since"],
                    until=form.cleaned_data["until"],
                    statuses=form.statuses,
                    at=timezone.now(),
                )
            except Refusal as error:
                refusal = error.message
            else:
                if count:
                    messages.success(request, f"{plural(count, 'message')} will be sent again, oldest first.")
                    return self._back(webhook)
                refusal = NOTHING_TO_SEND
        context = {
            "title": f"Send again to {webhook.name or webhook.url}",
            "form": form,
            "refusal": refusal,
            "button": "Send again",
            "back": self.address("change", webhook.pk),
            "subtitle": "Messages that did not arrive, from a time when your endpoint was down for example.",
        }
        return self.render(request, "admin/form.html", context, status=409 if refusal else 200)

    def _sent_twice(self, request: HttpRequest, address: str) -> HttpResponseRedirect:
        once.say_sent_before(
            request,
            "This form was sent before, so nothing was changed this time. A secret is shown once: "
            "if you did not copy it, make a new one.",
        )
        return HttpResponseRedirect(address)

    def _secret(self, request: HttpRequest, webhook: Webhook, secret: str, *, title: str) -> HttpResponse:
        """Show a new secret, once. The page is not stored anywhere."""
        context = {
            "title": title,
            "secret": secret,
            "secret_label": "Signing secret",
            "explanation": "Your endpoint verifies with it that a message comes from Colloquy.",
            "next": self.address("change", webhook.pk),
        }
        response = self.render(request, "admin/secret.html", context)
        add_never_cache_headers(response)
        return response
