"""The embedder that each workspace chooses."""

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Wait 5 s at most for a lock: a migration must not stop the code that is running."""
    run = op.get_bind().connection.driver_connection.execute  # a script: no parameters, so no placeholders are read
    run("SET LOCAL lock_timeout = '5s'")
    run("SET LOCAL statement_timeout = '15min'")
    run(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Migrations only go forward: restore a backup to go back."""
    raise RuntimeError("migrations only go forward: restore a backup to go back")
