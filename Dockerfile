# docker build -t receipt-bridge . && docker run --rm -p 8080:8080 -v receipt-bridge:/var/lib/receipt-bridge receipt-bridge
# Pin both images by digest if builds must be reproducible: FROM swift:6.3-bookworm@sha256:…
ARG SWIFT=swift:6.3-bookworm
ARG DEBIAN=debian:bookworm-slim

FROM ${SWIFT} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libcurl4-openssl-dev libssl-dev libsqlite3-dev make pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# docker build --build-arg REVISION="$(git rev-parse HEAD)" names the commit in --version, too.
ARG REVISION=
RUN make static PREPARED=1 BUILD_COMMIT="$REVISION" && install -m 0755 .build-static/release/receipt-bridge /receipt-bridge

FROM ${DEBIAN}
# docker build --build-arg VERSION="$(python3 Tests/Scripts/package/release.py --version)"
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Receipt Bridge" \
      org.opencontainers.image.description="Proxy that replaces the verifyReceipt endpoint of the App Store for old app versions" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# libpq5 is needed only for a store of PostgreSQL.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libcurl4 libpq5 libsqlite3-0 libssl3 tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin bridge \
    && install -d -o bridge -g bridge -m 0700 /var/lib/receipt-bridge
COPY --from=build /receipt-bridge /usr/local/bin/receipt-bridge
USER 10001
WORKDIR /var/lib/receipt-bridge
VOLUME /var/lib/receipt-bridge
EXPOSE 8080
# Checks the public listener, or the operations listener if `tls:` is configured: that one always uses plain HTTP. The image
# contains bash, but not curl.
HEALTHCHECK --interval=30s --timeout=3s --start-period=5s \
    CMD ["bash", "-c", "for port in 8080 8081; do (exec 3<>/dev/tcp/127.0.0.1/$port && printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r -t 1 line <&3 && [[ $line == *' 200 '* ]]) && exit 0; done; exit 1"]
ENTRYPOINT ["receipt-bridge", "serve"]
CMD ["--listen", "0.0.0.0:8080"]
