r"""Shell text that proves an index right: the search that uses it finds an entry that reading the entry itself matches.

    search() { ldapsearch -x -H ldap://ds1 …; }                   # the block that uses this defines it
    check_answers dc=example,dc=com displayName '(displayName=@)' '(displayName=*@*)'
    answers_right
    none_wrong 'displayName: built'                               # says of how many values of how many

An index that is empty or incomplete yields no entry and no error, so neither a result code nor the access log shows it.
All entries with the attribute are read through (!(!(displayName=*))), which 389-ds, DSEE and slapd answer without an
index, and 12 of them are drawn at random: a build that was interrupted has the oldest entries, and those 12 show one
that lacks half with 99.98 %, one that lacks a tenth with 72 %. Of each, the longest value replaces @, each octet
escaped (RFC 4515), and reaches ldapsearch on its standard input: no process list and no screen shows it. The search of
the whole suffix uses the index; if it does not find the entry, the one by base shows whether that matches. Each stops
after 30 s, or 1,000 entries; but 389-ds also ends the list of a range at the size limit, so a range below the entry
itself has none. An approximate match is asked without the words that have no phonetic key, such as numbers: slapd's
index yields nothing for them.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.evidence.ldif import SECRETS
from ldapdiag.remedy import is_attribute_description, is_attribute_type, is_distinguished_name
from ldapdiag.servers.commands.remedy_texts import NO_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.indexes import Backend


VALUE = "@"
"""Stands for the value in the filters of `check_answers`; no attribute type and no rule contains it."""
SUBSTRINGS = ("=@*", "=*@*", "=*@")
ASSERTIONS = {
    "eq": ("=@",),
    "equality": ("=@",),
    "pres": ("=*",),
    "presence": ("=*",),
    "sub": SUBSTRINGS,
    "subinitial": SUBSTRINGS[:1],
    "subany": SUBSTRINGS[1:2],
    "subfinal": SUBSTRINGS[2:],
    "substring": SUBSTRINGS,
    "approx": ("~=@",),
    "approximate": ("~=@",),
    "ordering": (">=@", "<=@"),
}
"""By index type of any product: what follows the attribute in the filters that use it."""
ORDERING = "orderingmatch"

COST = (
    "reads all entries below the suffix that have the attribute, without its index, for at most 120 s for each index, "
    "and searches for values of at most 12 of them."
)
"""What the functions below cost the server, as a predicate."""
FUNCTIONS = r"""wrong=0 right=0 unchecked=0 tried=0 values=0 entries_read=0 partly=
check_answers() {
suffix=$1 named=$2; shift 2
[ -n "$suffix" ] || { skip_check "$named: the suffix of its database is not known"; return 0; }
drawn=$(draw)
last=${drawn##*"$newline"}
drawn=${drawn%"$last"} code=${last% *} total=${last#* }
case $code in
0|3|4|11|53) ;;
*) say "NOT CHECKED: $named below $suffix: ldapsearch failed (exit code $code)" >&2; wrong=1; return 0 ;;
esac
[ -n "$drawn" ] || { unchecked "no short value is found in an entry (result code $code)"; return 0; }
number=$((total < 12 ? total : 12)) of="the $total entries that have it"
if [ "$code" -ne 0 ]; then
partly=' that were read before a limit ended the reading'
of="the first $total entries that have it: a limit ended the reading (result code $code)"
fi
say "$named below $suffix: checked with values of $number of $of"
values=$((values + number)) entries_read=$((entries_read + total))
for pattern; do check_pattern "$pattern"; done
}
draw() {
{ search -l 120 -b "$suffix" '(!(!('"$named"'=*)))' "$named" 2>/dev/null || echo "#code $?"; } | awk -v seed="$(seed)" '
BEGIN { srand(seed); most = 12 }
/^#code / { code = $2; next }
/^dn:/ { keep(); dn = $0; next }
/^[^#:;]+:/ { value = $0; sub(/^[^:]*::? ?/, "", value); size = length(value) }
/^[^#:;]+:/ && size <= 340 && size > longest { longest = size; best = $0 }
END { keep(); for (i = 1; i <= total && i <= most; i++) print kept[i]; print code + 0, total + 0 }
function keep() {
if (!longest) return
place = ++total <= most ? total : int(rand() * total) + 1
if (place <= most) kept[place] = dn "\n" best
longest = 0
}'
}
seed() { od -An -N3 -tu4 /dev/urandom | tr -d ' '; }
check_pattern() {
found=0 lost=0 why= together= filters= rest=$drawn
while next_line && next_line; do ! filter_of "$1" || filters=$filters$filter$newline; done
case $1 in
*'>='*|*'<='*) ;;
*) together=$(printf %s "$filters" | search -c -z 1000 -l 30 -b "$suffix" -f - '(%s)' 1.1 2>/dev/null) || : ;;
esac
rest=$drawn
while next_line; do
entry=$line
next_line
check_answer "$1" && found=$((found + 1)) || case $? in
1) [ "$lost" -gt 0 ] || first=$entry; lost=$((lost + 1)) ;;
esac
done
tried=$((tried + found))
if [ "$lost" -gt 0 ]; then
say "WRONG: $1 below $suffix does not find $lost of $((lost + found)) entries that have the value: $first" >&2; wrong=1
elif [ "$found" -gt 0 ]; then
say "right: $1 below $suffix"; right=$((right + 1))
else
unchecked "$why"
fi
}
next_line() {
line=${rest%%"$newline"*}
rest=${rest#"$line"}
rest=${rest#"$newline"}
[ -n "$line" ]
}
filter_of() {
value=$(octets "$line" | escaped)
[ -n "$value" ] || { why='its value cannot be decoded: base64 or od is missing'; return 2; }
case $1 in *'*@'*|*'@*'*)
[ "${#value}" -ge 12 ] || { why="its values are too short for $1"; return 2; } ;;
esac
case $1 in
*'~=@'*)
spoken=$(octets "$line" | tr ' ' '\n' | grep -ai '[bcdfgjklmnpqrstvxz]' | tr '\n' ' ' | escaped)
[ -n "$spoken" ] || { why="its values have no word with letters for $1"; return 2; }
filter=${1%@*}$spoken${1#*@} ;;
*@*) filter=${1%@*}$value${1#*@} ;;
*) filter=$1 ;;
esac
filter=${filter#?} filter=${filter%?}
}
check_answer() {
filter_of "$1" || return 2
! printf '%s\n' "$together" | grep -Fxq -e "$entry" || return 0
dn=$(octets "$entry"; printf .) dn=${dn%.}
limit=1000
case $1 in *'>='*|*'<='*) limit=0 ;; esac
finds "$suffix" sub && return 0
case $code,$limit in
4,*|*,0) finds "$dn" sub "$limit" && return 0 ;;
esac
ended=$code
finds "$dn" base || { why="reading the entry does not match $1 (result code $code)"; return 2; }
[ "$ended" -eq 0 ] || { why="the server ends the search $1 (result code $ended)"; return 2; }
return 1
}
finds() {
code=0
names=$(printf '%s\n' "$filter" | search -z "${3:-1000}" -l 30 -b "$1" -s "$2" -f - '(%s)' 1.1 2>/dev/null) || code=$?
printf '%s\n' "$names" | grep -Fxq -e "$entry"
}
octets() {
case ${1#*:} in
': '*) printf %s "${1#*:: }" | base64 -d ;;
*) printf %s "${1#*: }" ;;
esac
}
escaped() { od -An -v -tx1 | tr -d ' \n' | sed 's/../\\&/g'; }
unchecked() { skip_check "$named below $suffix: $1"; }
skip_check() { say "not checked: $1"; unchecked=$((unchecked + 1)); }
answers_right() { [ "$wrong" -eq 0 ]; }
none_wrong() {
case $tried in
0) say "$1; no answer is checked" ;;
*) say "$1; no answer is wrong (searches: $tried; values searched for: $values of $entries_read$partly)" ;;
esac
tried=0 values=0 entries_read=0 partly=
}
newline='
'"""
"""They need SESSION, and the function `search` (`search_function`)."""
REACHED = "state='nothing is changed'\nsearch -b '' -s base 1.1 >/dev/null"
"""Ends a block while nothing is changed, if the server cannot be reached, or rejects the password."""


