"""Index entries of 389-ds as a test writes them, and what is read of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexConfiguration, IndexDefinition
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.format import Format

DATABASES = "cn=ldbm database,cn=plugins,cn=config"
BACKEND = f"dn: cn=userRoot,{DATABASES}\ncn: userRoot\nnsslapd-suffix: dc=example,dc=com\n\n"
LIST = f"dn: cn=index,cn=userRoot,{DATABASES}\ncn: index\n\n"


def index(*lines: str, attribute: str = "uid", backend: str = "userRoot") -> str:
    """Return an index entry."""
    rows = "".join(f"{line}\n" for line in lines)
    return f"dn: cn={attribute},cn=index,cn={backend},{DATABASES}\ncn: {attribute}\n{rows}\n"


def limits(*lines: str, below: str = "") -> str:
    """Return the entry with the limits of all backends, or the one below it."""
    rows = "".join(f"{line}\n" for line in lines)
    return f"dn: {below}cn=config,{DATABASES}\n{rows}\n"


def plugin(init: str, *lines: str, name: str = "one", on: bool = True) -> str:
    """Return the entry of a plug-in."""
    rows = "".join(f"{line}\n" for line in (f"nsslapd-pluginEnabled: {'on' if on else 'off'}", *lines))
    return f"dn: cn={name},cn=plugins,cn=config\nnsslapd-pluginInitfunc: {init}\n{rows}\n"


def read(text: str | bytes, *, form: Format | None = None) -> IndexConfiguration:
    """Return the one index configuration of a text."""
    (found,) = [fact for fact in facts_of(text, form=form) if isinstance(fact, IndexConfiguration)]
    return found


def the_index(*lines: str, attribute: str = "uid") -> IndexDefinition:
    """Return what is read of one index entry."""
    (backend,) = read(index(*lines, attribute=attribute)).backends
    (definition,) = backend.definitions
    return definition


def by_attribute(definitions: Iterable[IndexDefinition]) -> dict[str, IndexDefinition]:
    """Return definitions by the attribute in lower case."""
    return {one.attribute.lower(): one for one in definitions}
