"""Names planted in what people write, in settings that no server has, for words of a server; what is known stays."""

from __future__ import annotations

import re
from pathlib import PurePath

import pytest

from ldapdiag.sources.anonymising.contents import anonymised_content
from ldapdiag.sources.anonymising.pseudonyms import Pseudonyms
from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser
from log.windows_events import FORMS, as_csv, event, local
from properties.test_planted_names import SECRET

STATES = ("ABHÖREN", "HERGESTELLT", "ÉCOUTE", "ÉTABLI", "NASŁUCHIWANIE", "TIME_WAIT")
DS389 = "[20/Nov/2026:08:45:20.751921248 +0000] conn=7 op=3"
OPENDJ = "[20/Nov/2026:08:45:20 +0000"
PING = "[20/Nov/2026:08:45:20.121 +0000"
JSON = '{"local_time":"2026-11-20T08:45:20.751921248 +0000","key":"17-1","conn_id":1,"op_id":1'
SLAPD = "Nov 20 09:21:35 ds1 slapd[25675]: conn=1 op=1"


def content(name: str, text: str) -> str:
    return anonymised_content(text.encode(), PurePath(name).name, TextAnonymiser(Pseudonyms(SECRET))).decode()


@pytest.mark.parametrize(
    "line",
    [
        "description: ask gowalapu zuvotesu, 10.1.2.3, mirinafi@example.com",
        "description: of gowalapu.zuvotesu_mirinafi (cn=zuvotesu,dc=example)",
        "companyContact: gowalapu zuvotesu",
        "department: mirinafi",
    ],
)
def test_what_people_wrote_beside_a_name_of_a_known_form_is_replaced_too(line: str) -> None:
    new = content("dse.ldif", f"dn: cn=config\nobjectClass: top\n{line}\n")
    assert not re.search("gowalapu|zuvotesu|mirinafi", new), new


@pytest.mark.parametrize(
    "record",
    [
        f'{DS389} EXT oid="gowalapu zuvotesu"',
        f'{DS389} RESULT err=0 tag=101 nentries=0 wtime=0.1 optime=0.1 etime=0.1 notes=A details="gowalapu zuvotesu"',
        f'{DS389} RESULT err=0 tag=101 nentries=0 etime=0.1 notes=P,A details="Paged Search,Filter gowalapu"',
        f'{DS389} BIND dn="" method=sasl version=3 mech=gowalapu',
        f"{OPENDJ}] CONNECT conn=1 from=10.1.1.1:4000 to=10.1.1.2:389 protocol=gowalapu",
        f'{OPENDJ}] BIND REQ conn=1 op=0 msgID=1 version=3 type=SASL mechanism=gowalapu dn="cn=x"',
        f'{OPENDJ}] EXTENDED REQ conn=1 op=0 msgID=1 name="gowalapu" oid="gowalapu zuvotesu"',
        f'{OPENDJ}] UNBIND REQ conn=1 op=1 msgID=1\n{OPENDJ}] FROBNICATE REQ version="gowalapu" type="mirinafi"',
        f'{PING}] BIND RESULT instanceName="x" conn=1 op=0 msgID=1 version="3" dn="" saslMechanism="gowalapu"',
        f'{PING}] EXTENDED REQUEST instanceName="x" conn=1 op=0 requestOID="gowalapu zuvotesu"',
        f"{SLAPD} EXT oid=gowalapu",
        f'{SLAPD} do_search: invalid dn: "gowalapu zuvotesu"',
        f'{SLAPD} BIND dn="cn=x" mech=gowalapu bind_ssf=0 ssf=0',
        f'{JSON},"operation":"EXTENDED_OP","oid":"gowalapu zuvotesu"}}',
        f'{JSON},"operation":"SEARCH","request_controls":[{{"oid":"gowalapu"}}]}}',
    ],
)
def test_what_a_client_gave_for_an_oid_a_mechanism_or_a_word_of_the_server_is_withheld(record: str) -> None:
    new = content("access", f"{record}\n" * 3)
    assert not re.search("gowalapu|zuvotesu|mirinafi", new), new


def test_mechanisms_and_phrases_of_a_server_stay() -> None:
    records = [
        f"{OPENDJ}] BIND REQ conn=1 op=0 msgID=1 version=3 type=SASL mechanism=GSS-SPNEGO",
        f'{DS389} RESULT err=0 tag=101 nentries=0 etime=0.1 notes=P,A details="Paged Search,Fully Unindexed Filter"',
    ]
    assert all(content("access", f"{record}\n") == f"{record}\n" for record in records)


def test_settings_of_the_server_stay() -> None:
    settings = "memberofgroupattr: member\nuniqueness-attribute-name: uid\nsslVersionMin: TLS1.2\n"
    assert settings in content("dse.ldif", f"dn: cn=x,cn=plugins,cn=config\ncn: x\n{settings}")


@pytest.mark.parametrize("culture", FORMS)
def test_times_of_windows_stay(culture: str) -> None:
    events = [event(number) for number in range(0, 24, 7)]
    new = content("events.csv", as_csv(events, culture=culture))
    assert all(local(one.time, culture) in new for one in events), new


def test_states_of_windows_stay() -> None:
    rows = [f"  TCP    10.77.1.2:389  10.77.2.2:4000{n}  {state}  688\r\n" for n, state in enumerate(STATES)]
    new = content("netstat.txt", "".join(["  Proto  Lokale Adresse  Remoteadresse  Status  PID\r\n", *rows]))
    assert all(f" {state} " in new for state in STATES), new
