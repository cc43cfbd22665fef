"""The forms of the account area: django-allauth's forms with our texts. They refuse input while no attempts
are left.
"""

from __future__ import annotations

from typing import Any

from allauth.account import forms as account
from allauth.account.adapter import get_adapter
from allauth.core import context
from allauth.mfa.base import forms as factors
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes import forms as recovery
from allauth.mfa.totp import forms as totp
from allauth.mfa.webauthn import forms as passkeys
from allauth.mfa.webauthn.internal.auth import parse_authentication_response
from django import forms
from django.contrib.auth.hashers import make_password

from communities import sign_in
from communities.accounts import failures, limits, sign_ups
from communities.ground.form_fields import TextField
from communities.models import User
from communities.services.inviting import invitations
from communities.sign_in import TooBusy, TooManyAttempts

MIN_PASSWORD = "At least 8 characters, better 15. Not a common password, and not like your name or address."
MAX_PASSKEYS, MAX_PASSKEY_NAME = 20, 100
MAX_CREDENTIAL = 16_384  # The data from a passkey's device has at most this many characters.
UNREADABLE = "This passkey did not prove who you are. Please try again."
CODE = "The six digits that your authenticator app shows."


class Limited(forms.Form):
    """A form that checks nothing while no attempts are left. Labels, help texts and placeholders are ours."""

    words: dict[str, tuple[str, str]] = {}
    """Labels and help texts, by the field."""
    way: failures.Way | None = None
    """The kind of proof that the form takes. Proofs that the form refuses are logged."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            field.label, field.help_text = self.words.get(name, (field.label, ""))

    def full_clean(self) -> None:
        refusal = limits.refusal_of(context.request)
        if refusal is None:
            try:
                super().full_clean()
            except TooManyAttempts as too_many:
                limits.refuse(context.request, refusal := too_many)
                if isinstance(too_many, TooBusy):
                    limits.give_all_back(context.request)
        if refusal is not None and self.is_bound:
            self._errors = forms.utils.ErrorDict(renderer=self.renderer)
            self.cleaned_data = {}
            self.add_error(None, forms.ValidationError(str(refusal), code="too_many"))
        if self.way is not None and self.is_bound and self._errors:
            failures.record_form(context.request, self.way, self)


class Proof(Limited):
    """Ends a sign-in by a code or passkey. A correct proof is not counted for its address."""

    def full_clean(self) -> None:
        super().full_clean()
        if self.is_bound and not self._errors:
            limits.give_back(context.request)


class SignIn(Limited, account.LoginForm):
    """The sign-in form. The form checks no password while no attempts are left."""

    way = "password"
    account: str | None = None
    """The account that was typed, as a keyed hash."""
    words = {
        "login": ("E-mail address or user name", ""),
        "password": ("Password", ""),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].widget.attrs |= {
            "autocomplete": "username webauthn",
            "autocapitalize": "none",
            "spellcheck": "false",
            "maxlength": "254",
        }

    def _clean_with_password(self, credentials: dict[str, Any]) -> Any:
        self.account = sign_in.account_named(self.cleaned_data["login"])
        sign_in.count_attempt(self.request, self.account)
        try:
            cleaned = super()._clean_with_password(credentials)
        except TooBusy:
            sign_in.give_attempt_back(self.request, self.account)
            raise
        sign_in.forget_attempts(self.request, self.account)
        return cleaned


class SignUp(Limited, account.SignupForm):
    """The form for a person's own account, in a community that lets anybody sign up."""

    words = {
        "name": ("Your name", "As others will see it."),
        "email": ("E-mail address", "We send you a mail to confirm it."),
        "password1": ("Password", MIN_PASSWORD),
    }
    field_order = ("name", "email", "password1")
    name = TextField(max_length=200, widget=forms.TextInput(attrs={"autocomplete": "name"}))

    def clean(self) -> dict[str, Any]:
        """Refuse a password that resembles the name, which django-allauth does not know."""
        cleaned: dict[str, Any] = super().clean() or {}
        password = cleaned.get("password1")
        if password and "password1" not in self.errors:
            user = User(name=cleaned.get("name", ""), email=cleaned.get("email", ""))
            try:
                get_adapter().clean_password(password, user=user)
            except forms.ValidationError as refusal:
                self.add_error("password1", refusal)
        return cleaned

    def try_save(self, request: Any) -> Any:
        if self.account_already_exists:
            with sign_in.hashing_slot():  # The hash takes as long as for a new account.
                make_password(self.cleaned_data["password1"])
        return super().try_save(request)

    def custom_signup(self, request: Any, user: Any) -> None:
        user.name = self.cleaned_data["name"]
        user.save(update_fields=["name"])
        community = sign_ups.community_of(request)
        assert community is not None  # The form can only be submitted in a community.
        invitations.await_confirmation(
            community_id=community.pk, user=user, email=self.cleaned_data["email"], at=invitations.now()
        )


class LinkInvitation(Limited):
    """The address to which the invitation of a link is sent."""

    words = {"email": ("E-mail address", "We send you a mail: open its link to go on.")}
    email = forms.EmailField(widget=forms.EmailInput(attrs={"autocomplete": "email"}))


