from django.urls import include, path, re_path

from communities.accounts import chat, invitation, keys, setup, views

urlpatterns = [
    path("sources/", include("communities.accounts.providers.routes")),
    path("invitations/<str:token>/", invitation.page, name="account_invitation"),
    path("join/<int:community_id>/", invitation.join, name="account_join"),
    path("keys/", keys.overview, name="account_keys"),
    path("keys/new/", keys.new, name="account_key_new"),
    path("keys/<int:key_id>/rotate/", keys.rotate, name="account_key_rotate"),
    path("keys/<int:key_id>/revoke/", keys.revoke, name="account_key_revoke"),
    path("chat/", chat.page, name="account_chat"),
    path("chat/check/", chat.check, name="account_chat_check"),
    path("chat/again/<int:task_id>/", chat.try_again, name="account_chat_again"),
    path("setup/<int:community_id>/", setup.begin, name="account_setup"),
    path("setup/<int:community_id>/done/", setup.done, name="account_setup_done"),
    path("setup/<int:community_id>/<slug:slug>/", setup.step, name="account_setup_step"),
    # These paths precede django-allauth's own paths of the same names.
    path("signup/", views.SignUp.as_view(), name="account_signup"),
    path("email/", views.Addresses.as_view(), name="account_email"),
    path("password/set/", views.SetPassword.as_view(), name="account_set_password"),
    path("sessions/", views.Sessions.as_view(), name="usersessions_list"),
    path("2fa/browsers/forget/", views.forget_browsers, name="account_forget_browsers"),
    path("2fa/recovery-codes/download/", views.absent),  # The page with new codes contains the file.
    # These ways to sign in are disabled. Only the ways in the README can sign in.
    path("login/code/confirm/", views.absent),
    path("3rdparty/signup/", views.absent),
    re_path("^social/", views.absent),
    path("", include("allauth.urls")),
]
