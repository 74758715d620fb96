import asyncio
import errno
import io
import os
from pathlib import Path
from uuid import uuid4

import pytest
from obstore.store import LocalStore, MemoryStore, ObjectStore, S3Store
from pydantic import SecretStr

from app.core.config import BlobBackend, Settings
from app.core.errors import NotFoundError, UnavailableError
from app.core.ids import WorkspaceId
from app.documents import storage
from app.documents.storage import BlobStore, new_key, open_store

WORKSPACE = WorkspaceId(uuid4())


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return LocalStore(str(tmp_path)) if request.param == "local" else MemoryStore()


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
async def test_what_is_put_is_read_back(store: ObjectStore, size: int) -> None:
    blobs, key, data = BlobStore(store), new_key(WORKSPACE), os.urandom(size)
    await blobs.put(key, io.BytesIO(data))
    assert await blobs.read(key) == data
    assert b"".join([part async for part in await blobs.open(key)]) == data


async def test_bytes_are_read_from_the_start_wherever_the_file_stands(store: ObjectStore) -> None:
    blobs, key, file = BlobStore(store), new_key(WORKSPACE), io.BytesIO(b"abc")
    file.seek(2)
    await blobs.put(key, file)
    assert await blobs.read(key) == b"abc"


async def test_removed_keys_are_gone_and_removing_again_is_no_error(store: ObjectStore) -> None:
    blobs, keys = BlobStore(store), [new_key(WORKSPACE), new_key(WORKSPACE)]
    for key in keys:
        await blobs.put(key, io.BytesIO(b"x"))
    await blobs.remove(keys[:1])
    await blobs.remove(keys[:1])
    assert await blobs.read(keys[1]) == b"x"
    with pytest.raises(NotFoundError):
        await blobs.open(keys[0])


def test_no_key_is_used_twice_and_each_lies_below_its_workspace() -> None:
    keys = {new_key(WORKSPACE) for _ in range(1_000)}
    assert len(keys) == 1_000
    assert all(key.startswith(f"{WORKSPACE}/") for key in keys)


def left_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_a_cancelled_put_writes_nothing_after_its_end(tmp_path: Path) -> None:
    blobs = BlobStore(LocalStore(str(tmp_path)))
    data = os.urandom(8_000_000)
    for step in range(20):
        key = new_key(WORKSPACE)
        task = asyncio.create_task(blobs.put(key, io.BytesIO(data)))
        await asyncio.sleep(step * 0.001)
        task.cancel()
        await asyncio.wait([task])
        await blobs.remove([key])
    await asyncio.sleep(0.1)
    assert left_in(tmp_path) == []


async def test_a_store_that_takes_nothing_is_unavailable(tmp_path: Path) -> None:
    blobs = BlobStore(LocalStore(str(tmp_path)))
    (tmp_path / str(WORKSPACE)).write_text("a file where a folder should be")
    with pytest.raises(UnavailableError):
        await blobs.put(new_key(WORKSPACE), io.BytesIO(b"x"))


class NoRoom(io.BytesIO):
    """A file that a full disk does not take, or does not give."""

    name = "full"

    def read(self, size: int | None = -1) -> bytes:
        raise OSError(errno.ENOSPC, f"No space left on device: {size}")

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_disk_without_room_is_unavailable_and_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = BlobStore(LocalStore(str(tmp_path)))
    with pytest.raises(UnavailableError, match="no room"):
        await blobs.put(new_key(WORKSPACE), NoRoom(b"abc"))
    monkeypatch.setattr(storage, "NamedTemporaryFile", NoRoom)
    with pytest.raises(UnavailableError, match="no room"):
        await blobs.put(new_key(WORKSPACE), io.BytesIO(b"abc"))
    assert left_in(tmp_path) == []


def with_store(settings: Settings, **changes: object) -> Settings:
    return settings.model_copy(update=changes)


async def test_the_folder_of_the_local_store_is_made(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert isinstance(open_store(with_store(settings, blob_path=folder)), LocalStore)
    assert folder.is_dir()


@pytest.mark.parametrize("endpoint", ["", "https://objects.example:9000"])
@pytest.mark.parametrize("key_id", ["", "an-access-key"])
def test_an_s3_store_is_built_from_settings_without_a_request(settings: Settings, endpoint: str, key_id: str) -> None:
    store = open_store(
        with_store(
            settings,
            blob_backend=BlobBackend.S3,
            blob_bucket="documents",
            blob_endpoint=endpoint,
            blob_access_key_id=SecretStr(key_id),
            blob_secret_access_key=SecretStr("a-secret-key"),
        )
    )
    assert isinstance(store, S3Store)
    assert store.config["bucket"] == "documents"
    assert store.config.get("endpoint", "") == endpoint
    assert store.config.get("access_key_id", "") == key_id
