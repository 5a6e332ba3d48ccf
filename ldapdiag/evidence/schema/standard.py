"""The attribute types of the RFCs, for use where the server's own schema was not collected.

Written as in the RFCs, without the parts that no index depends on (DESC, length, SINGLE-VALUE, NO-USER-MODIFICATION),
and with the alternative names of X.500 and RFC 1274 that servers accept. Differences of servers are noted beside the
type; a server's own schema takes precedence (merging.merged).
"""

from __future__ import annotations

from functools import cache

from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.schema import AttributeType, Schema
from ldapdiag.evidence.schema.descriptions import attribute_type, schema_of

MACROS = {
    "attribute": "2.5.4",
    "operational": "2.5.18",
    "pilot": "0.9.2342.19200300.100.1",
    "netscape": "2.16.840.1.113730.3.1",
    "posix": "1.3.6.1.1.1.1",
    "syntax": "1.3.6.1.4.1.1466.115.121.1",
    "text": "1.3.6.1.4.1.1466.115.121.1.15",
    "ia5": "1.3.6.1.4.1.1466.115.121.1.26",
    "printable": "1.3.6.1.4.1.1466.115.121.1.44",
    "integer": "1.3.6.1.4.1.1466.115.121.1.27",
    "dn": "1.3.6.1.4.1.1466.115.121.1.12",
    "time": "1.3.6.1.4.1.1466.115.121.1.24",
}
"""OID macros, as of OpenLDAP's objectidentifier (syntaxes: RFC 4517)."""

RFC_4512 = """
attribute:0 NAME 'objectClass' EQUALITY objectIdentifierMatch SYNTAX syntax:38
attribute:1 NAME ( 'aliasedObjectName' 'aliasedEntryName' ) EQUALITY distinguishedNameMatch SYNTAX dn
operational:1 NAME 'createTimestamp' EQUALITY generalizedTimeMatch ORDERING generalizedTimeOrderingMatch SYNTAX time
operational:2 NAME 'modifyTimestamp' EQUALITY generalizedTimeMatch ORDERING generalizedTimeOrderingMatch SYNTAX time
operational:3 NAME 'creatorsName' EQUALITY distinguishedNameMatch SYNTAX dn USAGE directoryOperation
operational:4 NAME 'modifiersName' EQUALITY distinguishedNameMatch SYNTAX dn USAGE directoryOperation
operational:10 NAME 'subschemaSubentry' EQUALITY distinguishedNameMatch SYNTAX dn USAGE directoryOperation
2.5.21.9 NAME 'structuralObjectClass' EQUALITY objectIdentifierMatch SYNTAX syntax:38 USAGE directoryOperation
2.5.21.10 NAME 'governingStructureRule' EQUALITY integerMatch SYNTAX integer USAGE directoryOperation
"""

RFC_4519 = """
attribute:3 NAME ( 'cn' 'commonName' ) SUP name
attribute:4 NAME ( 'sn' 'surname' ) SUP name
attribute:5 NAME 'serialNumber' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX printable
attribute:6 NAME ( 'c' 'countryName' ) SUP name SYNTAX syntax:11
attribute:7 NAME ( 'l' 'localityName' ) SUP name
attribute:8 NAME ( 'st' 'stateOrProvinceName' ) SUP name
attribute:9 NAME ( 'street' 'streetAddress' ) EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
attribute:10 NAME ( 'o' 'organizationName' ) SUP name
attribute:11 NAME ( 'ou' 'organizationalUnitName' ) SUP name
attribute:12 NAME 'title' SUP name
attribute:13 NAME 'description' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
attribute:14 NAME 'searchGuide' SYNTAX syntax:25
attribute:15 NAME 'businessCategory' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
attribute:16 NAME 'postalAddress' EQUALITY caseIgnoreListMatch SUBSTR caseIgnoreListSubstringsMatch SYNTAX syntax:41
attribute:17 NAME 'postalCode' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
attribute:18 NAME 'postOfficeBox' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
attribute:19 NAME 'physicalDeliveryOfficeName' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
attribute:20 NAME 'telephoneNumber' EQUALITY telephoneNumberMatch SUBSTR telephoneNumberSubstringsMatch SYNTAX syntax:50
attribute:21 NAME 'telexNumber' SYNTAX syntax:52
attribute:22 NAME 'teletexTerminalIdentifier' SYNTAX syntax:51
attribute:23 NAME ( 'facsimileTelephoneNumber' 'fax' ) SYNTAX syntax:22
attribute:24 NAME 'x121Address' EQUALITY numericStringMatch SUBSTR numericStringSubstringsMatch SYNTAX syntax:36
attribute:25 NAME 'internationaliSDNNumber' EQUALITY numericStringMatch SUBSTR numericStringSubstringsMatch \
    SYNTAX syntax:36
attribute:26 NAME 'registeredAddress' SUP postalAddress SYNTAX syntax:41
attribute:27 NAME 'destinationIndicator' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX printable
attribute:28 NAME 'preferredDeliveryMethod' SYNTAX syntax:14
attribute:31 NAME 'member' SUP distinguishedName
attribute:32 NAME 'owner' SUP distinguishedName
attribute:33 NAME 'roleOccupant' SUP distinguishedName
attribute:34 NAME 'seeAlso' SUP distinguishedName
attribute:35 NAME 'userPassword' EQUALITY octetStringMatch SYNTAX syntax:40
attribute:41 NAME 'name' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
attribute:42 NAME ( 'givenName' 'gn' ) SUP name
attribute:43 NAME 'initials' SUP name
attribute:44 NAME 'generationQualifier' SUP name
attribute:45 NAME 'x500UniqueIdentifier' EQUALITY bitStringMatch SYNTAX syntax:6
attribute:46 NAME 'dnQualifier' EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch \
    SUBSTR caseIgnoreSubstringsMatch SYNTAX printable
attribute:47 NAME 'enhancedSearchGuide' SYNTAX syntax:21
attribute:49 NAME 'distinguishedName' EQUALITY distinguishedNameMatch SYNTAX dn
attribute:50 NAME 'uniqueMember' EQUALITY uniqueMemberMatch SYNTAX syntax:34
attribute:51 NAME 'houseIdentifier' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:1 NAME ( 'uid' 'userid' ) EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:25 NAME ( 'dc' 'domainComponent' ) EQUALITY caseIgnoreIA5Match SUBSTR caseIgnoreIA5SubstringsMatch SYNTAX ia5
"""

