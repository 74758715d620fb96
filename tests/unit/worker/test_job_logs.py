import logging

import procrastinate
import pytest

from app.worker.job_logs import hide_job_arguments


@pytest.mark.parametrize(
    "name", ["procrastinate.worker", "procrastinate.worker.small", "procrastinate.worker.background"]
)
def test_lines_about_jobs_name_the_job_without_its_arguments(name: str, caplog: pytest.LogCaptureFixture) -> None:
    job = procrastinate.jobs.Job(
        id=7, queue="default", lock=None, queueing_lock=None, task_name="ingest", task_kwargs={"a": "50% of a secret"}
    )
    assert "secret" in job.call_string
    hide_job_arguments()
    hide_job_arguments()
    with caplog.at_level(logging.INFO, logger=name):
        logging.getLogger(name).info(f"Job {job.call_string} ended", extra={"job": job.log_context()})  # noqa: G004  (as the queue does)
        logging.getLogger(name).info("Stop %s", "requested")
    assert caplog.messages == ["Job ingest[7] ended", "Stop requested"]


@pytest.mark.parametrize("value", ["a secret", "a) (started 1.000 s ago) secret", "(\nsecret)"])
def test_lines_without_a_job_of_their_own_hide_the_arguments_too(value: str, caplog: pytest.LogCaptureFixture) -> None:
    hide_job_arguments()
    with caplog.at_level(logging.INFO, logger="procrastinate.worker.large"):
        logging.getLogger("procrastinate.worker.large").info(
            f"Waiting for job to finish: worker: ingest[7](a={value}) (started 2.000 s ago)",  # noqa: G004  (as the queue does)
            extra={"action": "ending_job"},
        )
    assert caplog.messages == ["Waiting for job to finish: worker: ingest[7]"]
