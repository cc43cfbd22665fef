"""The texts of the account area that replace django-allauth's: mails, messages and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from communities.services.mail import mails
from communities.services.mail.letters import Letter

Context = Mapping[str, Any]
IGNORE = "If this was not you, ignore this mail: nothing changes."
ALARM = "If this was not you, set a new password at once and end the other sessions in your account."


def _notice(subject: str, *paragraphs: str) -> Callable[[Context], Letter]:
    """Return a function that makes a mail about a change of the account, with the time and place of the
    change.
    """

    def compose(context: Context) -> Letter:
        return Letter(
            subject.format_map(context),
            [text.format_map(context) for text in paragraphs],
            facts=[
                ("When", f"{context['timestamp']:%-d %B %Y, %H:%M} UTC"),
                ("Browser", context["browser"]),
                ("Address", context["ip"]),
            ],
            action=("Look at your account", context["account_url"]),
            closing=[ALARM],
        )

    return compose


def _confirm(context: Context) -> Letter:
    return Letter(
        "Confirm your e-mail address",
        [f"Please confirm that {context['email']} is yours. The link works for three days."],
        action=("Confirm the address", context["activate_url"]),
        closing=[IGNORE],
    )


def _reset(context: Context) -> Letter:
    is_named = not context["username"].startswith("u-")
    return Letter(
        "Set a new password",
        [
            "Somebody, most likely you, asked to set a new password for your account.",
            *([f"Your user name is {context['username']}."] if is_named else []),
        ],
        action=("Set a new password", context["password_reset_url"]),
        closing=[IGNORE, "The link works once, within three days."],
    )


def _exists(context: Context) -> Letter:
    return Letter(
        "You have an account already",
        [
            f"Somebody, most likely you, tried to make an account with {context['email']}.",
            "There is one already.",
            "Sign in with it. If you forgot the password, set a new one.",
        ],
        action=("Set a new password", context["password_reset_url"]),
        closing=[IGNORE],
    )


def _unknown(context: Context) -> Letter:
    return Letter(
        "There is no account with this address",
        [
            f"Somebody, most likely you, asked for a new password of {context['email']}.",
            "Maybe you used another address, or another way to sign in.",
        ],
        closing=[IGNORE],
    )


# The mails by the names under which django-allauth sends them.
LETTERS: dict[str, Callable[[Context], Letter]] = {
    "account/email/email_confirmation": _confirm,
    "account/email/email_confirmation_signup": _confirm,
    "account/email/password_reset_key": _reset,
    "account/email/account_already_exists": _exists,
    "account/email/unknown_account": _unknown,
    "account/email/password_changed": _notice("Your password was changed", "Your password was changed."),
    "account/email/password_reset": _notice("Your password was changed", "A new password was set by mail."),
    "account/email/password_set": _notice("Your account has a password", "A password was set."),
    "account/email/email_changed": _notice(
        "Your main e-mail address was changed", "It was {from_email}, and is {to_email} now."
    ),
    "account/email/email_deleted": _notice(
        "An e-mail address was removed", "{deleted_email} does not belong to your account any more."
    ),
    "account/email/accounts_merged": _notice(
        "Two accounts became one",
        "Another account of yours is part of this one now. Its password does not work any more.",
    ),
    "account/email/new_sign_in": _notice(
        "New sign-in to your account", "Somebody signed in from a browser that we did not know."
    ),
    "mfa/email/totp_activated": _notice(
        "Authenticator app added", "Signing in asks for its code from now on."
    ),
    "mfa/email/totp_deactivated": _notice(
        "Authenticator app removed", "Signing in does not ask for its code."
    ),
    "mfa/email/webauthn_added": _notice("Passkey added", "A new passkey can sign in to your account."),
    "mfa/email/webauthn_removed": _notice("Passkey removed", "A passkey cannot sign in any more."),
    "mfa/email/recovery_codes_generated": _notice("New recovery codes", "The old ones do not work any more."),
    "mfa/email/recovery_code_used": _notice("A recovery code was used", "It does not work a second time."),
    "socialaccount/email/account_connected": _notice(
        "A {platform} account was connected", "You can sign in with it from now on."
    ),
    "socialaccount/email/account_disconnected": _notice(
        "A {platform} account was disconnected", "You cannot sign in with it any more."
    ),
}
for _name in LETTERS:
    mails.declare(_name, mails.Consent.ASKED)

# The messages by their names. A blank message is not shown, because the next page says the same.
MESSAGES: dict[str, str] = {
    "account/messages/cannot_delete_primary_email.txt": "This is your main address. Choose another first.",
    "account/messages/email_confirmation_failed.txt": "Another account has confirmed this address before.",
    "account/messages/email_confirmation_sent.txt": "We sent a mail to {email}.",
    "account/messages/email_confirmed.txt": "{email} is confirmed.",
    "account/messages/email_deleted.txt": "{email} was removed.",
    "account/messages/logged_in.txt": "",
    "account/messages/logged_out.txt": "You are signed out.",
    "account/messages/password_changed.txt": "Your password is changed.",
    "account/messages/password_set.txt": "Your password is set.",
    "account/messages/primary_email_set.txt": "Your main address is changed.",
    "account/messages/unverified_primary_email.txt": "Confirm the address before it can be your main one.",
    "mfa/messages/recovery_codes_generated.txt": "",
    "mfa/messages/totp_activated.txt": "Your authenticator app is set up.",
    "mfa/messages/totp_deactivated.txt": "Your authenticator app is removed.",
    "mfa/messages/webauthn_added.txt": "Your passkey is added.",
    "mfa/messages/webauthn_removed.txt": "The passkey is removed.",
    "usersessions/messages/sessions_logged_out.txt": "The other sessions are ended.",
    "socialaccount/messages/account_connected.txt": "The account is connected.",
    "socialaccount/messages/account_connected_updated.txt": "The account is connected.",
    "socialaccount/messages/account_connected_other.txt": "Another person has connected this account before.",
    "socialaccount/messages/account_disconnected.txt": "The account is disconnected.",
}

MISMATCH = "The name or the password is wrong."
ERRORS: dict[str, str] = {
    "account_inactive": MISMATCH,
    "cannot_remove_primary_email": "This is your main address. Choose another first.",
    "duplicate_email": "Your account has this address already.",
    "email_password_mismatch": MISMATCH,
    "email_taken": "Another account has this address.",
    "enter_current_password": "This is not your present password.",
    "incorrect_code": "This code is wrong, or too old.",
    "incorrect_password": "This is not your password.",
    "invalid_or_expired_key": "This link has expired.",
    "invalid_login": MISMATCH,
    "invalid_password_reset": "This link has expired, or was used before.",
    "max_email_addresses": "An account can have %d addresses at most.",
    "too_many_login_attempts": "There were too many attempts. Please wait some minutes.",
    "unknown_email": MISMATCH,
    "unverified_primary_email": "Confirm your main address first.",
    "username_blacklisted": "This name cannot be used.",
    "username_password_mismatch": MISMATCH,
    "username_taken": "This name cannot be used.",
    "select_only_one": "Please choose one.",
    "same_as_current": "This is what it is already.",
    "rate_limited": "There were too many attempts. Please wait some minutes.",
}
FACTOR_ERRORS: dict[str, str] = {
    "add_email_blocked": "This account cannot have another address.",
    "cannot_delete_authenticator": "This cannot be removed.",
    "cannot_generate_recovery_codes": "Recovery codes need a passkey or an authenticator app first.",
    "incorrect_code": "This code is wrong, or too old.",
    "unverified_email": "Confirm your e-mail address first.",
}
