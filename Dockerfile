# The gateway as an image: a wheel built from this repository, and nothing else of it.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[gateway,cli,postgres,otel,mcp,vertex,bedrock]"
RUN useradd --uid 10001 interlingua && install -d -o interlingua /data
USER interlingua
ENV INTERLINGUA_HOME=/data
WORKDIR /data
VOLUME /data
EXPOSE 8400
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8400/health/ready')"]
STOPSIGNAL SIGTERM
CMD ["interlingua", "serve", "--host", "0.0.0.0"]
