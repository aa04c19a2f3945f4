"""People: roles, the first administrator, and the one-time code that lets them in."""

import secrets
from datetime import timedelta

from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from gateway import audit
from gateway.callers import ROLES, Caller
from gateway.errors import GatewayError
from gateway.models import SetupCode, User
from gateway.tokens import digest_of

CODE_LIVES = timedelta(days=2)
CODE_TRIES = 20
_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # nothing that looks like something else


def set_role(user: User, role: str, *, caller: Caller) -> User:
    """Gives `user` one role (`gateway.callers.ROLES`), or none for an empty string.

    An administrator may also open the admin site. The last one cannot be demoted.
    """
    if role and role not in ROLES:
        raise GatewayError(_("There is no role “%(role)s”.") % {"role": role}, code="UNKNOWN_ROLE")
    with transaction.atomic():
        if refusal := role_refusal(user, role):
            raise GatewayError(refusal, code="LAST_ADMINISTRATOR")
        user.groups.remove(*Group.objects.filter(name__in=ROLES))
        if role:
            user.groups.add(Group.objects.get_or_create(name=role)[0])
        user.is_staff = user.is_superuser = role == "administrator"
        user.save(update_fields=["is_staff", "is_superuser"])
    user._role = role  # type: ignore[attr-defined]
    audit.record(caller, "person.role", subject=user.get_username(), detail={"role": role})
    return user


def role_refusal(user: User, role: str) -> str:
    """Why `user` cannot have `role` from now on: the site would be without an administrator. Empty: may."""
    others = administrators().exclude(pk=user.pk)
    if role == "administrator" or others.exists() or not administrators().filter(pk=user.pk).exists():
        return ""
    return _("The last administrator must stay one.")


def set_active(user: User, active: bool, *, caller: Caller) -> User:
    """Lets `user` in, or locks them out: every session of theirs ends with their next request.

    Raises GatewayError `LAST_ADMINISTRATOR` where nobody could administer any more.
    """
    with transaction.atomic():
        if not active and (refusal := role_refusal(user, "")):
            raise GatewayError(refusal, code="LAST_ADMINISTRATOR")
        user.is_active = active
        user.save(update_fields=["is_active"])
    audit.record(caller, "person.let_in" if active else "person.locked_out", subject=user.get_username())
    return user


def administrators():  # type: ignore[no-untyped-def]
    """Everybody who can administer now."""
    return User.objects.filter(is_active=True).filter(is_superuser=True)


def needs_setup() -> bool:
    """True until there is an administrator."""
    return not administrators().exists()


def new_setup_code() -> str:
    """Makes the code that the server prints, ending every earlier one. Three groups of four, about 59 bits."""
    code = "-".join("".join(secrets.choice(_LETTERS) for _i in range(4)) for _j in range(3))
    with transaction.atomic():
        SetupCode.objects.filter(used_at=None).delete()
        SetupCode.objects.create(digest=digest_of(code))
    return code


def make_first_administrator(
    *, code: str, username: str, password: str, caller: Caller, language: str = ""
) -> User:
    """Makes the first administrator for whoever knows the printed code; the code then is used up.

    Raises GatewayError `SETUP_DONE`, `SETUP_CODE_WRONG` or `USERNAME_TAKEN`, and Django's ValidationError
    for a weak password. Two people at once: one wins, the other is told that setup is done.
    """
    if not needs_setup():
        raise GatewayError(_("Setup is done already: sign in."), code="SETUP_DONE")
    now = timezone.now()
    live = SetupCode.objects.filter(used_at=None, created_at__gt=now - CODE_LIVES, tries__lt=CODE_TRIES)
    row = live.filter(digest=digest_of(code.strip().upper())).first()
    if row is None:
        live.update(tries=F("tries") + 1)
        audit.record(caller, "setup.refused", outcome="refused", reason="wrong code")
        raise GatewayError(
            _(
                "That code is not the one the server printed. It works once, for two days; "
                "`script/server` or `manage.py setup_code` prints a new one."
            ),
            code="SETUP_CODE_WRONG",
        )
    validate_password(password, User(username=username))
    if User.objects.filter(username=username).exists():
        raise GatewayError(_("That name is taken."), code="USERNAME_TAKEN")
    with transaction.atomic():
        if not SetupCode.objects.filter(pk=row.pk, used_at=None).update(used_at=now):
            raise GatewayError(_("Setup is done already: sign in."), code="SETUP_DONE")
        user = User.objects.create_user(username, password=password, language=language)
        set_role(user, "administrator", caller=caller)
    audit.record(caller, "setup.done", subject=username)
    return user


def keep_reading(user: User, **choices: str) -> User:
    """Keeps how `user` likes to read: any of `language`, `theme`, `time_zone` (empty: not pinned)."""
    if unknown := set(choices) - {"language", "theme", "time_zone"}:
        raise ValueError(f"not a reading choice: {sorted(unknown)}")
    for name, value in choices.items():
        setattr(user, name, value)
    user.save(update_fields=list(choices))
    return user


def change_password(user: User, password: str, *, caller: Caller) -> User:
    """Sets a password that a form has validated. Every other session of `user` ends with it."""
    user.set_password(password)
    user.save(update_fields=["password"])
    audit.record(caller, "person.password_changed", subject=user.get_username())
    return user
