"""The OpenAPI document, with every error as a problem document."""

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from app.api.problem import Problem

_REF = "#/components/schemas/{model}"
_FRAMEWORK_ERRORS = ("HTTPValidationError", "ValidationError")


class Api(FastAPI):
    """An application whose OpenAPI document knows our errors instead of the framework's."""

    def openapi(self) -> dict[str, Any]:
        """Return the document, made once."""
        if self.openapi_schema is None:
            document = super().openapi()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            _, problems = models_json_schema([(Problem, "serialization")], ref_template=_REF)
            schemas.update(problems["$defs"])
            for name in _FRAMEWORK_ERRORS:
                schemas.pop(name, None)
        return self.openapi_schema or {}
