"""The original bytes of documents, in a local folder or an S3-compatible store.

A key is used once and never again: a removal that runs late, or twice, cannot hit newer bytes.
"""

import asyncio
import errno
import shutil
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit
from uuid import UUID

import anyio
import obstore
from obstore.exceptions import BaseError as StoreError, PermissionDeniedError, UnauthenticatedError
from obstore.store import LocalStore, ObjectStore, S3Store

from app.core.config import BlobBackend, Settings
from app.core.errors import ConfigurationError, NotFoundError, UnavailableError
from app.core.ids import WorkspaceId, new_id

if TYPE_CHECKING:  # types that exist in the stubs only
    from obstore import GetResult
    from obstore.store import ClientConfig, S3Config

_READ_CHUNK = 1024 * 1024
# A silent store is known soon; a large file may take its time.
_TIMEOUTS: "ClientConfig" = {
    "connect_timeout": timedelta(seconds=5),
    "read_timeout": timedelta(seconds=15),
    "timeout": timedelta(minutes=10),
}
_NO_BUCKET = "NoSuchBucket"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOBODY = WorkspaceId(UUID(int=0))
_WRONG_SETUP = (FileNotFoundError, PermissionDeniedError, UnauthenticatedError)
"""What a store says of a bucket that is missing or closed to us, where no key can be at fault."""


def open_store(settings: Settings) -> ObjectStore:
    """Open the configured store; a local folder is made when it is missing. No request is made.

    Raises:
        ConfigurationError: The settings of the bucket are not whole, or would send documents in the open.
    """
    if settings.blob_backend is BlobBackend.LOCAL:
        settings.blob_path.mkdir(parents=True, exist_ok=True)
        return LocalStore(str(settings.blob_path.resolve()))
    if not settings.blob_bucket:
        raise ConfigurationError("BLOB_BACKEND is s3, so BLOB_BUCKET is needed too.")
    config: S3Config = {"region": settings.blob_region}
    if settings.blob_endpoint:
        config["endpoint"] = settings.blob_endpoint
    if key_id := settings.blob_access_key_id.get_secret_value():
        config["access_key_id"] = key_id
        config["secret_access_key"] = settings.blob_secret_access_key.get_secret_value()
    client: ClientConfig = {**_TIMEOUTS, "allow_http": _allows_http(settings.blob_endpoint)}
    # Whoever asked tries again: a person, or the queue. Ten retries below them would hold both for minutes.
    return S3Store(settings.blob_bucket, config=config, client_options=client, retry_config={"max_retries": 0})


def _allows_http(endpoint: str) -> bool:
    """Tell whether an endpoint goes without TLS; only this machine may."""
    address = urlsplit(endpoint)
    if not endpoint or address.scheme == "https":
        return False
    host = address.hostname or ""
    with suppress(ValueError):
        if address.scheme == "http" and (host == "localhost" or ip_address(host).is_loopback):
            return True
    raise ConfigurationError(
        "BLOB_ENDPOINT must begin with https://; only this machine itself may be asked by http://."
    )


class BlobStore:
    """Puts, reads and removes bytes by key."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def put(self, key: str, file: BinaryIO) -> None:
        """Store all bytes of an open file under a new key.

        Even when it is cancelled, nothing is still being written at the end: a removal that follows finds the bytes.

        Raises:
            UnavailableError: The store does not take the bytes.
        """
        writing = asyncio.create_task(self._write(key, file))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await finish_though_cancelled(asyncio.wait([writing]))
            raise

    async def _write(self, key: str, file: BinaryIO) -> None:
        try:
            with NamedTemporaryFile() as copy:
                # By path: obstore 0.12 holds a file object beyond the call, and 2 of 10 processes aborted at exit.
                await asyncio.to_thread(_copy, file, copy)
                await obstore.put_async(self._store, key, Path(copy.name))
        except _WRONG_SETUP as error:
            raise UnavailableError("The store of files is set up wrongly. Tell an operator.") from error
        except OSError as error:
            raise not_kept(error) from error
        except StoreError as error:
            raise UnavailableError("The file could not be stored. Try again in a moment.") from error

    async def check(self) -> None:
        """Ask whether the store can be used.

        Raises:
            ConfigurationError: Its bucket is missing or closed to us.
            UnavailableError: It does not answer.
        """
        try:
            await self.exists(new_key(_NOBODY))  # tells whether the key of access is taken
            await obstore.list_with_delimiter_async(self._store, prefix=str(_NOBODY))
        except StoreError as error:
            if _NO_BUCKET in str(error):  # the driver has no class for it
                raise ConfigurationError("There is no bucket of the name in BLOB_BUCKET.") from error
            raise UnavailableError("The store of files does not answer.") from error
        except UnavailableError as error:
            if isinstance(error.__cause__, _WRONG_SETUP):
                raise ConfigurationError("The bucket is closed to BLOB_ACCESS_KEY_ID and its secret.") from error
            raise

    async def read(self, key: str) -> bytes:
        """Return all bytes of a key.

        Raises:
            NotFoundError: There are no bytes under this key.
            UnavailableError: The store does not answer.
        """
        return b"".join([part async for part in await self.open(key)])

    async def open(self, key: str) -> AsyncIterator[bytes]:
        """Return the bytes of a key in parts. What is missing is known before the first part; raises like `read`."""
        with _translated():
            found = await obstore.get_async(self._store, key)
        return _parts(found)

    async def exists(self, key: str) -> bool:
        """Tell whether there are bytes under a key.

        Raises:
            UnavailableError: The store does not answer.
        """
        try:
            await obstore.head_async(self._store, key)
        except FileNotFoundError:
            return False
        except (StoreError, OSError) as error:
            raise UnavailableError("The store of files does not answer.") from error
        return True

    async def remove(self, keys: Sequence[str]) -> None:
        """Remove keys; those that are gone already are no error.

        Raises:
            UnavailableError: The store does not answer.
        """
        for key in keys:
            try:
                await obstore.delete_async(self._store, key)
            except FileNotFoundError:
                continue
            except (StoreError, OSError) as error:
                raise UnavailableError("A stored file could not be removed.") from error


def not_kept(error: OSError) -> UnavailableError:
    """Return what to say when this machine could not keep a file that is being uploaded: no fault of the file."""
    if error.errno in _NO_ROOM:
        return UnavailableError("The server has no room for the file now. Tell an operator, and try again later.")
    return UnavailableError("The file could not be stored. Try again in a moment.")


def new_key(workspace_id: WorkspaceId) -> str:
    """Return a key that was never used."""
    return f"{workspace_id}/{new_id()}"


def is_key_of(workspace_id: WorkspaceId, key: str) -> bool:
    """Tell whether a key is one that `new_key` makes for this workspace: nobody reaches bytes of another by a key."""
    folder, _, name = key.partition("/")
    return folder == str(workspace_id) and bool(name) and "/" not in name


async def finish_though_cancelled(work: Awaitable[object]) -> None:
    """Wait for what must not stay half done, even when this task is cancelled meanwhile or was before."""
    with anyio.CancelScope(shield=True):
        await asyncio.shield(work)


async def _parts(found: "GetResult") -> AsyncIterator[bytes]:
    with _translated():
        async for part in found.stream(min_chunk_size=_READ_CHUNK):
            yield bytes(part)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError("The stored file is gone. Upload it again.") from error
    except (StoreError, OSError) as error:
        raise UnavailableError("The stored file cannot be read now. Try again in a moment.") from error


def _copy(source: BinaryIO, target: IO[bytes]) -> None:
    source.seek(0)
    shutil.copyfileobj(source, target, _READ_CHUNK)
    target.flush()
