from app.cli.overview import Overview


def document(status: str, done: int = 0, total: int = 0, estimate: int | None = None) -> dict[str, object]:
    return {"status": status, "done": done, "total": total, "estimate_seconds": estimate}


def test_files_are_counted_where_they_are() -> None:
    overview = Overview({"a": 1, "b": 1, "c": 1, "d": 1}, 0.0)
    for name in ("a", "b", "c"):
        overview.send(name)
    overview.accept("a")
    overview.accept("b")
    overview.finish("b", failed=True, at_once=False)
    counts = (overview.total, overview.done, overview.working, overview.sending, overview.waiting, overview.failed)
    assert counts == (4, 1, 1, 1, 1, 1)


def test_a_file_that_is_never_sent_can_end() -> None:
    overview = Overview({"a": 1, "b": 1}, 0.0)
    overview.finish("a", failed=True, at_once=True)
    assert (overview.done, overview.waiting) == (1, 1)


def test_half_of_the_bytes_leave_the_time_that_they_took() -> None:
    overview = Overview({"a": 500, "b": 500}, 100.0)
    overview.finish("a", failed=False, at_once=False)
    assert overview.seconds_left(160.0) == 60.0


def test_what_is_done_of_a_file_counts() -> None:
    overview = Overview({"a": 1_000}, 0.0)
    overview.move("a", document("embedding", 500, 1_000))
    left = overview.seconds_left(55.0)
    assert left is not None
    assert 40 < left < 50


def test_files_without_work_do_not_make_the_pace_look_fast() -> None:
    overview = Overview({"known": 9_000, "a": 500, "b": 500}, 0.0)
    overview.finish("known", failed=False, at_once=True)
    overview.finish("a", failed=False, at_once=False)
    assert overview.seconds_left(60.0) == 60.0


def test_the_services_own_estimate_is_the_least() -> None:
    overview = Overview({"a": 500, "b": 500}, 0.0)
    overview.finish("a", failed=False, at_once=False)
    overview.move("b", document("embedding", 999, 1_000, estimate=300))
    assert overview.seconds_left(10.0) == 300
    overview.finish("b", failed=False, at_once=False)
    assert overview.seconds_left(10.0) == 0


def test_nothing_is_guessed_at_the_beginning() -> None:
    overview = Overview({"a": 500, "b": 0}, 0.0)
    assert overview.seconds_left(60.0) is None
    overview.move("a", document("embedding", 0, 0))
    assert overview.seconds_left(1.0) is None


def test_a_service_that_counts_beyond_its_total_never_makes_the_rest_negative() -> None:
    overview = Overview({"a": 500}, 0.0)
    overview.move("a", document("embedding", 12, 10))
    assert overview.seconds_left(10.0) == 0
