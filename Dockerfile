FROM swift:6.2-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libcurl4-openssl-dev libssl-dev libsqlite3-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
ENV SWIFT_DETERMINISTIC_HASHING=1
COPY . .
RUN swift build -c release --static-swift-stdlib --product receipt-bridge \
    && install -m 0755 "$(swift build -c release --static-swift-stdlib --show-bin-path)/receipt-bridge" /receipt-bridge

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libcurl4 libssl3 tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --no-create-home --shell /usr/sbin/nologin bridge
COPY --from=build /receipt-bridge /usr/local/bin/receipt-bridge
USER bridge
EXPOSE 8080
ENTRYPOINT ["receipt-bridge", "serve", "--listen", "0.0.0.0:8080"]
