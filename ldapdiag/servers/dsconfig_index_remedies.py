"""Index remedies with dsconfig, for OpenDJ, its relatives and PingDirectory: add, build and drop indexes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.dsconfig import PASSWORD_HINT
from ldapdiag.servers.dsconfig_indexes import listed, missing_for, to_add, to_drop
from ldapdiag.servers.remedy_texts import INDEX_BY_HAND, advice_if_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.dsconfig_indexes import IndexTool
    from ldapdiag.servers.server_address import ServerAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class DsconfigIndexRemedies:
    """Index remedies for one server and backend, with the texts of its product."""

    server: ServerAddress
    family: Family
    tool: IndexTool
    while_it_builds: str
    """The risk of a build: its effect on searches, and the replicas."""
    once_dropped: str
    """The risk of a removal: its effect on searches that need the index."""
    verify: Callable[[str], str]
    """Returns the command that shows whether the index of an attribute works."""

    def add(self, changes: Sequence[Change]) -> Remedy:
        """Add indexes and build them."""
        tool = self.tool
        wanted = to_add(changes, tool.backend, tool.schema)
        named = listed(wanted.types)
        commands = "\n".join([*tool.add(wanted.types), *tool.build(wanted.types)]) if named else ""
        remedy = Remedy(
            title=f"Index {named}" if named else INDEX_BY_HAND,
            target=self.server.name,
            where=Where.SERVER,
            kind=RemedyKind.SHELL if named else RemedyKind.ADVICE,
            text=commands or wanted.left_out_sentence.strip(),
            changes=f"Searches by these attributes use an index. {wanted.left_out_sentence}{PASSWORD_HINT}",
            risk=self.while_it_builds,
            undo="\n".join(tool.undo_add(wanted.types)),
            verify="\n".join(map(self.verify, wanted.types)),
            family=self.family,
            needs=Needs.REINDEX,
            brief=commands,
        )
        return self._ready(remedy)

    def build(self, names: Sequence[str], *, kind: RemedyKind, title: str, text: str) -> Remedy:
        """Build configured indexes; kind, title and text are those to use if no name is valid in a command."""
        remedy = Remedy(
            title=f"Build the indexes of {', '.join(names)}" if names else title,
            target=self.server.name,
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
        """Remove indexes."""
        tool = self.tool
        wanted = to_drop(changes, tool.backend, tool.schema)
        named = listed(wanted.types)
        remedy = Remedy(
            title=f"Drop the index of {named}" if named else "Drop no index",
            target=self.server.name,
            where=Where.SERVER,
            kind=RemedyKind.SHELL if named else RemedyKind.ADVICE,
            text="\n".join(tool.remove(wanted.types)) if named else wanted.left_out_sentence.strip(),
            changes=(
                "Changes of these attributes become cheaper, and the database becomes smaller. "
                f"{wanted.left_out_sentence}{PASSWORD_HINT}"
            ),
            risk=self.once_dropped,
            undo="\n".join([*tool.undo_remove(wanted.types), *tool.build(wanted.types)]) if named else "",
            verify="\n".join(map(tool.show, wanted.types)),
            family=self.family,
        )
        return self._ready(remedy)

    def _ready(self, remedy: Remedy) -> Remedy:
        return advice_if_missing(remedy, missing_for(self.tool.backend))