class InvitedSignUp(Limited):
    """An account for the address to which the invitation went."""

    words = {
        "name": ("Your name", "As others will see it."),
        "password1": ("Password", MIN_PASSWORD),
    }
    name = TextField(max_length=200, widget=forms.TextInput(attrs={"autocomplete": "name"}))
    password1 = account.SetPasswordField()

    def judge_password_of(self, user: User) -> None:
        """Refuse passwords that resemble the name or the address."""
        field: Any = self.fields["password1"]
        field.user = user


class AddAddress(Limited, account.AddEmailForm):
    words = {"email": ("Another e-mail address", "We send a mail there to confirm it.")}


class ChangePassword(Limited, account.ChangePasswordForm):
    words = {
        "oldpassword": ("Present password", ""),
        "password1": ("New password", MIN_PASSWORD),
        "password2": ("New password, again", ""),
    }

    def clean_oldpassword(self) -> str:
        with sign_in.hashing_slot(context.request):
            checked: str = super().clean_oldpassword()
        return checked


class SetPassword(Limited, account.SetPasswordForm):
    words = {"password1": ("Password", MIN_PASSWORD), "password2": ("Password, again", "")}


class AskReset(Limited, account.ResetPasswordForm):
    words = {"email": ("E-mail address", "")}

    def save(self, request: Any, **kwargs: Any) -> str:
        if not self.users:  # The form does the same work as for an account.
            account.default_token_generator.make_token(User(pk=0, password=""))
        email: str = super().save(request, **kwargs)
        return email


class ResetPassword(Limited, account.ResetPasswordKeyForm):
    words = {"password1": ("New password", MIN_PASSWORD), "password2": ("New password, again", "")}


class Reauthenticate(Limited, account.ReauthenticateForm):
    way = "password"
    words = {"password": ("Password", "")}


def _one_time(form: forms.Form) -> None:
    form.fields["code"].widget.attrs |= {
        "autocomplete": "one-time-code",
        "inputmode": "numeric",
        "class": "one-time",
        "spellcheck": "false",
    }


class EnterCode(Proof, factors.AuthenticateForm):
    way = "code"
    words = {"code": ("Code", "From your authenticator app, or one of your recovery codes.")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _one_time(self)


class ReauthenticateByCode(Limited, factors.ReauthenticateForm):
    way = "code"
    words = EnterCode.words

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _one_time(self)


class CredentialField(forms.JSONField):
    """The data that a passkey's device has sent, of limited size and in a readable form."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) > MAX_CREDENTIAL:
            raise forms.ValidationError(UNREADABLE)
        try:
            return super().to_python(value)
        except RecursionError:
            raise forms.ValidationError(UNREADABLE) from None


class _ByPasskey(Limited, passkeys.AuthenticateWebAuthnForm):
    """Proves the identity of a person by a passkey, whose device has verified its user.

    django-allauth stores one challenge for all purposes in a session, so the answer itself must contain the
    purpose.
    """

    way = "passkey"
    credential = CredentialField(widget=forms.HiddenInput)

    def clean_credential(self) -> Authenticator:
        try:
            answer = parse_authentication_response(self.cleaned_data["credential"]).response
            if not answer.authenticator_data.is_user_verified():
                raise forms.ValidationError(UNREADABLE)
            return super().clean_credential()
        except (AttributeError, KeyError):  # Every device sends all parts, but here a part is missing.
            raise forms.ValidationError(UNREADABLE) from None


class EnterPasskey(_ByPasskey, Proof, passkeys.AuthenticateWebAuthnForm):
    pass


class SignInByPasskey(_ByPasskey, Proof, passkeys.LoginWebAuthnForm):
    pass


class ReauthenticateByPasskey(_ByPasskey, passkeys.ReauthenticateWebAuthnForm):
    pass


class AddPasskey(Limited, passkeys.AddWebAuthnForm):
    """Each passkey can sign in without a password, so its device must verify its user."""

    words = {"name": ("Name", "To tell your passkeys apart, such as the name of the device.")}
    passwordless = None
    name = TextField(required=False, max_length=MAX_PASSKEY_NAME)
    credential = CredentialField(widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        self.cleaned_data["passwordless"] = True
        own = Authenticator.objects.filter(user=self.user, type=Authenticator.Type.WEBAUTHN)
        if own.count() >= MAX_PASSKEYS:
            raise forms.ValidationError(
                f"You have {MAX_PASSKEYS} passkeys. Remove one before you add another."
            )
        try:
            cleaned: dict[str, Any] = super().clean() or {}
        except (AttributeError, KeyError):
            raise forms.ValidationError(UNREADABLE) from None
        return cleaned


class RenamePasskey(Limited, passkeys.EditWebAuthnForm):
    words = {"name": ("Name", "To tell your passkeys apart, such as the name of the device.")}
    name = TextField(max_length=MAX_PASSKEY_NAME)


class AddAuthenticatorApp(Limited, totp.ActivateTOTPForm):
    words = {"code": ("Code", CODE)}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _one_time(self)


class RemoveAuthenticatorApp(Limited, totp.DeactivateTOTPForm):
    pass


class NewRecoveryCodes(Limited, recovery.GenerateRecoveryCodesForm):
    pass
