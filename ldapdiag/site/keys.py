"""The keys of ldapdiag.toml, section by section: what each means, and which values it takes."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum

from ldapdiag.duration import Duration
from ldapdiag.errors import UsageError
from ldapdiag.finding import Severity
from ldapdiag.lazy_dataclass import dataclass

SCHEMA = "ldapdiag.config/1"
LONGEST_TEXT = 1000
SEVERITIES = tuple(str(one) for one in Severity)
FAIL_ON = ("critical", "high", "medium", "low", "never")
"""The values of --fail-on."""


class ValueKind(StrEnum):
    """What a value must be, as an error states it."""

    TEXT = "a string"
    TEXTS = "a list of strings"
    SECONDS = "seconds"
    PORTS = "a list of whole numbers"
    BOOLEAN = "true or false"
    DATE = "a date without quotes, as in 2026-12-31"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a section."""

    name: str
    kind: ValueKind
    meaning: str
    """What it sets, as a phrase."""
    option: str = ""
    """The option of the command line that it stands for, which overrides it."""
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    """Limits of a number, or of each number in a list."""
    whole: bool = False
    """Of a duration: only whole seconds."""
    required: bool = False

    @property
    def expected(self) -> str:
        """Return which values it takes."""
        if self.choices:
            return " or ".join(f'"{choice}"' for choice in self.choices)
        if self.kind is ValueKind.SECONDS:
            return self.duration.forms
        return f"{self.kind} from {self.least} to {self.most}" if self.most else str(self.kind)

    @property
    def duration(self) -> Duration:
        """Return the durations that it takes."""
        return Duration(least=self.least, most=self.most, whole=self.whole)

    def read(self, value: object) -> object:
        """Return a value that it takes, a duration in seconds."""
        return self.duration.value_of(str(value)) if self.kind is ValueKind.SECONDS else value

    def takes(self, value: object) -> bool:
        """Return whether this is a value of it."""
        match self.kind:
            case ValueKind.TEXT:
                return is_text(value) and (not self.choices or value in self.choices)
            case ValueKind.TEXTS:
                return isinstance(value, list) and bool(value) and all(map(is_text, value))
            case ValueKind.PORTS:
                return isinstance(value, list) and all(map(self._is_whole, value))
            case ValueKind.SECONDS:
                return isinstance(value, int | float | str) and not isinstance(value, bool) and self._is_duration(value)
            case ValueKind.BOOLEAN:
                return isinstance(value, bool)
            case ValueKind.DATE:
                return isinstance(value, date) and not isinstance(value, datetime)

    def _is_duration(self, value: object) -> bool:
        try:
            self.duration.value_of(str(value))
        except UsageError:
            return False
        return True

    def _is_whole(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most


def is_text(value: object) -> bool:
    """Return whether a value is a string of one line that is not blank."""
    return isinstance(value, str) and bool(value.strip()) and len(value) <= LONGEST_TEXT and value.isprintable()


TOP = (Key(name="schema", kind=ValueKind.TEXT, choices=(SCHEMA,), required=True, meaning="the format of this file"),)

DEFAULTS = (
    Key(name="target", kind=ValueKind.TEXT, meaning="the name of the target that is meant where no evidence is named"),
    Key(
        name="fail_on",
        kind=ValueKind.TEXT,
        choices=FAIL_ON,
        option="--fail-on",
        meaning="the lowest severity that makes the exit code 1",
    ),
)

TARGET = (
    Key(
        name="evidence",
        kind=ValueKind.TEXTS,
        required=True,
        meaning="what the command would name: targets, files, folders",
    ),
    Key(name="bind_dn", kind=ValueKind.TEXT, option="-D", meaning="bind as this DN"),
    Key(name="password_file", kind=ValueKind.TEXT, option="-y", meaning="the file with the password, of mode 0600"),
    Key(name="prompt", kind=ValueKind.BOOLEAN, option="-W", meaning="prompt for the password"),
    Key(name="sasl", kind=ValueKind.TEXT, choices=("EXTERNAL", "GSSAPI"), option="-Y", meaning="use a SASL bind"),
    Key(
        name="start_tls",
        kind=ValueKind.TEXT,
        choices=("no", "try", "must"),
        option="-Z",
        meaning="StartTLS: try is -Z, must is -ZZ",
    ),
    Key(name="ca_file", kind=ValueKind.TEXT, option="--ca-file", meaning="the authorities to trust (PEM)"),
    Key(name="sudo", kind=ValueKind.BOOLEAN, option="--sudo", meaning="use sudo -n on the hosts"),
    Key(
        name="timeout",
        kind=ValueKind.SECONDS,
        least=1,
        most=3600,
        whole=True,
        option="--timeout",
        meaning="seconds after which a target is given up",
    ),
    Key(
        name="apart",
        kind=ValueKind.SECONDS,
        least=0,
        most=86_400,
        option="--apart",
        meaning="seconds between the two snapshots of a server",
    ),
    Key(
        name="probe_answers",
        kind=ValueKind.BOOLEAN,
        option="--probe-answers",
        meaning="search entries by their values, to test that indexes answer right",
    ),
    Key(
        name="ldap_ports",
        kind=ValueKind.PORTS,
        least=1,
        most=65_535,
        option="--ldap-port",
        meaning="further LDAP ports",
    ),
)

CHECK = (
    Key(name="enabled", kind=ValueKind.BOOLEAN, meaning="false: the check is not run; needs a reason"),
    Key(name="reason", kind=ValueKind.TEXT, meaning="why the check is disabled; every report states it"),
)
"""The keys that every check has; its own settings stand beside them."""

ACCEPTED = (
    Key(name="id", kind=ValueKind.TEXT, meaning="the id of one finding; the JSON report has it"),
    Key(name="check", kind=ValueKind.TEXT, meaning="instead of id: all findings of this check"),
    Key(name="server", kind=ValueKind.TEXT, meaning="with check: only those at this server"),
    Key(name="reason", kind=ValueKind.TEXT, required=True, meaning="why; every report states it"),
    Key(name="until", kind=ValueKind.DATE, required=True, meaning="the last day, at most 400 days ahead"),
    Key(
        name="up_to",
        kind=ValueKind.TEXT,
        choices=SEVERITIES,
        meaning="the highest severity that is accepted; default high",
    ),
)

SECTIONS = {
    "": TOP,
    "defaults": DEFAULTS,
    "targets.NAME": TARGET,
    "checks.ID": CHECK,
    "accepted": ACCEPTED,
}
"""The keys of every section, by its name; [[accepted]] is a list."""