RFC_4524 = """
pilot:3 NAME ( 'mail' 'rfc822Mailbox' ) EQUALITY caseIgnoreIA5Match SUBSTR caseIgnoreIA5SubstringsMatch SYNTAX ia5
pilot:4 NAME 'info' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:5 NAME ( 'drink' 'favouriteDrink' ) EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:6 NAME 'roomNumber' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:8 NAME 'userClass' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:9 NAME 'host' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:10 NAME 'manager' EQUALITY distinguishedNameMatch SYNTAX dn
pilot:11 NAME 'documentIdentifier' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:12 NAME 'documentTitle' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:13 NAME 'documentVersion' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:14 NAME 'documentAuthor' EQUALITY distinguishedNameMatch SYNTAX dn
pilot:15 NAME 'documentLocation' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:20 NAME ( 'homePhone' 'homeTelephoneNumber' ) EQUALITY telephoneNumberMatch \
    SUBSTR telephoneNumberSubstringsMatch SYNTAX syntax:50
pilot:21 NAME 'secretary' EQUALITY distinguishedNameMatch SYNTAX dn
pilot:37 NAME 'associatedDomain' EQUALITY caseIgnoreIA5Match SUBSTR caseIgnoreIA5SubstringsMatch SYNTAX ia5
pilot:38 NAME 'associatedName' EQUALITY distinguishedNameMatch SYNTAX dn
pilot:39 NAME 'homePostalAddress' EQUALITY caseIgnoreListMatch SUBSTR caseIgnoreListSubstringsMatch SYNTAX syntax:41
pilot:40 NAME 'personalTitle' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:41 NAME ( 'mobile' 'mobileTelephoneNumber' ) EQUALITY telephoneNumberMatch \
    SUBSTR telephoneNumberSubstringsMatch SYNTAX syntax:50
pilot:42 NAME ( 'pager' 'pagerTelephoneNumber' ) EQUALITY telephoneNumberMatch \
    SUBSTR telephoneNumberSubstringsMatch SYNTAX syntax:50
pilot:43 NAME ( 'co' 'friendlyCountryName' ) EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:44 NAME 'uniqueIdentifier' EQUALITY caseIgnoreMatch SYNTAX text
pilot:45 NAME 'organizationalStatus' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:48 NAME 'buildingName' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
pilot:56 NAME 'documentPublisher' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
"""

RFC_2798 = """
pilot:55 NAME 'audio' SYNTAX syntax:4
pilot:60 NAME 'jpegPhoto' SYNTAX syntax:28
netscape:1 NAME 'carLicense' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
netscape:2 NAME 'departmentNumber' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
netscape:3 NAME 'employeeNumber' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
netscape:4 NAME 'employeeType' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
netscape:39 NAME 'preferredLanguage' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
netscape:40 NAME 'userSMIMECertificate' SYNTAX syntax:5
netscape:216 NAME 'userPKCS12' SYNTAX syntax:5
netscape:241 NAME 'displayName' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX text
1.3.6.1.4.1.250.1.57 NAME 'labeledURI' EQUALITY caseExactMatch SYNTAX text
"""
"""Includes labeledURI of RFC 2079."""

