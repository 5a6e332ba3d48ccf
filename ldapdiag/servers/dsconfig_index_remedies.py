"""What OpenDJ, its relatives and PingDirectory have in common where indexes are added, built and taken away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.dsconfig import PASSWORD_HINT
from ldapdiag.servers.dsconfig_indexes import lacking_of, listed, to_add, to_drop
from ldapdiag.servers.missing_names import advice_if_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.dsconfig_indexes import IndexTool


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexWork:
    """Work on the indexes of one server and backend, and what its product says of it."""

    server: str
    family: Family
    tool: IndexTool
    while_it_builds: str
    """What becomes of searches until the build ends, and of the replicas."""
    once_dropped: str
    """What becomes of searches that need an index which is gone."""
    verify: Callable[[str], str]
    """Returns the command that shows whether the index of an attribute works."""

    def add(self, changes: Sequence[Change]) -> Remedy:
        """Add indexes and build them."""
        tool = self.tool
        wanted = to_add(changes, tool.backend, tool.schema)
        named = listed(wanted.types)
        remedy = Remedy(
            title=f"Index {named}" if named else "Index what cannot be named in a command",
            target=self.server,
            where=Where.SERVER,
            kind=RemedyKind.SHELL if named else RemedyKind.ADVICE,
            text="\n".join([*tool.add(wanted.types), *tool.build(wanted.types)]) if named else wanted.sentence.strip(),
            changes=f"Searches by these attributes find their candidates in an index. {wanted.sentence}{PASSWORD_HINT}",
            risk=self.while_it_builds,
            undo="\n".join(tool.undo_add(wanted.types)),
            verify="\n".join(map(self.verify, wanted.types)),
            family=self.family,
            needs=Needs.REINDEX,
        )
        return self._ready(remedy)

    def build(self, names: Sequence[str], *, kind: RemedyKind, title: str, text: str) -> Remedy:
        """Build indexes that are configured; kind, title and text are those of a build of what has no name."""
        remedy = Remedy(
            title=f"Build the indexes of {', '.join(names)}" if names else title,
            target=self.server,
            where=Where.SERVER,
            kind=RemedyKind.SHELL if names else kind,
            text="\n".join(self.tool.build(names)) if names else text,
            changes=f"The indexes are used again. {PASSWORD_HINT}",
            risk=self.while_it_builds,
            undo="",
            verify="\n".join(map(self.verify, names)),
            family=self.family,
            needs=Needs.REINDEX,
        )
        return self._ready(remedy)

    def drop(self, changes: Sequence[Change]) -> Remedy:
        """Take indexes away."""
        tool = self.tool
        wanted = to_drop(changes, tool.backend, tool.schema)
        named = listed(wanted.types)
        remedy = Remedy(
            title=f"Drop the index of {named}" if named else "Drop no index",
            target=self.server,
            where=Where.SERVER,
            kind=RemedyKind.SHELL if named else RemedyKind.ADVICE,
            text="\n".join(tool.remove(wanted.types)) if named else wanted.sentence.strip(),
            changes=(
                f"Changes of these attributes cost less, and the database less room. {wanted.sentence}{PASSWORD_HINT}"
            ),
            risk=self.once_dropped,
            undo="\n".join([*tool.undo_remove(wanted.types), *tool.build(wanted.types)]) if named else "",
            verify="\n".join(map(tool.show, wanted.types)),
            family=self.family,
        )
        return self._ready(remedy)

    def _ready(self, remedy: Remedy) -> Remedy:
        return advice_if_missing(remedy, lacking_of(self.server, self.tool.backend))
