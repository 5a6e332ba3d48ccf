"""The report for people: order, tone and layout of SCREENS, on whatever terminal there is."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

import diagnoses
import documents
from command import INCIDENT
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.finding import Severity
from ldapdiag.report.as_text import Screen
from ldapdiag.report.page import Page
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from ldapdiag.check import Check

SCREEN = Path(__file__).parent / "incident.txt"
MARGIN = " " * 12


@pytest.fixture(scope="module")
def incident() -> Diagnosis:
    """Return the diagnosis of the example."""
    return diagnose(gather([str(INCIDENT)]), installed_checks())


def shown(diagnosis: Diagnosis, *, verbose: bool = False, width: int = 100) -> list[str]:
    """Return the lines of a report."""
    stream = StringIO()
    Screen(Page(stream, width), documents.of(diagnosis), verbose=verbose).show()
    return stream.getvalue().splitlines()


def told(*checks: Check[[]], verbose: bool = False) -> str:
    """Return what is said of a site by these checks."""
    return "\n".join(shown(diagnoses.diagnosis(*checks), verbose=verbose))


class TestIncident:
    def test_looks_as_a_person_has_read_and_approved_it(self, incident: Diagnosis) -> None:
        """A change of it is made by `ldapdiag diagnose examples/incident > tests/report/incident.txt`, and read."""
        stream = StringIO()
        Screen.write(documents.of(incident), stream)
        assert stream.getvalue() == SCREEN.read_text()

    def test_says_first_what_one_would_say_on_the_phone(self, incident: Diagnosis) -> None:
        lines = shown(incident)
        assert lines[4] == "CRITICAL    268 of the 270 connections from app1 no longer exist on app1"

    @pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
    @pytest.mark.parametrize("verbose", [False, True])
    def test_nothing_but_commands_is_wider_than_the_terminal(
        self, incident: Diagnosis, width: int, *, verbose: bool
    ) -> None:
        lines = shown(incident, width=width, verbose=verbose)
        wide = [line for line in lines if cell_len(line) > width]
        commands = {line for finding in incident.findings for one in finding.remedies for line in pasted(one)}
        assert set(wide) <= commands

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_no_line_ends_in_blanks(self, incident: Diagnosis, width: int) -> None:
        assert [line for line in shown(incident, width=width) if line != line.rstrip()] == []

    def test_commands_stand_at_the_left_edge_and_in_one_piece(self, incident: Diagnosis) -> None:
        lines = shown(incident, verbose=True, width=40)
        commands = [line for finding in incident.findings for one in finding.remedies for line in pasted(one)]
        assert len(commands) > 20
        assert [line for line in commands if line not in lines] == []

    def test_with_origins_and_every_file_only_when_asked(self, incident: Diagnosis) -> None:
        brief, full = "\n".join(shown(incident)), "\n".join(shown(incident, verbose=True))
        assert "ldap/errors" not in brief
        assert re.search(r"^read +ldap/|^ +ldap/errors: ", full, re.MULTILINE)
        assert "from app1/ss-tiepmnaO.txt" in full

    def test_has_no_colour_when_it_is_no_terminal(self, incident: Diagnosis) -> None:
        assert "\x1b" not in "\n".join(shown(incident))


def pasted(remedy: object) -> list[str]:
    """Return the lines of a remedy's commands, when they are commands."""
    if getattr(remedy, "kind", None) == "advice":
        return []
    return [line for name in ("text", "verify", "undo") for line in getattr(remedy, name).splitlines()]


