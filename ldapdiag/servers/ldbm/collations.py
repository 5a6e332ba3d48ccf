"""The language rules of 389-ds: the names that a client may send for one, and its OID.

    (cn:fr:=x), (cn:fr-FR.3:=x), (cn:2.16.840.1.113730.3.3.2.18.1:=x)        the same rule: equality in French order

From slapd-collations.conf of 2.3.1; an administrator may add others.

Whether an index of 389-ds sorts numbers as text (10 before 9): ranges then miss entries, or examine all.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.evidence.schema import Schema

OIDS = "2.16.840.1.113730.3.3.2."
"""The start of the OID of every language rule; then follow the number of the language, and `.1`."""
NAMES = """
default ar be,be-BY bg,bg-BG ca,ca-ES cs,cs-CZ da,da-DK de,de-DE de-AT de-CH el en en-CA en-GB en-IE es,es-ES
et,et-EE fi,fi-FI fr,fr-FR fr-BE fr-CA fr-CH hr,hr-HR hu,hu-HU is,is-IS it it-CH iw ja,ja-JP ko,ko-KR lt,lt-LT
lv,lv-LV mk,mk-MK nl nl-BE no no-NO-B no-NO-NY pl,pl-PL ro ru sh sk sl sq sr sv tr,tr-TR uk,uk-UA zh zh-TW af af-NA
af-ZA ar-AE ar-BH ar-DZ ar-EG ar-IQ ar-JO ar-KW ar-LB ar-LY ar-MA ar-OM ar-QA ar-SA ar-SD ar-SY ar-TN ar-YE as as-IN
az az-Latn az-Latn-AZ bn bn-BD bn-IN bs,bs-BA chr chr-US cy,cy-GB de-BE de-LI de-LU el-CY el-GR en-AS en-AU en-BE
en-BW en-BZ en-GU en-GY en-HK en-IN en-JM en-MH en-MP en-MT en-MU en-NA en-NZ en-PH en-PK en-SG en-TT en-UM en-US
en-US-POSIX en-VI en-ZA en-ZW es-AR es-BO es-CL es-CO es-CR es-DO es-EC es-ES es-GQ es-GT es-HN es-MX es-NI es-PA
es-PE es-PR es-PY es-SV es-US es-UY es-VE fa,fa-IR fil,fil-PH fo,fo-FO fr-BF fr-BI fr-BJ fr-BL fr-CD fr-CF fr-CG
fr-CI fr-CM fr-DJ fr-GA fr-GN fr-GP fr-GQ fr-KM fr-LU fr-MC fr-MF fr-MG fr-ML fr-MQ fr-NE fr-RE fr-RW fr-SN fr-TD
fr-TG ga ga-IE ga-IN ha ha-Latn ha-Latn-GH ha-Latn-NE ha-Latn-NG he,he-IL hi,hi-IN hy,hy-AM id,id-ID ig,ig-NG it-IT
ka ka-GE kk,kk-KZ kl,kl-GL kn,kn-IN kok,kok-IN ml,ml-IN ms ms-BN ms-MY mt,mt-MT nl-NL nn,nn-NO om om-ET om-KE
or,or-IN pa pa-Arab pa-Arab-PK pa-Guru pa-Guru-IN ps,ps-AF pt pt-BR pt-PT ro-MD ro-RO ru-MD ru-RU ru-UA si,si-LK
sk-SK sl-SI sq-AL sr-Cyrl sr-Cyrl-BA sr-Cyrl-ME sr-Cyrl-RS sr-Latn sr-Latn-BA sr-Latn-ME sr-Latn-RS sv-FI sv-SE sw
sw-KE sw-TZ ta ta-IN ta-LK te,te-IN th,th-TH ur ur-IN ur-PK vi,vi-VN yo,yo-NG zh-Hans zh-Hans-CN zh-Hans-SG
zh-Hant-HK zh-Hant-MO zh-Hant-TW zu zu-ZA
"""
"""By number, from 0 on; the names of one language are separated by commas."""


@cache
def numbers() -> dict[str, int]:
    """Return the number of a language by its names, in lower case."""
    return {name: number for number, names in enumerate(NAMES.lower().split()) for name in names.split(",")}


def collation(rule: str) -> tuple[str, str] | None:
    """Return OID and suffix of a language rule, by one of its names or its OID; None for another rule.

    The suffix is `3` or empty for equality, `6` for substrings, 1, 2, 4 and 5 for ranges.
    """
    if rule.startswith(OIDS):
        number, first, suffix = (*rule.removeprefix(OIDS).split("."), "", "")[:3]
        return (f"{OIDS}{number}.1", suffix) if number.isdigit() and first == "1" else None
    name, _, suffix = rule.lower().partition(".")
    number_of_name = numbers().get(name)
    return None if number_of_name is None else (f"{OIDS}{number_of_name}.1", suffix)


INTEGER = "1.3.6.1.4.1.1466.115.121.1.27"
RULE = "integerOrderingMatch"
SORTED_AS_NUMBERS = frozenset({RULE.lower(), "2.5.13.15"})


def sorts_as_text(name: str, definition: IndexDefinition | None, schema: Schema) -> bool:
    """Return whether the keys of a number are sorted as text; `definition` is None for an index without any rule.

    Keys have the order of the attribute's own ordering rule, if the schema names one. Measured with 2.3.1:
    (shadowMax>=990) of the values 0 to 3019 returns 10 entries instead of 2030; a range whose keys, in the order of
    text, are more than the scan limit is a scan, and right.
    """
    has_order = schema.whole and schema.ordering(name)  # 389-ds gives uidNumber none; the standard schema does
    if schema.syntax(name) != INTEGER or has_order:
        return False
    return definition is None or not {rule.lower() for rule in definition.rules} & SORTED_AS_NUMBERS
