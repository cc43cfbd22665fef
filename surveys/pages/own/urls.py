from django.urls import path

from surveys.pages.own import data, invited, merging, views

urlpatterns = [
    path("", views.overview, name="account"),
    path("sources/merge/", merging.merge, name="account_merge"),
    path("invitations/<str:token>/merge/", invited.merge, name="account_invitation_merge"),
    path("responses/", views.responses, name="account_responses"),
    path("responses/<uuid:response_id>/", views.response, name="account_response"),
    path("data/", data.overview, name="account_data"),
    path("data/export/", data.export, name="account_data_export"),
    path("data/erase/", data.erase, name="account_data_erase"),
    path("data/leave/<int:community_id>/", data.leave, name="account_data_leave"),
]
