"""Other stores through fsspec, which no other module imports (extra `ldapdiag[fsspec]`): hdfs://, sftp:// and others.

fsspec and the library of the store find the credentials themselves. Where a store has no version of its objects
(ETag), an object that was replaced is known by its size and time, before and after it is read.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ldapdiag.errors import UsageError
from ldapdiag.extras import install_command
from ldapdiag.sources.objects.store import Listed, ObjectError, cut, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.objects.addresses import ObjectAddress

VERSIONS = ("ETag", "etag", "checksum", "version_id", "generation", "md5Hash")
TIMES = ("LastModified", "last_modified", "mtime", "updated", "created", "modified")
HOW = "check the address, and that the library of this store can read it"


class FsspecStore:
    """All objects below one address, read through fsspec."""

    def __init__(self, address: ObjectAddress) -> None:
        """Connect to the store. Raises UsageError without fsspec, or for a scheme that it does not know."""
        try:
            import fsspec  # type: ignore[import-untyped]  # noqa: PLC0415  an extra
        except ImportError:
            how = install_command("fsspec")
            raise UsageError(f"{address.root}: needs the library fsspec, which is not installed; {how}") from None
        self._address = address
        try:
            self._system, self._root = fsspec.core.url_to_fs(f"{address.root}/")
        except ImportError as error:
            raise UsageError(f"{address.root}: fsspec needs another library for it: {error}") from None
        except ValueError:
            raise UsageError(f"{address.root}: fsspec does not know {address.scheme}://") from None

    def __reduce__(self) -> tuple[type[FsspecStore], tuple[ObjectAddress]]:
        """Pickle it without credentials: another process connects with its own."""
        return FsspecStore, (self._address,)

    def list(self, prefix: str) -> Iterator[Listed]:
        """Yield the objects below a prefix."""
        with _explaining():
            found = self._system.find(self._path(prefix), detail=True)
        for path, info in found.items():
            yield _listed(path.removeprefix(self._root.rstrip("/")).lstrip("/"), info)

    def look_up(self, key: str) -> Listed | None:
        """Return one object; None if there is none, or a folder."""
        with _explaining():
            try:
                info = self._system.info(self._path(key))
            except FileNotFoundError:
                return None
        return _listed(key, info) if info.get("type") != "directory" else None

    def read(self, listed: Listed, start: int, end: int) -> memoryview:
        """Return a range of bytes; after the last one, the object must still have the size and version listed."""
        with _explaining():
            data = memoryview(self._system.cat_file(self._path(listed.key), start=start, end=end))
        if (len(data) < end - start or end == listed.bytes) and self._is_another(listed):
            raise replaced()
        if len(data) < end - start:
            raise cut(start, len(data), end - start)
        return data

    def _is_another(self, listed: Listed) -> bool:
        self._system.invalidate_cache()
        return self.look_up(listed.key) != listed

    def _path(self, key: str) -> str:
        return f"{self._root.rstrip('/')}/{key}"


def _listed(key: str, info: dict[str, Any]) -> Listed:
    changed = next((info[name] for name in TIMES if info.get(name) is not None), None)
    if isinstance(changed, int | float):
        changed = datetime.fromtimestamp(changed, UTC)
    version = next((str(info[name]) for name in VERSIONS if info.get(name)), "")
    when = changed if isinstance(changed, datetime) else None
    return Listed(key=key, bytes=int(info.get("size") or 0), changed=when, etag=version)


@contextmanager
def _explaining() -> Iterator[None]:
    """Raise the errors of a library as ObjectError; its text may quote a request, so that none of it is passed on."""
    try:
        yield
    except FileNotFoundError:
        raise ObjectError("there is no such object (404)", "check the spelling of the address") from None
    except PermissionError:
        reason = "the store refuses access (403)"
        raise ObjectError(reason, "check the credentials that the library of this store uses") from None
    except ObjectError:
        raise
    except Exception as error:  # noqa: BLE001  each store has a library with errors of its own
        raise ObjectError(f"the store does not answer as expected ({type(error).__name__})", HOW) from None
