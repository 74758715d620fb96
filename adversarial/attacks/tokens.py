"""Tokens that are no tokens of ours, and tokens that are asked to prove more than they do."""

import base64
import json

from adversarial.bad_tokens import good_token, token_group
from adversarial.cases import Family, Sabotage, case
from adversarial.issuer import AUDIENCE, ISSUER, JWKS_URL
from adversarial.replies import Breach, Reply
from adversarial.world import World

_TOO_LONG_TO_ARRIVE = 60_000
_FLOOD = 200


async def _bearer(world: World, token: str) -> Reply:
    return await world.send("GET", "/v1/me", headers={"Authorization": f"Bearer {token}".strip().encode()})


async def _refuse_group(world: World, name: str) -> str:
    """Send each token of a group that can stand in a header at all."""
    key = world.service.issuer.key
    good = good_token(key, ISSUER, AUDIENCE)
    sendable = [bad for bad in token_group(name, key, ISSUER, AUDIENCE) if "\n" not in bad.token]
    for bad in sendable:
        reply = await _bearer(world, bad.token)
        allowed = (401, 400, 431) if len(bad.token) > _TOO_LONG_TO_ARRIVE else (401,)
        if reply.status not in allowed:
            raise Breach(f"{bad.name}: answered {reply.status}")
        reply.without([bad.token] if len(bad.token) > len(AUDIENCE) else [])
    (await _bearer(world, good)).expect(200)  # so none was refused for its age, or because everything is
    strange = set(world.service.issuer.asked) - {JWKS_URL}
    if strange:
        raise Breach(f"the service asked {strange}")
    return f"{len(sendable)} tokens, all refused, the unchanged one is not; no request but to the keys endpoint"


@case(Family.TOKENS, "401 for each, no request elsewhere")
async def tokens_with_wrong_claims(world: World) -> str:
    """Another issuer, another audience, expired, not yet valid, long-lived agents, ID tokens."""
    return await _refuse_group(world, "wrong claims")


@case(Family.TOKENS, "401 for each")
async def tokens_without_a_required_claim(world: World) -> str:
    """One claim is missing."""
    return await _refuse_group(world, "missing claims")


@case(Family.TOKENS, "401 for each")
async def tokens_with_claims_of_wrong_types(world: World) -> str:
    """Numbers, lists and odd JSON where texts belong."""
    return await _refuse_group(world, "wrong types")


@case(Family.TOKENS, "401 for each, no key is fetched from where the token says")
async def tokens_with_wrong_headers(world: World) -> str:
    """Keys and key addresses in the header, critical extensions, other types."""
    return await _refuse_group(world, "wrong headers")


@case(Family.TOKENS, "401 for each", falls_to=Sabotage.NO_SIGNATURES)
async def tokens_signed_by_somebody_else_or_nobody(world: World) -> str:
    """Other keys under our name, the public key as a secret, no signature."""
    return await _refuse_group(world, "wrong keys")


@case(Family.TOKENS, "401 for each", falls_to=Sabotage.NO_SIGNATURES)
async def tokens_spelled_wrongly(world: World) -> str:
    """Changed, truncated, padded, joined."""
    return await _refuse_group(world, "wrong spelling")


@case(Family.TOKENS, "a token counts in one Authorization header and nowhere else")
async def a_good_token_in_the_wrong_place(world: World) -> str:
    """In the query, a cookie, another header, under another scheme, twice."""
    token = world.service.issuer.token(world.victim.subject)
    query = [{"access_token": token}, {"token": token}, {"authorization": f"Bearer {token}"}]
    headers = [
        {"Cookie": f"access_token={token}; Authorization=Bearer {token}"},
        {"X-Authorization": f"Bearer {token}"},
        {"X-Forwarded-Access-Token": token},
        {"Proxy-Authorization": f"Bearer {token}"},
        *({"Authorization": f"{scheme}{token}"} for scheme in ("Basic ", "JWT ", "Token ", "DPoP ", "", "Bearer,")),
    ]
    replies = [await world.send("GET", "/v1/me", params=each) for each in query]
    replies += [await world.send("GET", "/v1/me", headers=each) for each in headers]
    twice = [("Authorization", f"Bearer {token}"), ("Authorization", f"Bearer {token}")]
    replies.append(await world.send("GET", "/v1/me", headers=twice))
    for reply in replies:
        reply.expect(401).without([token, *world.open.markers])
    return f"{len(replies)} places, all 401"


@case(Family.TOKENS, "each token speaks for its own subject, however alike they begin")
async def two_tokens_that_begin_alike(world: World) -> str:
    """An identity that is cached under the beginning of a token would be shared."""
    seen = []
    for actor in (world.victim, world.attacker, world.colleague, world.victim):
        me = (await _bearer(world, world.service.issuer.token(actor.subject))).expect(200).json()
        if me["user"]["id"] != actor.user_id:
            raise Breach("a token spoke for somebody else")
        seen.append(me["user"]["id"])
    return f"4 tokens with one header, {len(set(seen))} different users, each their own"


@case(Family.TOKENS, "an e-mail address, a role or a workspace in a token grants nothing")
async def a_token_that_claims_rights(world: World) -> str:
    """All that a provider may put into a token besides who it is for."""
    victim, attacker = world.victim, world.attacker
    claims = {"email": f"{victim.subject}@example.com", "email_verified": True, "preferred_username": victim.subject}
    rights = {"workspace_id": victim.workspace_id, "workspaces": [victim.workspace_id], "role": "owner"}
    more = {"roles": ["owner", "admin"], "groups": ["admin"], "scope": "admin openid", "user_id": victim.user_id}
    token = world.service.issuer.token(attacker.subject, **claims, **rights, **more)
    headers = {"Authorization": f"Bearer {token}"}
    me = (await world.send("GET", "/v1/me", headers=headers)).expect(200).json()
    if me["user"]["id"] != attacker.user_id or victim.workspace_id in str(me["workspaces"]):
        raise Breach("the claims of a token were believed")
    entered = await world.send("GET", "/v1/documents", headers={**headers, "X-Workspace-Id": victim.workspace_id})
    entered.expect(403).without(world.open.markers)
    return "10 claims, still the same user; the victim's workspace stays closed (403)"


@case(Family.TOKENS, "all 401, at most one fetch of keys, good tokens still pass")
async def a_flood_of_unknown_keys(world: World) -> str:
    """Every token names another key."""
    issuer = world.service.issuer
    good = issuer.token(world.attacker.subject)
    _, payload, signature = good.split(".")
    before = len(issuer.asked)
    for number in range(_FLOOD):
        header = json.dumps({"alg": "RS256", "typ": "at+jwt", "kid": f"key-{number}"}).encode()
        segment = base64.urlsafe_b64encode(header).rstrip(b"=").decode()
        (await _bearer(world, f"{segment}.{payload}.{signature}")).expect(401)
    fetched = len(issuer.asked) - before
    (await _bearer(world, good)).expect(200)
    if fetched > 1:
        raise Breach(f"{_FLOOD} tokens caused {fetched} fetches")
    return f"{_FLOOD} tokens, all 401, {fetched} fetches; a good token passes"