class TestFindings:
    @pytest.mark.parametrize("severity", list(Severity))
    def test_severity_is_a_word(self, severity: Severity) -> None:
        word = str(severity)
        word = word.upper() if severity >= Severity.HIGH else word
        text = told(diagnoses.check("wrong", diagnoses.finding(severity=severity)))
        assert re.search(rf"^{word} +something is wrong", text, re.MULTILINE)

    def test_what_it_means_is_told_of_grave_ones_of_the_worst_and_when_asked(self) -> None:
        one, two = (
            diagnoses.check(name, diagnoses.finding(severity=Severity.LOW, detail=f"It means {name}."))
            for name in ("one", "two")
        )
        assert "It means one." in told(one)
        assert "It means two." not in told(one, two)
        assert "It means two." in told(one, two, verbose=True)
        grave = diagnoses.check("wrong", diagnoses.finding(), diagnoses.finding(detail="It means this as well."))
        assert "It means this as well." in told(grave)

    def test_of_a_long_explanation_whole_sentences_are_shown_and_the_rest_is_counted(self) -> None:
        detail = "\n".join(f"Sentence {number} {'has many words ' * 10}end." for number in range(9))
        long = diagnoses.check("wrong", diagnoses.finding(detail=detail))
        assert told(long).count("end.") == 3
        assert "wrong · likely · -v shows 12 more lines" in told(long)
        assert told(long, verbose=True).count("end.") == 9
        assert "more lines" not in told(long, verbose=True)

    def test_many_lesser_ones_of_a_check_are_counted(self) -> None:
        many = diagnoses.check("wrong", *(diagnoses.finding(f"host{n}", severity=Severity.INFO) for n in range(9)))
        assert told(many).count("something is wrong") == 5
        assert "and 4 more of wrong (-v shows them)" in told(many)
        assert told(many, verbose=True).count("something is wrong") == 9

    def test_grave_ones_are_never_left_out(self) -> None:
        many = diagnoses.check("wrong", *(diagnoses.finding(f"host{n}") for n in range(30)))
        assert told(many).count("something is wrong") == 30

    def test_the_first_three_of_a_check_are_in_full_and_the_others_have_their_titles(self) -> None:
        remedies = [(replace(diagnoses.REMEDY, target=f"host{n}"),) for n in range(9)]
        found = (diagnoses.finding(f"host{n}", detail=f"Of {n}.", remedies=remedies[n]) for n in range(9))
        many = diagnoses.check("wrong", *found)
        assert [n for n in range(9) if f"Of {n}." in told(many)] == [0, 1, 2]
        assert told(many).count("replace: nsslapd-idletimeout\n") == 3
        assert told(many).count("drain: set the idle timeout") == 9
        assert [n for n in range(9) if f"Of {n}." in told(many, verbose=True)] == list(range(9))

    def test_of_hundreds_of_grave_ones_the_rest_is_a_number(self) -> None:
        many = diagnoses.check("wrong", *(diagnoses.finding(f"host{n}") for n in range(2050)))
        assert told(many).count("something is wrong") == 50
        assert "and 2,000 more of wrong at high or critical (-v shows them)" in told(many)

    def test_bars_start_at_zero_and_are_proportional(self) -> None:
        observed = {"server_count": 200, "client_count": 50, "client_hosts": ["app1"], "client": "10.77.2.2"}
        observed |= {"matched": 50, "ghosts": 150}
        text = told(diagnoses.check("wrong", diagnoses.finding(server="ldap", observed=observed)))
        assert f"{MARGIN}at ldap  200 {'━' * 10}{'╍' * 30}\n{MARGIN}at app1   50 {'━' * 10}\n" in text

    def test_the_largest_shares_are_shown_and_the_rest_is_summed(self) -> None:
        rows = [{"bind_dn": f"uid={n}", "connections": 10 - n} for n in range(8)]
        share = diagnoses.check("share", diagnoses.finding(observed={"by_account": rows}))
        assert "and 3 more with 12" in told(share)
        assert "uid=7" in told(share, verbose=True)

    def test_only_the_first_remedy_shows_its_commands(self) -> None:
        remedies = (diagnoses.REMEDY, replace(diagnoses.REMEDY, target="app1"))
        two = diagnoses.check("wrong", diagnoses.finding(remedies=remedies))
        assert told(two).count("\nreplace: nsslapd-idletimeout\n") == 1
        assert told(two, verbose=True).count("\nreplace: nsslapd-idletimeout\n") == 2

    def test_a_long_block_of_commands_is_counted(self) -> None:
        long = replace(diagnoses.REMEDY, text="\n".join(f"command {number}" for number in range(99)))
        check = diagnoses.check("wrong", diagnoses.finding(remedies=(long,)))
        assert "commands: 99 lines (-v shows them)" in told(check)
        assert "command 98" not in told(check)
        assert "command 98" in told(check, verbose=True)

    def test_the_few_lines_of_a_long_block_stand_below_its_worst_risk(self) -> None:
        text = "\n".join(f"command {number}" for number in range(99))
        long = replace(diagnoses.REMEDY, text=text, brief="few lines", risk="All is lost. It is late.")
        check = diagnoses.check("wrong", diagnoses.finding(remedies=(long,)))
        assert "risk: All is lost.\n\nfew lines\n" in told(check)
        assert "It is late" not in told(check)
        assert "few lines" not in told(check, verbose=True)
        assert "It is late" in told(check, verbose=True)

    def test_a_first_step_of_another_check_is_printed_once(self) -> None:
        cured = diagnoses.check("costly-search", diagnoses.finding(server="ldap", observed={"shape": "(uid=?)"}))
        index = diagnoses.finding(server="ldap", observed={"shapes": ["(uid=?)"]}, remedies=(diagnoses.REMEDY,))
        cure = diagnoses.check("missing-index", index)
        text = told(cured, cure)
        assert text.count("\nreplace: nsslapd-idletimeout\n") == 1
        assert text.index("    first   drain: set the idle timeout · at ldap") < text.index("missing-index · likely")
        assert "1  drain: set the idle timeout · see above" in text

    def test_without_a_remedy_the_first_step_is_to_read_what_to_do(self) -> None:
        assert "    first   read what to do: ldapdiag checks wrong\n" in told(
            diagnoses.check("wrong", diagnoses.finding())
        )

    def test_how_to_verify_and_undo_is_told_when_asked(self) -> None:
        text = told(diagnoses.check("wrong", diagnoses.finding(remedies=(diagnoses.REMEDY,))), verbose=True)
        assert "risk: living ones may be cut" in text
        assert f"\n{diagnoses.REMEDY.verify}\n" in text
        assert f"\n{diagnoses.REMEDY.undo}\n" in text


