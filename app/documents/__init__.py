"""Documents: upload, versions, who may read them, stored bytes, deletion."""
