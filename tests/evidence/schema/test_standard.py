"""The attribute types of the RFCs, for where no schema was collected."""

from __future__ import annotations

from ldapdiag.evidence.schema.standard import DESCRIPTIONS, standard


class TestStandard:
    def test_every_description_is_understood_and_differs(self) -> None:
        described = list(filter(None, DESCRIPTIONS.splitlines()))
        types = {id(one): one for one in standard().types.values()}.values()
        assert len(described) == len(types) == len({one.oid for one in types})
        names = [name.lower() for one in types for name in (one.oid, *one.names)]
        assert len(names) == len(set(names)) == len(standard().types)

    def test_every_supertype_is_there_and_every_syntax_an_oid(self) -> None:
        for one in standard().types.values():
            assert not one.sup or standard().find(one.sup), one
            assert standard().syntax(one.name).replace(".", "").isdigit(), one

    def test_ranges_as_the_rfcs_have_them(self) -> None:
        known = standard()
        assert known.ordering("employeeNumber") == known.ordering("cn") == known.ordering("shadowMax") == ""
        assert known.ordering("modifyTimestamp") == known.ordering("createTimestamp") == "generalizedtimeorderingmatch"
        assert known.equality("memberOf") == ""