class TestTheRest:
    def test_a_crashed_check_is_shown_and_never_clear(self) -> None:
        text = told(diagnoses.crashing(), diagnoses.check("well", diagnoses.clear()))
        assert re.search(
            r"^CRASHED +stumbling-block: ZeroDivisionError: of \\x1b\[31mall things \(package ",
            text,
            re.MULTILINE,
        )
        assert "nothing is claimed" in " ".join(text.split())
        assert re.search(r"^clear +well$", text, re.MULTILINE)

    def test_what_could_not_be_judged_says_why_once_and_how_to_change_that(self) -> None:
        checks = [diagnoses.check(name, diagnoses.not_judged()) for name in ("one", "two")]
        brief = r"^not judged  2 checks \(-v names them\)\n +2  no access log · add the access log$"
        assert re.search(brief, told(*checks), re.MULTILINE)
        full = r"^not judged  one, two: no access log\n +how: add the access log$"
        assert re.search(full, told(*checks, verbose=True), re.MULTILINE)

    def test_a_check_clear_of_some_only_says_of_how_many(self) -> None:
        some = diagnoses.check("some", diagnoses.clear("a"), diagnoses.clear("b"), diagnoses.not_judged())
        assert re.search(r"^clear +some \(2 of 3\)$", told(some), re.MULTILINE)

    def test_what_is_clear_is_told_in_full_beside_a_finding(self) -> None:
        text = told(diagnoses.check("wrong", diagnoses.finding(), diagnoses.clear()))
        assert re.search(r"^clear +app2 -> ldap: a healthy pool  \(wrong\)$", text, re.MULTILINE)

    def test_much_that_is_clear_is_counted(self) -> None:
        many = diagnoses.check("wrong", diagnoses.finding(), *(diagnoses.clear(f"host{n}") for n in range(9)))
        assert told(many).count("a healthy pool") == 5
        assert "and 4 more (-v shows them)" in told(many)

    def test_gaps_are_listed_with_a_way_to_close_them(self) -> None:
        assert re.search(r"^gaps +incident/locked: cannot read it.*\n +how: ask its owner$", told(), re.MULTILINE)

    def test_files_passed_over_are_counted_and_listed_when_asked(self) -> None:
        assert "1 file passed over (-v lists them)" in told()
        assert re.search(r"^passed over incident/fifo: neither a file nor a folder$", told(verbose=True), re.MULTILINE)

    def test_a_host_with_a_long_name_gets_a_line_of_its_own(self) -> None:
        page = StringIO()
        Page(page, 80).labelled("directory-server-1.example.com", "text", "bold")
        assert page.getvalue() == f"directory-server-1.example.com\n{MARGIN}text\n"
