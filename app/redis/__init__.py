"""The two Redis servers; the only importer of the driver."""
