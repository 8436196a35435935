"""Looking papers up: a service by its name, ready to be asked."""

from pathlib import Path

from store.lookups.services import SERVICES, Found, Service
from store.lookups.web import Web

__all__ = ["SERVICES", "Found", "Service", "open_service"]


def open_service(name: str, *, base: str = "", key: str = "", contact: str = "", cache: Path | None = None) -> Service:
    """The service of that name, at another address than its own where one is given."""
    address = SERVICES[name]
    secret = {address.key_in: key} if key and address.key_in and "-" not in address.key_in else {}
    if contact and name in {"crossref", "openalex"}:
        secret |= {"mailto": contact}
    headers = {address.key_in: key} if key and "-" in address.key_in else {}
    # A server on this machine is somebody's own, and needs no politeness.
    gap = 0.0 if "://127.0.0.1" in base or "://localhost" in base else address.gap
    web = Web(
        address.title, base or address.base, gap, secret, headers, contact, cache,
        key_name=address.key_name, has_key=bool(key), needs_key=address.needs_key,
    )  # fmt: skip
    return address.make(web)
