from django.urls import path

from webhooks.pages import deliveries, views

urlpatterns = [
    path("", views.overview, name="account_webhooks"),
    path("new/", views.new, name="account_webhook_new"),
    path("<int:webhook_id>/", views.detail, name="account_webhook"),
    path("<int:webhook_id>/edit/", views.edit, name="account_webhook_edit"),
    path("<int:webhook_id>/switch/", views.switch, name="account_webhook_switch"),
    path("<int:webhook_id>/rotate/", views.rotate, name="account_webhook_rotate"),
    path("<int:webhook_id>/ping/", views.ping, name="account_webhook_ping"),
    path("<int:webhook_id>/delete/", views.delete, name="account_webhook_delete"),
    path("<int:webhook_id>/restore/", views.restore, name="account_webhook_restore"),
    path("<int:webhook_id>/deliveries/", deliveries.log, name="account_deliveries"),
    path("deliveries/<uuid:delivery_id>/", deliveries.delivery, name="account_delivery"),
    path("deliveries/<uuid:delivery_id>/again/", deliveries.again, name="account_delivery_again"),
]
