"""Responses to rejected forms: the page of the form, with the reason and the typed values."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from fastapi import Request
from starlette.responses import Response

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.http_errors import Refusal

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
_CORRECTABLE = ("invalid", "conflict", "closed", "quota")
"""Kinds of refusals that a person can act on in the form; others, such as a missing role, have a
separate page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormError:
    """The reason why a form was rejected, and its fields as typed.

    Attributes:
        form: name of the form on its page.
        message: what was expected, what was received and what to do.
        status: HTTP status code of the page.
        values: fields of the form, as the browser sent them.
    """

    form: str
    message: str
    status: int
    values: Mapping[str, str]


def page_title(title: str, error: FormError | None) -> str:
    """Return the title of a page; screen readers read it first, so it announces an error."""
    return f"Error: {title}" if error else title


def answer_in_form(
    request: Request,
    form: str,
    values: Mapping[str, str],
    act: Callable[[], Response],
    show: Callable[[FormError], Response],
) -> Response:
    """Return the response of `act`; if `act` rejects the form, return the form's page with the error.

    Scripts, which accept JSON or send the form key in a header, get the error itself.

    Args:
        request: the request that sent the form.
        form: name of the form on its page.
        values: fields of the form.
        act: performs the action of the form; its transaction ends before the page is shown.
        show: renders the page of the form.
    """
    if request.headers.get("accept", "") == "application/json" or "x-form-key" in request.headers:
        return act()
    try:
        return act()
    except InvalidInput as error:
        refusal = http_errors.invalid(str(error))
    except Refusal as error:
        if error.kind not in _CORRECTABLE:
            raise
        refusal = error
    typed = {name: value for name, value in values.items() if name != "key"}
    shown = FormError(form=form, message=str(refusal), status=refusal.status, values=typed)
    return show(shown)


def rejected_in_form(
    form: str | Callable[[Mapping[str, str]], str],
    show: Callable[..., Response],
) -> Callable[[Endpoint], Endpoint]:
    """Let an endpoint with a parameter `form` respond to a rejected form with the form's page.

    Args:
        form: name of the form on its page, or a function that derives it from the fields.
        show: renders the page; called with the request, the error and the path parameters.
    """

    def decorate(endpoint: Endpoint) -> Endpoint:
        @functools.wraps(endpoint)
        def answer(**arguments: Any) -> Response:
            path = {
                name: value for name, value in arguments.items() if name not in ("request", "form")
            }
            values = cast("Mapping[str, str]", arguments["form"])
            return answer_in_form(
                arguments["request"],
                form if isinstance(form, str) else form(values),
                values,
                lambda: endpoint(**arguments),
                lambda error: show(arguments["request"], error, **path),
            )

        # FastAPI reads the parameters from the signature, and would resolve their names in this
        # module instead of the endpoint's.
        cast("Any", answer).__signature__ = inspect.signature(endpoint, eval_str=True)
        return cast("Endpoint", answer)

    return decorate
