"""Blobs in an S3-compatible store."""

import io
import os
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest
from pydantic import SecretStr

from app.core.config import BlobBackend, Settings
from app.core.errors import ConfigurationError, NotFoundError, UnavailableError
from app.core.ids import WorkspaceId
from app.documents.storage import BlobStore, new_key, open_store
from tests.support.s3 import S3

WORKSPACE = WorkspaceId(uuid4())
MEBIBYTE = 1024 * 1024


@pytest.fixture
def s3() -> Iterator[S3]:
    with S3("documents") as store:
        yield store


def of_s3(settings: Settings, **changes: object) -> Settings:
    return settings.model_copy(
        update={
            "blob_backend": BlobBackend.S3,
            "blob_bucket": "documents",
            "blob_access_key_id": SecretStr("an-access-key"),
            "blob_secret_access_key": SecretStr("a-secret-key"),
            **changes,
        }
    )


@pytest.fixture
def blobs(s3: S3, settings: Settings) -> BlobStore:
    return BlobStore(open_store(of_s3(settings, blob_endpoint=s3.url)))


@pytest.mark.parametrize("size", [0, 1, 5 * MEBIBYTE, 12 * MEBIBYTE + 7])
async def test_what_is_put_is_read_back_and_removed(blobs: BlobStore, s3: S3, size: int) -> None:
    key, data = new_key(WORKSPACE), os.urandom(size)
    await blobs.put(key, io.BytesIO(data))
    assert s3.objects == {key: data}
    assert await blobs.exists(key)
    assert await blobs.read(key) == data
    await blobs.remove([key])
    await blobs.remove([key])
    assert (s3.objects, s3.uploads) == ({}, {})
    assert not await blobs.exists(key)
    with pytest.raises(NotFoundError):
        await blobs.open(key)


async def test_a_large_file_goes_in_parts_and_every_request_is_signed(blobs: BlobStore, s3: S3) -> None:
    await blobs.put(new_key(WORKSPACE), io.BytesIO(os.urandom(12 * MEBIBYTE)))
    assert [method for method, _, _ in s3.asked].count("PUT") >= 3
    assert all(signed.startswith("AWS4-HMAC-SHA256 Credential=an-access-key/") for _, _, signed in s3.asked)


async def test_a_missing_bucket_is_told_as_such(settings: Settings, s3: S3) -> None:
    blobs = BlobStore(open_store(of_s3(settings, blob_endpoint=s3.url, blob_bucket="another")))
    for size in (1, 12 * MEBIBYTE):
        with pytest.raises(UnavailableError, match="set up wrongly") as caught:
            await blobs.put(new_key(WORKSPACE), io.BytesIO(os.urandom(size)))
        assert "another" not in caught.value.detail
    with pytest.raises(ConfigurationError, match="BLOB_BUCKET"):
        await blobs.check()


async def test_a_store_that_works_passes_the_check(blobs: BlobStore) -> None:
    await blobs.check()


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_told_as_such(blobs: BlobStore, s3: S3, status: int) -> None:
    s3.failing = status
    with pytest.raises(ConfigurationError, match="BLOB_ACCESS_KEY_ID"):
        await blobs.check()
    with pytest.raises(UnavailableError, match="set up wrongly"):
        await blobs.put(new_key(WORKSPACE), io.BytesIO(b"x"))


async def test_a_store_in_trouble_is_asked_once_and_is_unavailable(blobs: BlobStore, s3: S3) -> None:
    key = new_key(WORKSPACE)
    await blobs.put(key, io.BytesIO(b"x"))
    s3.failing = 503
    asked, began = len(s3.asked), time.monotonic()
    for look in (blobs.read(key), blobs.exists(key), blobs.remove([key]), blobs.check()):
        with pytest.raises(UnavailableError):
            await look
    with pytest.raises(UnavailableError):
        await blobs.put(new_key(WORKSPACE), io.BytesIO(b"x"))
    assert len(s3.asked) == asked + 5
    assert time.monotonic() - began < 5
    s3.failing = 0
    assert await blobs.read(key) == b"x"


async def test_a_store_that_nobody_runs_is_unavailable(settings: Settings) -> None:
    blobs = BlobStore(open_store(of_s3(settings, blob_endpoint="http://127.0.0.1:1")))
    with pytest.raises(UnavailableError):
        await blobs.put(new_key(WORKSPACE), io.BytesIO(b"x"))
    with pytest.raises(UnavailableError):
        await blobs.check()


@pytest.mark.parametrize("endpoint", ["http://objects.example:9000", "http://10.0.0.7", "ftp://127.0.0.1", "objects"])
def test_documents_do_not_cross_a_network_in_the_open(settings: Settings, endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match="BLOB_ENDPOINT"):
        open_store(of_s3(settings, blob_endpoint=endpoint))


@pytest.mark.parametrize("endpoint", ["http://localhost:9000", "http://[::1]:9000", "https://objects.example", ""])
def test_addresses_with_tls_or_on_this_machine_are_taken(settings: Settings, endpoint: str) -> None:
    open_store(of_s3(settings, blob_endpoint=endpoint))


def test_a_bucket_has_to_be_named(settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match="BLOB_BUCKET"):
        open_store(of_s3(settings, blob_bucket=""))
