"""The keys that count the rows which a RankedTable removes: a more general key, in the end the same one."""

from __future__ import annotations

from ldapdiag.evidence.log.operation_row import ShapeKey, TargetKey
from ldapdiag.evidence.log.tables import OTHER, OTHER_RESULT

AttributionKey = tuple[int, bytes, bytes, bytes, int]
"""Kind of operation, filter shape or target, client, account, result code."""
NoticeKey = tuple[ShapeKey, bool]

OTHER_SHAPE: ShapeKey = (OTHER, OTHER, -1)


def of_all(_: bytes) -> bytes:
    """Count a text with all others."""
    return OTHER


def of_pairs(_: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """Count a pair of texts with all others."""
    return OTHER, OTHER


def of_client(key: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """Count what has a client and a DN by the client alone, and then with all others."""
    client, dn = key
    return (OTHER if dn == OTHER else client), OTHER


def of_all_shapes(_: ShapeKey) -> ShapeKey:
    """Count a shape with all others."""
    return OTHER_SHAPE


def of_all_notices(_: NoticeKey) -> NoticeKey:
    """Count a notice with all others."""
    return OTHER_SHAPE, False


def of_kind(key: TargetKey) -> TargetKey:
    """Count a target with all others of its kind of operation."""
    return key[0], OTHER


def fewer_details(key: AttributionKey) -> AttributionKey:
    """Drop the shape; then the account; then the client and the result code."""
    kind, shape, client, account, err = key
    if shape != OTHER:
        return kind, OTHER, client, account, err
    if account != OTHER:
        return kind, OTHER, client, OTHER, err
    return kind, OTHER, OTHER, OTHER, OTHER_RESULT
