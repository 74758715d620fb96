"""Documents: upload, list, read, watch, change, retry, delete."""

from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import StreamingResponse

from app.api.cursors import DEFAULT_LIMIT, Cursor, Limit, Page, cut, decode_cursor, encode_cursor
from app.api.dependencies import CurrentScope, CurrentServices
from app.api.errors import problems
from app.api.routing import TokenBeforeBody
from app.api.schemas.documents import (
    DeletionReceiptRead,
    DocumentRead,
    DocumentUpdate,
    DocumentUpload,
    PageRead,
    UploadAccepted,
)
from app.api.sse import Event, EventStream, event_stream
from app.core.errors import InvalidRequestError
from app.core.ids import DocumentId, UserId, VersionId
from app.documents.types import DocumentChanges, Status, Upload

router = APIRouter(prefix="/v1/documents", tags=["documents"], route_class=TokenBeforeBody)
DocumentIdPath = Annotated[UUID, Path(description="Id of the document.")]
VersionIdQuery = Annotated[UUID | None, Query(description="Id of a version; the newest without it.")]
ReadyVersionIdQuery = Annotated[
    UUID | None, Query(description="Id of a version; the one that answers are given from without it.")
]


async def refuse_repeated_fields(request: Request) -> None:
    """Refuse a form that gives a field twice: the framework would take one of both and drop the other in silence."""
    names = [name for name, _ in (await request.form()).multi_items()]  # read already, before any dependency
    repeated = sorted({name for name in names if name in DocumentUpload.model_fields and names.count(name) > 1})
    if repeated:
        raise InvalidRequestError(f"Send `{repeated[0]}` once. Each file is a request of its own.")


@router.post(
    "",
    status_code=202,
    dependencies=[Depends(refuse_repeated_fields)],
    responses=problems(400, 401, 403, 408, 409, 413, 415, 422, 503),
)
async def upload_document(
    services: CurrentServices,
    scope: CurrentScope,
    form: Annotated[DocumentUpload, Form(media_type="multipart/form-data")],
) -> UploadAccepted:
    """Take in a file; follow its progress with the document's events."""
    upload = Upload(form.name or form.file.filename or "", form.file.file, form.visibility)
    return UploadAccepted.model_validate(await services.documents.upload(scope, upload))


@router.get("", responses=problems(400, 401, 403, 422, 503))
async def list_documents(
    services: CurrentServices,
    scope: CurrentScope,
    status: Annotated[Status | None, Query(description="Only documents in this state.")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[DocumentRead]:
    """List the documents that the caller may read, newest first."""
    before = decode_cursor(cursor) if cursor else None
    found = await services.documents.page_of(scope, status=status, limit=limit + 1, before=before)
    return cut(found, limit, DocumentRead.model_validate, lambda view: encode_cursor(view.created_at, view.id))


@router.get("/{document_id}", responses=problems(400, 401, 403, 404, 422, 503))
async def get_document(services: CurrentServices, scope: CurrentScope, document_id: DocumentIdPath) -> DocumentRead:
    """Return one document."""
    return DocumentRead.model_validate(await services.documents.get(scope, DocumentId(document_id)))


@router.get("/{document_id}/events", response_class=EventStream, responses=problems(400, 401, 403, 404, 422, 503))
async def watch_document(services: CurrentServices, scope: CurrentScope, document_id: DocumentIdPath) -> EventStream:
    """Follow a document's progress: a `status` event for each change, until it is ready or failed."""
    wanted = DocumentId(document_id)
    first = await services.documents.get(scope, wanted)  # so that 404 is a status and not an event

    async def events() -> AsyncIterator[Event]:
        yield Event("status", DocumentRead.model_validate(first))
        async for view in services.documents.watch(scope, wanted, since=first):
            yield Event("status", DocumentRead.model_validate(view))

    return event_stream(events())


@router.get(
    "/{document_id}/content", response_class=StreamingResponse, responses=problems(400, 401, 403, 404, 422, 503)
)
async def get_document_content(
    services: CurrentServices, scope: CurrentScope, document_id: DocumentIdPath, version_id: VersionIdQuery = None
) -> StreamingResponse:
    """Return the original file. It is sent as an attachment: a browser never renders it on this origin."""
    content = await services.documents.content(scope, DocumentId(document_id), _version(version_id))
    return StreamingResponse(
        await services.documents.open(content),  # so that 404 is a status and not a broken body
        media_type=content.media_type,
        headers={
            "Content-Length": str(content.size_bytes),
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(content.name, safe='')}",
        },
    )


@router.get("/{document_id}/pages/{number}", responses=problems(400, 401, 403, 404, 422, 503))
async def get_document_page(
    services: CurrentServices,
    scope: CurrentScope,
    document_id: DocumentIdPath,
    number: Annotated[int, Path(ge=1, le=1_000_000, description="Number of the page, from 1.")],
    version_id: ReadyVersionIdQuery = None,
    *,
    boxes: Annotated[bool, Query(description="Whether to say where the words stand on the page.")] = False,
) -> PageRead:
    """Return one page of the canonical text: `text[start:end]` of a citation is its quote."""
    wanted, version = DocumentId(document_id), _version(version_id)
    page = await services.documents.page(scope, wanted, number, version, with_boxes=boxes)
    return PageRead.model_validate(page)


@router.patch("/{document_id}", responses=problems(400, 401, 403, 404, 409, 422, 503))
async def update_document(
    services: CurrentServices, scope: CurrentScope, document_id: DocumentIdPath, body: DocumentUpdate
) -> DocumentRead:
    """Rename a document or change who may read it."""
    grants = None if body.grants is None else tuple(UserId(user) for user in body.grants)
    changes = DocumentChanges(name=body.name, visibility=body.visibility, grants=grants)
    return DocumentRead.model_validate(await services.documents.change(scope, DocumentId(document_id), changes))


@router.post("/{document_id}/retry", status_code=202, responses=problems(400, 401, 403, 404, 409, 422, 503))
async def retry_document(services: CurrentServices, scope: CurrentScope, document_id: DocumentIdPath) -> DocumentRead:
    """Start a failed document again."""
    return DocumentRead.model_validate(await services.documents.retry(scope, DocumentId(document_id)))


@router.delete("/{document_id}", responses=problems(400, 401, 403, 404, 422, 503))
async def delete_document(
    services: CurrentServices, scope: CurrentScope, document_id: DocumentIdPath
) -> DeletionReceiptRead:
    """Delete a document with all versions, and say what was removed."""
    return DeletionReceiptRead.model_validate(await services.documents.delete(scope, DocumentId(document_id)))


def _version(version_id: UUID | None) -> VersionId | None:
    return VersionId(version_id) if version_id else None
