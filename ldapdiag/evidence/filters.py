r"""Search filters (RFC 4515): the shape of a filter is the filter without its values.

    (uid=joe)                                    (uid=?)
    (&(objectClass=person)(cn=*jo*))             (&(objectClass=person)(cn=*?*))
    (|(uid=a)(uid=b)(uid=c)(mail=d))             (|(uid=?)(mail=?))
    (?employeeNumber>=10)                        (?employeeNumber>=?)       undefined to slapd
    (|(uid=a)(uid=b)(ui...                       (|(uid=?)...               cut by 389-ds after 512 bytes

Searches of one application share a shape, whatever their values, so the cost of searches is reported by shape. The text
is untrusted: a client can send anything.
"""

from __future__ import annotations

import re

from ldapdiag.lazy_pattern import pattern

UNPARSEABLE = b"(unparseable)"
CUT = b"..."
LONGEST_SHAPE = 1024
LONGEST_CUT_SHAPE = 200
"""Longest shape of a filter that the server truncated: longer ones differ only by where they were cut."""
DEEPEST = 1000
"""Nesting depth of sets; deeper filters would fill the memory."""
MOST_REMEMBERED = 4096

VALUE = pattern(rb"=(?<!\((?i:objectclass)=)[^()*]++")
"""An assertion value up to its first asterisk: no value contains a parenthesis or an asterisk (RFC 4515, 3)."""
PIECE = pattern(rb"\*[^()*]++")
PIECES = pattern(rb"[^*]++")
TOKEN = pattern(rb"\(\s*+(?:([&|!])|([^()=*]*+)=([^()]*+)\))|(\))|\s++", re.DOTALL)
"""The start of a set, an assertion, the end of a set, or blanks (which Active Directory logs)."""
UNFINISHED = pattern(rb"\(\s*+(?:([^()=*]*+)=([^()]*+)|[^()=*]*+)")
"""The last assertion of a truncated filter, as far as it was logged."""
OBJECT_CLASS = pattern(rb"[A-Za-z][A-Za-z\d-]{0,63}+|(?=.{1,64}\Z)\d++(?>(?:\.\d++)*)")
"""The name of an object class, or its OID (RFC 4512, 1.4)."""


def shape(text: bytes) -> bytes:
    """Return the filter without its values: at most 1,024 bytes and an ellipsis. Never raises."""
    bare = VALUE.sub(b"=?", text)
    return SHAPES.get(bare) or _shape(text, bare)


SHAPES: dict[bytes, bytes] = {}
"""Cache: shapes by the filter without values, complete filters only. Millions of searches have a handful of shapes."""


def _shape(text: bytes, bare: bytes) -> bytes:
    if not text.startswith(b"("):
        text = _in_parentheses(text)
        bare = VALUE.sub(b"=?", text)
    if b"*" in bare:
        bare = PIECE.sub(b"*?", bare)
    if not bare.endswith(b")") and text.endswith(CUT):
        return _cut_shape(bare.removesuffix(CUT))
    return SHAPES.get(bare) or _learn(bare)


def _learn(bare: bytes) -> bytes:
    shaped = _whole_shape(bare)
    if len(bare) <= LONGEST_SHAPE and bare.endswith(b")"):
        if len(SHAPES) >= MOST_REMEMBERED:
            SHAPES.clear()
        SHAPES[bare] = shaped
    return shaped


class _Set:
    """The members of an AND, an OR or a NOT (or, with no operator, of the whole text), as shapes."""

    __slots__ = ("count", "last", "length", "members", "operator")

    def __init__(self, operator: bytes) -> None:
        self.operator = operator
        self.members: list[bytes] = []
        self.count = 0
        self.length = 0
        self.last = b""

    def add(self, member: bytes) -> None:
        """Add a member. An OR keeps equal neighbours once, because the length of a list of values is arbitrary."""
        self.count += 1
        if self.operator == b"|" and member == self.last:
            return
        self.last = member
        if self.length <= LONGEST_SHAPE:
            self.members.append(member)
            self.length += len(member)

    def begun(self) -> bytes:
        """Return the set so far, up to LONGEST_SHAPE and not closed."""
        members = b"".join(self.members)[:LONGEST_SHAPE]
        return b"(%b%b" % (self.operator, members) if self.operator else members

    def whole(self) -> bytes:
        """Return the set, closed."""
        return self.begun() + b")"


def _in_parentheses(text: bytes) -> bytes:
    """Return the filter in parentheses: old servers log a single assertion without, AD logs a leading blank."""
    text = text.strip()
    return text if text.startswith(b"(") else b"(%b)" % text


def _whole_shape(bare: bytes) -> bytes:
    read = _read(bare)
    if read is None:
        return UNPARSEABLE
    open_sets, at = read
    if at != len(bare) or len(open_sets) != 1 or open_sets[0].count != 1:
        return UNPARSEABLE
    return _shortened(open_sets[0].members[0])


def _cut_shape(bare: bytes) -> bytes:
    """Return the shape of a truncated filter, up to where it is certain."""
    read = _read(bare)
    if read is None:
        return UNPARSEABLE
    open_sets, at = read
    unfinished = UNFINISHED.fullmatch(bare, at)
    if at < len(bare) and unfinished is None:
        return UNPARSEABLE
    if unfinished is not None and unfinished[1] is not None:
        innermost, leaf = open_sets[-1], _leaf(unfinished[1], PIECES.sub(b"?", unfinished[2]))
        if innermost.operator != b"|" or innermost.last != leaf:
            innermost.add(leaf.removesuffix(b")"))
    return b"".join(each.begun() for each in open_sets)[:LONGEST_CUT_SHAPE] + CUT


def _read(bare: bytes) -> tuple[list[_Set], int] | None:
    """Return the open sets, outermost first, and the position where reading stopped; None for a malformed filter."""
    open_sets = [_Set(b"")]
    at = 0
    while token := TOKEN.match(bare, at):
        at = token.end()
        operator, attribute, value, close = token.groups()
        if operator is not None:
            if len(open_sets) > DEEPEST:
                return None
            open_sets.append(_Set(operator))
        elif attribute is not None:
            open_sets[-1].add(_leaf(attribute, value))
        elif close is not None:
            closed = open_sets.pop()
            if not open_sets or (closed.operator == b"!" and closed.count != 1):
                return None
            open_sets[-1].add(closed.whole())
    return open_sets, at


def _leaf(attribute: bytes, value: bytes) -> bytes:
    """Return an assertion without its value; object classes are kept: they are few, and differ by application."""
    attribute = attribute[:LONGEST_SHAPE]
    if attribute.lower() != b"objectclass" or not OBJECT_CLASS.fullmatch(value):
        value = PIECES.sub(b"?", value[:LONGEST_SHAPE]) or b"?"
    return b"(%b=%b)" % (attribute, value)


def _shortened(whole: bytes) -> bytes:
    return whole if len(whole) <= LONGEST_SHAPE else whole[:LONGEST_SHAPE] + CUT
