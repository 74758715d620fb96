from app.cli.errors import ProblemError


def test_problem_is_told_as_title_and_detail() -> None:
    problem = {"title": "Too large", "detail": "The file has 80 MB.", "code": "too_large", "trace_id": "abc"}
    error = ProblemError(problem, 413)
    assert error.detail == "Too large: The file has 80 MB."
    assert (error.problem_code, error.http_status, error.trace_id) == ("too_large", 413, "abc")


def test_problem_with_fields_names_each() -> None:
    errors = [{"field": "body.name", "code": "string_too_long", "message": "too long"}]
    assert ProblemError({"title": "Invalid request", "errors": errors}, 422).detail == (
        "Invalid request\n  body.name: too long"
    )


def test_answer_that_is_no_problem_document_is_told_by_its_status() -> None:
    assert ProblemError({}, 502).detail == "HTTP 502"
