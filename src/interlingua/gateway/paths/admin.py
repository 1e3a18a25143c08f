"""Administration over HTTP: keys, users, teams, budgets, usage and the audit log.

None of these paths exists until a key with `admin` was issued on the machine. That right cannot be
granted over the network, a key's folder cannot be chosen there, and the token of a key is in the
answer that made it and nowhere else. The right is looked up in the store for every request."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from interlingua.events.payloads import KeyIssued, KeyRevoked, KeyRotated
from interlingua.gateway.keys import key_admin
from interlingua.gateway.keys.key_admin import Task, Terms
from interlingua.gateway.shared.bodies import number, read, text_of
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.principal import KeyPrincipal, spending
from interlingua.gateway.shared.state import ROUTE, Principal
from interlingua.model.ids import is_ulid

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

PAGE, MOST = 100, 1000
NO_FOLDER = "."
"""The folder of keys that are issued over the network: none in particular."""
LONGEST_GRACE = 30 * 86_400
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Email = Annotated[str, Meta(min_length=3, max_length=320)]
Models = Annotated[tuple[Name, ...], Meta(max_length=1000)]

ChangedKey = msgspec.defstruct(
    "ChangedKey",
    [
        (
            info.name,
            (Models | None if info.name in ("allowed_models", "allowed_tools") else info.type)
            | UnsetType,
            UNSET,
        )
        for info in msgspec.structs.fields(Terms)
        if info.name != "admin"
    ],
    namespace={"__doc__": "`PATCH /admin/keys/{id}`: the options that change; null for no limit."},
    forbid_unknown_fields=True,
    kw_only=True,
    module=__name__,
)
NewKey = msgspec.defstruct(
    "NewKey",
    [("name", Name), ("user_id", str | None, None), ("team_id", str | None, None)],
    bases=(ChangedKey,),
    namespace={"__doc__": "`POST /admin/keys`: a name, the owners and the options of a key."},
    forbid_unknown_fields=True,
    kw_only=True,
    module=__name__,
)


class Rotation(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /admin/keys/{id}/rotate`: how long the old key stays valid."""

    grace_seconds: Annotated[int, Meta(ge=0, le=LONGEST_GRACE)] = 86_400


