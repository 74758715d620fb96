"""The statements of ingestion."""