def search_function(tool: str) -> str:
    """Return the function that FUNCTIONS need; `tool` is ldapsearch with its connection options."""
    return f'search() {{ {tool} -LLL -o ldif-wrap=no "$@"; }}'


def check_answers(suffix: str, attribute: str, types: Iterable[str], rules: Iterable[str] = ()) -> str:
    """Return the command that checks one index, or a message why it does not; all names are valid in commands.

    `types` are index types of any product, `rules` the matching rules that the index has been built for.
    """
    return _check(shlex.quote(suffix), attribute, types, rules)


def check_suffixes(
    backend: Backend, attribute: str, types: Iterable[str], rules: Iterable[str] = (), *, unknown: str = ""
) -> list[str]:
    """Return the commands that check one index of a database, for each of its suffixes.

    `unknown` is the word of a command that stands for a suffix which the evidence does not contain.
    """
    words = suffix_words(backend, unknown)
    if not words:
        return [f"skip_check '{attribute}: {NO_SUFFIX} is not in the evidence'"]
    types, rules = tuple(types), tuple(rules)
    return [_check(word, attribute, types, rules) for word in words]


def suffix_words(backend: Backend, unknown: str = "") -> list[str]:
    """Return the words of a command for the suffixes of a database; `unknown` if the evidence contains none."""
    known = [shlex.quote(suffix) for suffix in backend.suffixes if is_distinguished_name(suffix)]
    return known or ([unknown] if unknown else [])


def _check(suffix: str, attribute: str, types: Iterable[str], rules: Iterable[str]) -> str:
    if not is_attribute_description(attribute):
        return "skip_check 'an index whose attribute has no valid name'"
    if attribute.partition(";")[0].lower() in SECRETS:
        return f"skip_check '{attribute}: its values are secret'"
    filters = [f"'({attribute}{one})'" for one in assertions_of(types, rules)]
    if not filters:
        return f"skip_check '{attribute}: no search is known that uses this index'"
    return " ".join(["check_answers", suffix, shlex.quote(attribute), *filters])


def assertions_of(types: Iterable[str], rules: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what follows the attribute in the filters that use its indexes; VALUE stands for a value."""
    found = dict.fromkeys(one for type_ in types for one in ASSERTIONS.get(type_, ()))
    return tuple(found | dict.fromkeys(one for rule in rules for one in _by_rule(rule)))


def _by_rule(rule: str) -> tuple[str, ...]:
    """Return the assertions that use a matching rule's keys: ranges, and equality, whose keys the rule may change."""
    if rule.lower().endswith(ORDERING):
        return ("=@", ">=@", "<=@")
    return ("=@", f":{rule}:=@") if is_attribute_type(rule) else ()
