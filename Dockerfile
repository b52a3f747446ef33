# The agent's image: one program, the libraries that it is linked with, and the certificates of public CAs. No shell,
# no package manager. Everything of it belongs to nobody (65532): the agent runs as uid 0 with a few capabilities, and
# could not change itself.
#   docker build -t xprof .
FROM docker.io/library/debian:bookworm AS tools
WORKDIR /src
COPY tools/deps.sh tools/
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates >/dev/null && \
    tools/deps.sh build && rm -rf /var/lib/apt/lists /var/cache/apt

FROM tools AS build
COPY . .
RUN make -j"$(nproc)" OPT="-O2 -ffile-prefix-map=/src=." && \
    install -D -m 0555 build/xprof /image/usr/bin/xprof && strip --strip-debug /image/usr/bin/xprof && \
    install -D -m 0444 LICENSE /image/usr/share/doc/xprof/LICENSE && \
    install -D -m 0444 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt && \
    tools/libraries.sh build/xprof | sort -u | while read -r library; do \
        install -D -m 0555 "$(realpath "$library")" "/image$library" || exit 1; done && \
    /usr/sbin/chroot /image /usr/bin/xprof --version

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="xprof" \
      org.opencontainers.image.description="Continuous profiler for Kubernetes nodes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build --chown=65532:65532 /image /
ENTRYPOINT ["/usr/bin/xprof"]
CMD ["agent"]
