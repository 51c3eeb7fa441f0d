# The gateway's image: the static binary, alone. Temporal is not in it: the gateway needs a server of its operator's, and
# cmd/temporal-dev is for trying things.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN scripts/build.sh "the gateway" out/usr/bin/hiregate cmd/hiregate \
	"-s -w -X github.com/hiregate/hiregate/internal/version.Version=$VERSION"
# A new volume takes owner and mode of the folder below it.
RUN install -d -m 0700 volumes/var/lib/hiregate volumes/data volumes/config

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="hiregate" org.opencontainers.image.licenses="Apache-2.0" \
	org.opencontainers.image.version="$VERSION" org.opencontainers.image.source="https://github.com/hiregate/hiregate" \
	org.opencontainers.image.description="The gateway between a recruiting service and its partners"
# CA certificates and time zones are in the binary.
COPY --from=build /src/out/ /
COPY --from=build --chown=65532:65532 /src/volumes/ /
# XDG_*: where Caddy keeps certificates, and what it ran with last. TMPDIR: what is uploaded to a bucket passes through it.
ENV PATH=/usr/bin TMPDIR=/var/lib/hiregate XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config HIREGATE_HEALTHZ=http://127.0.0.1:9180/healthz
USER 65532:65532
VOLUME ["/var/lib/hiregate", "/data", "/config"]
EXPOSE 80 443 9180
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["/usr/bin/hiregate", "healthcheck"]
ENTRYPOINT ["/usr/bin/hiregate"]
CMD ["run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