RFC_2307 = """
posix:0 NAME 'uidNumber' EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX integer
posix:1 NAME 'gidNumber' EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX integer
posix:2 NAME 'gecos' EQUALITY caseIgnoreIA5Match SUBSTR caseIgnoreIA5SubstringsMatch SYNTAX ia5
posix:3 NAME 'homeDirectory' EQUALITY caseExactIA5Match SYNTAX ia5
posix:4 NAME 'loginShell' EQUALITY caseExactIA5Match SYNTAX ia5
posix:5 NAME 'shadowLastChange' EQUALITY integerMatch SYNTAX integer
posix:6 NAME 'shadowMin' EQUALITY integerMatch SYNTAX integer
posix:7 NAME 'shadowMax' EQUALITY integerMatch SYNTAX integer
posix:8 NAME 'shadowWarning' EQUALITY integerMatch SYNTAX integer
posix:9 NAME 'shadowInactive' EQUALITY integerMatch SYNTAX integer
posix:10 NAME 'shadowExpire' EQUALITY integerMatch SYNTAX integer
posix:11 NAME 'shadowFlag' EQUALITY integerMatch SYNTAX integer
posix:12 NAME 'memberUid' EQUALITY caseExactIA5Match SUBSTR caseExactIA5SubstringsMatch SYNTAX ia5
posix:13 NAME 'memberNisNetgroup' EQUALITY caseExactIA5Match SUBSTR caseExactIA5SubstringsMatch SYNTAX ia5
posix:14 NAME 'nisNetgroupTriple' SYNTAX 1.3.6.1.1.1.0.0
posix:15 NAME 'ipServicePort' EQUALITY integerMatch SYNTAX integer
posix:16 NAME 'ipServiceProtocol' SUP name
posix:17 NAME 'ipProtocolNumber' EQUALITY integerMatch SYNTAX integer
posix:18 NAME 'oncRpcNumber' EQUALITY integerMatch SYNTAX integer
posix:19 NAME 'ipHostNumber' EQUALITY caseIgnoreIA5Match SYNTAX ia5
posix:20 NAME 'ipNetworkNumber' EQUALITY caseIgnoreIA5Match SYNTAX ia5
posix:21 NAME 'ipNetmaskNumber' EQUALITY caseIgnoreIA5Match SYNTAX ia5
posix:22 NAME 'macAddress' EQUALITY caseIgnoreIA5Match SYNTAX ia5
posix:23 NAME 'bootParameter' SYNTAX 1.3.6.1.1.1.0.1
posix:24 NAME 'bootFile' EQUALITY caseExactIA5Match SYNTAX ia5
posix:26 NAME 'nisMapName' SUP name
posix:27 NAME 'nisMapEntry' EQUALITY caseExactIA5Match SUBSTR caseExactIA5SubstringsMatch SYNTAX ia5
"""
"""uidNumber and gidNumber have no ORDERING in the RFC, nor in 389-ds 2.3; OpenLDAP's nis.schema gives them this one."""

EVERYWHERE = """
1.3.6.1.1.16.4 NAME 'entryUUID' EQUALITY UUIDMatch ORDERING UUIDOrderingMatch SYNTAX 1.3.6.1.1.16.1
1.3.6.1.1.20 NAME 'entryDN' EQUALITY distinguishedNameMatch SYNTAX dn USAGE directoryOperation
operational:9 NAME 'hasSubordinates' EQUALITY booleanMatch SYNTAX syntax:7 USAGE directoryOperation
netscape:34 NAME 'ref' EQUALITY caseExactMatch SYNTAX text USAGE distributedOperation
1.2.840.113556.1.2.102 NAME 'memberOf' SYNTAX dn
1.3.6.1.4.1.4203.666.1.7 NAME 'entryCSN' EQUALITY CSNMatch ORDERING CSNOrderingMatch SYNTAX 1.3.6.1.4.1.4203.666.11.2.1
"""
"""RFC 4530, RFC 5020, X.501, RFC 3296; memberOf has EQUALITY distinguishedNameMatch in OpenLDAP and none in 389-ds.

entryCSN is OpenLDAP's own, built in and thus in none of its schema files.
"""

DESCRIPTIONS = RFC_4512 + RFC_4519 + RFC_4524 + RFC_2798 + RFC_2307 + EVERYWHERE


@cache
def standard() -> Schema:
    """Return the standard attribute types, as an excerpt: servers have others."""
    return schema_of(_types(), Origin(path="RFC 4512, 4519, 4524, 2798, 2307"), whole=False)


def _types() -> list[AttributeType]:
    described = filter(None, DESCRIPTIONS.splitlines())
    return [one for line in described if (one := attribute_type(f"( {line} )", MACROS))]
