"""S3, Google Cloud Storage and Azure through obstore, which no other module imports (extra `ldapdiag[s3]`).

obstore finds the credentials itself: in the environment, or by the identity of the machine or the container.
It repeats requests that the store refuses for a while (429, 5xx) and those that break off, with growing pauses.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.errors import UsageError
from ldapdiag.extras import install_command
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.objects.store import Listed, ObjectError, cut, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.objects.addresses import ObjectAddress

RETRIES: Any = {
    "max_retries": 20,
    "retry_timeout": timedelta(seconds=90),
    "backoff": {"init_backoff": timedelta(seconds=0.2), "max_backoff": timedelta(seconds=15), "base": 2},
}
"""A store that refuses requests for a minute is asked again for longer than that."""
STATUS = pattern(r"\bstatus(?: code)?:? (\d{3})\b|\b(\d{3}) [A-Z][a-z]+")
METADATA = "169.254."
"""Where machines and containers of a cloud ask for credentials; elsewhere nothing answers."""
CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role gives them",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS, or run where a service account gives them",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or run where an identity gives them",
}


class ObstoreStore:
    """One bucket, read through obstore."""

    def __init__(self, address: ObjectAddress) -> None:
        """Connect to nothing yet. Raises UsageError without obstore."""
        try:
            import obstore  # noqa: PLC0415  an extra
            from obstore.store import from_url  # noqa: PLC0415
        except ImportError:
            how = install_command("s3")
            raise UsageError(f"{address.root}: needs the library obstore, which is not installed; {how}") from None
        self._address = address
        self._obstore = obstore
        self._how = CREDENTIALS[address.scheme]
        with self._explaining():
            self._store = from_url(address.root, retry_config=RETRIES)

    def __reduce__(self) -> tuple[type[ObstoreStore], tuple[ObjectAddress]]:
        """Pickle it without credentials: another process connects with its own."""
        return ObstoreStore, (self._address,)

    def list(self, prefix: str) -> Iterator[Listed]:
        """Yield the objects below a prefix that ends with a slash, or is empty."""
        pages = self._obstore.list(self._store, prefix or None, chunk_size=1000)
        with self._explaining():
            for page in pages:
                yield from map(_listed, page)

    def look_up(self, key: str) -> Listed | None:
        """Return one object; None if there is none."""
        with self._explaining():
            try:
                return _listed(self._obstore.head(self._store, key))
            except (self._obstore.exceptions.NotFoundError, FileNotFoundError):
                return None

    def read(self, listed: Listed, start: int, end: int) -> memoryview:
        """Return a range of bytes, if the object is still the one that was listed."""
        options: Any = {"range": (start, end), **({"if_match": listed.etag} if listed.etag else {})}
        with self._explaining():
            data = memoryview(self._obstore.get(self._store, listed.key, options=options).bytes())
        if len(data) < end - start:
            raise cut(start, len(data), end - start)
        return data

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Raise the errors of the library as ObjectError."""
        try:
            yield
        except (self._obstore.exceptions.BaseError, OSError) as error:
            raise error if isinstance(error, ObjectError) else self._explained(error) from None

    def _explained(self, error: Exception) -> ObjectError:
        """Return why a request failed. The library's text may quote the request, so that none of it is passed on."""
        kinds, text = self._obstore.exceptions, str(error)
        status = next((one[1] or one[2] for one in [STATUS.search(text)] if one), "")
        if isinstance(error, kinds.PreconditionError):
            return replaced()
        if isinstance(error, kinds.NotFoundError | FileNotFoundError) or status == "404":
            how = f"check the spelling of bucket and key; or the access key is unknown: {self._how}"
            return ObjectError("there is no such object or bucket (404)", how)
        if isinstance(error, kinds.PermissionDeniedError | kinds.UnauthenticatedError) or status in {"401", "403"}:
            return ObjectError(f"the store refuses access ({status or 403})", f"check the credentials: {self._how}")
        if METADATA in text or "credential" in text.lower():
            return ObjectError("there are no credentials", self._how)
        if "builder error" in text:
            how = "use https://, or set AWS_ALLOW_HTTP=true for a store on a network that you trust"
            return ObjectError("its endpoint is http://, without encryption", how)
        if status:
            how = "run it again later, or ask those who run the store"
            return ObjectError(f"the store answered {status}, also after retries", how)
        return ObjectError("the store does not answer", "check the endpoint, name resolution and proxies")


def _listed(meta: Any) -> Listed:  # noqa: ANN401  a dict of obstore
    return Listed(key=meta["path"], bytes=meta["size"], changed=meta.get("last_modified"), etag=meta.get("e_tag") or "")
