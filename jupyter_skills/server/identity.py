"""Whose skills a request is about."""

from __future__ import annotations

from jupyter_server.auth.identity import IdentityProvider, LegacyIdentityProvider, PasswordIdentityProvider
from jupyter_server.auth.login import LegacyLoginHandler, LoginFormHandler
from jupyter_server.base.handlers import JupyterHandler

from jupyter_skills.store.location import current_user

_STOCK_PROVIDERS = (IdentityProvider, PasswordIdentityProvider, LegacyIdentityProvider)
_STOCK_LOGINS = (LoginFormHandler, LegacyLoginHandler)

# Every method through which a provider can come to know who somebody is.
_SOURCES = (
    "get_user",
    "_get_user",
    "get_user_token",
    "get_user_cookie",
    "user_from_cookie",
    "generate_anonymous_user",
    "process_login_form",
)


def owner_of(handler: JupyterHandler) -> str:
    """The name under which the store knows the user of an authenticated request.

    A plain Jupyter server has one user, and one token or password. It makes up a new name for whoever shows it, so
    skills stored under that name would be lost with the browser's cookie, and the command line would not see them.
    Its user is therefore the one that ``current_user`` names.

    The user's name itself can't tell whether it was made up: it looks like a random identifier, and so may the real
    names of a hub. The provider's class can't tell either: many subclasses only change what is shown of a user. What
    does tell is where users come from: if a provider finds them by the very methods of jupyter_server's own providers
    and login page, nothing in it can know a name. JupyterHub's and any other that knows people replaces one of them.
    """
    if not _knows_people(handler):
        return current_user()
    return str(handler.current_user.username)


def _knows_people(handler: JupyterHandler) -> bool:
    provider = type(handler.identity_provider)
    if any(_is_replaced(provider, name) for name in _SOURCES):
        return True
    if handler.identity_provider.login_handler_class not in _STOCK_LOGINS:
        return True
    # How JupyterHub did it before there were identity providers; jupyter_server still follows it.
    return handler.get_current_user.__module__ != JupyterHandler.__module__


def _is_replaced(provider: type, name: str) -> bool:
    own = getattr(provider, name, None)
    return all(own is not getattr(stock, name, None) for stock in _STOCK_PROVIDERS)