class Capped(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Caps in dollars; null for none."""

    daily_cap_usd: Decimal | UnsetType | None = UNSET
    weekly_cap_usd: Decimal | UnsetType | None = UNSET
    monthly_cap_usd: Decimal | UnsetType | None = UNSET

    def caps(self) -> list[Decimal | None]:
        """By day, month and week."""
        amounts = self.daily_cap_usd, self.monthly_cap_usd, self.weekly_cap_usd
        return [None if amount is UNSET else amount for amount in amounts]


class NewOwner(Capped, kw_only=True):
    """`POST /admin/users` and `/admin/teams`; only users have an e-mail address."""

    name: Name
    email: Email | None = None


class ChangedOwner(Capped, kw_only=True):
    """`PATCH /admin/users/{id}` and `/admin/teams/{id}`: the fields that change."""

    name: Name | UnsetType = UNSET
    email: Email | UnsetType | None = UNSET
    status: Literal["active", "disabled"] | UnsetType = UNSET


class NewBudget(Capped, kw_only=True):
    """`POST /admin/budgets`: a cap on a model, a tag or an end user, of one owner's keys or all."""

    kind: Literal["model", "tag", "end_user"]
    value: Name
    owner_id: str | None = None


# Keys


async def keys(service: Service, request: Request, principal: Principal) -> Response:
    return answer({"keys": await key_admin.visible_keys(service.store, None)})


async def key(service: Service, request: Request, principal: Principal) -> Response:
    return answer(await _key(service, _id(request, "gk_")))


async def issue(service: Service, request: Request, principal: Principal) -> Response:
    body: Any = await read(request, NewKey, service.limits)
    options = _options(service, body)
    owners = [options.pop("user_id", None), options.pop("team_id", None)]
    await _require_owners(service, *owners)
    name = text_of(options.pop("name"), "name")
    task, token = key_admin.issuing(name, NO_FOLDER, Terms(**options), *owners)
    made = await _done(service, principal, task)
    service.tracer.emit("gateway.key_issued", KeyIssued(made.id, *owners))
    return answer({"token": token, "key": await _key(service, made.id)}, 201)


async def change(service: Service, request: Request, principal: Principal) -> Response:
    id = _id(request, "gk_")
    options = _options(service, await read(request, ChangedKey, service.limits))
    await _done(service, principal, key_admin.changing(id, **options))
    return answer(await _key(service, id))


async def rotate(service: Service, request: Request, principal: Principal) -> Response:
    id = _id(request, "gk_")
    body = await read(request, Rotation, service.limits)
    old = await service.store.key(id)
    if old.admin and id != principal.key_id:
        text = (
            "the key of another administrator cannot be rotated here; rotate it on the machine of"
            " the gateway, or revoke it"
        )
        raise ApiError(403, "admin_key", text)
    task, token = key_admin.rotating(id, timedelta(seconds=body.grace_seconds))
    made = await _done(service, principal, task)
    service.tracer.emit("gateway.key_rotated", KeyRotated(id, made.id))
    return answer({"token": token, "key": await _key(service, made.id)}, 201)


async def revoke(service: Service, request: Request, principal: Principal) -> Response:
    id = _id(request, "gk_")
    await _done(service, principal, key_admin.revoking(id))
    service.tracer.emit("gateway.key_revoked", KeyRevoked(id))
    return answer(await _key(service, id))


async def _key(service: Service, id: str) -> dict[str, Any]:
    return await key_admin.visible_key(service.store, id)


def _options(service: Service, body: Any) -> dict[str, Any]:
    """The fields that a body has; a model that is a route of the gateway is that route."""
    options = _present(body)
    for pattern in options.get("allowed_tools") or ():
        text_of(pattern, "allowed_tools")
    if models := options.get("allowed_models"):
        routes = service.gateway.settings.routes
        texts = [text_of(name, "allowed_models") for name in models]
        options["allowed_models"] = tuple([ROUTE + n if n in routes else n for n in texts])
    return options


# Users and teams


async def users(service: Service, request: Request, principal: Principal) -> Response:
    return await _listing(service, request, "user")


async def teams(service: Service, request: Request, principal: Principal) -> Response:
    return await _listing(service, request, "team")


async def budgets(service: Service, request: Request, principal: Principal) -> Response:
    return await _listing(service, request, "budget")


async def _listing(service: Service, request: Request, kind: str) -> Response:
    """A page of rows, by id, with their spending."""
    limit = number(request.query_params, "limit", PAGE, 1, MOST)
    after = request.query_params.get("after", "")
    list_: Any = getattr(service.store, f"{kind}s")
    rows = await list_(text_of(after, "after") if after else "", limit + 1)
    shown = await _shown(service, rows[:limit])
    return answer({f"{kind}s": shown, "has_more": len(rows) > limit})


async def _shown(service: Service, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows as JSON, with the amounts spent and reserved in this day, week and month."""
    spent: dict[str, dict[str, Any]] = {row.id: {} for row in rows}
    found = await service.store.spent([*spent], key_admin.today()) if rows else []
    for each in found:
        spent[each.owner_id] |= spending(each)
    return [{**msgspec.structs.asdict(row), "spent": spent[row.id]} for row in rows]


async def add_user(service: Service, request: Request, principal: Principal) -> Response:
    body = await read(request, NewOwner, service.limits)
    email = None if body.email is None else text_of(body.email, "email")
    task = key_admin.adding_user(email, text_of(body.name, "name"), *body.caps())
    made = await _done(service, principal, task)
    return answer((await _shown(service, [made]))[0], 201)


async def add_team(service: Service, request: Request, principal: Principal) -> Response:
    body = await read(request, NewOwner, service.limits)
    _require_no_email(body.email)
    task = key_admin.adding_team(text_of(body.name, "name"), *body.caps())
    made = await _done(service, principal, task)
    return answer((await _shown(service, [made]))[0], 201)


def _require_no_email(email: object) -> None:
    if email not in (None, UNSET):
        raise ApiError(400, "invalid_request", "email: only users have an e-mail address")


async def change_user(service: Service, request: Request, principal: Principal) -> Response:
    return await _change_owner(service, request, principal, "user", _id(request, "usr_"))


async def change_team(service: Service, request: Request, principal: Principal) -> Response:
    return await _change_owner(service, request, principal, "team", _id(request, "team_"))


async def _change_owner(
    service: Service,
    request: Request,
    principal: Principal,
    kind: Literal["user", "team"],
    id: str,
) -> Response:
    body = await read(request, ChangedOwner, service.limits)
    if kind == "team":
        _require_no_email(body.email)
    changes = _present(body)
    for name in ("name", "email"):
        if changes.get(name) is not None:
            text_of(changes[name], name)
    task = key_admin.changing_owner(kind, id, **changes)
    return answer((await _shown(service, [await _done(service, principal, task)]))[0])


async def add_budget(service: Service, request: Request, principal: Principal) -> Response:
    body = await read(request, NewBudget, service.limits)
    owner = body.owner_id
    if owner is not None:
        owner = await _account(service, owner)
    task = key_admin.adding_budget(body.kind, text_of(body.value, "value"), owner, *body.caps())
    made = await _done(service, principal, task)
    return answer((await _shown(service, [made]))[0], 201)


async def remove_budget(service: Service, request: Request, principal: Principal) -> Response:
    id = _id(request, "bud_")
    await _done(service, principal, key_admin.removing_budget(id))
    return answer({"removed": id})


async def _account(service: Service, owner: str) -> str:
    """The id under which the spending of a key, a user or a team is counted."""
    match owner.partition("_")[0]:
        case "gk":
            key = await service.store.key(text_of(owner, "owner_id"))
            return key.account_id or key.id
        case "usr":
            return (await service.store.user(text_of(owner, "owner_id"))).id
        case "team":
            return (await service.store.team(text_of(owner, "owner_id"))).id
        case _:
            raise ApiError(400, "invalid_request", "owner_id: expected a key, a user or a team")


# The audit log


async def audit(service: Service, request: Request, principal: Principal) -> Response:
    """The audit log, the newest entry first."""
    limit = number(request.query_params, "limit", PAGE, 1, MOST)
    before = request.query_params.get("before", "")
    rows = await service.store.audit(text_of(before, "before") if before else "", limit + 1)
    return answer({"changes": rows[:limit], "has_more": len(rows) > limit})


# Shared code


async def require_admin(service: Service, principal: Principal) -> Principal:
    """The caller with the rights of this moment; `ApiError` with 403 for any other key."""
    principal = await service.gateway.keys.current(principal, looked_up=True)
    if not (isinstance(principal, KeyPrincipal) and principal.admin):
        text = "this key cannot administer the gateway; `interlingua keys issue --admin` makes one"
        raise ApiError(403, "admin_required", text)
    return principal


async def _done(service: Service, principal: Principal, task: Task[Any]) -> Any:
    """Makes a change for the caller. This process applies it immediately, others within two
    seconds."""
    actor = principal.key_id or ""
    with task.clashes():
        await service.store.administer(task.kind, task.id, task.make, actor, task.action)
    service.gateway.keys.forget()
    return task.result()


async def _require_owners(service: Service, user_id: str | None, team_id: str | None) -> None:
    if user_id is not None:
        await service.store.user(text_of(user_id, "user_id"))
    if team_id is not None:
        await service.store.team(text_of(team_id, "team_id"))


def _present(body: Any) -> dict[str, Any]:
    fields = msgspec.structs.asdict(body)
    return {name: value for name, value in fields.items() if value is not UNSET}


def _id(request: Request, prefix: str) -> str:
    id: str = request.path_params["id"]
    if id.startswith(prefix) and is_ulid(id.removeprefix(prefix)):
        return id
    raise ApiError(404, "not_found", "no such id")
