"""Tenants, documents, chunks, answers and the job queue."""

from pathlib import Path

from alembic import op
from procrastinate.schema import SchemaManager

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the queue's tables first, so that the grants of the second script reach them too."""
    run = op.get_bind().connection.driver_connection.execute  # scripts: no parameters, so no placeholders are read
    run("SET LOCAL lock_timeout = '5s'")
    run(SchemaManager.get_schema())
    run(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Migrations only go forward: restore a backup to go back."""
    raise RuntimeError("migrations only go forward: restore a backup to go back")
