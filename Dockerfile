# syntax=docker/dockerfile:1
# The service and the `tapedeck` command, for any role. Settings come from the environment; none are in the image.

FROM node:24-bookworm-slim AS sources
WORKDIR /app
COPY . .

# The console, with what only its build needs.
FROM sources AS console
RUN npm ci --ignore-scripts --omit=dev --loglevel=error
RUN node -e "import('./scripts/ensure-console.mjs').then(({ ensureConsole }) => ensureConsole('/app', process.execPath))"

# What runs: the packages of server and command, and the Node that the lockfile pins.
FROM sources AS service
RUN npm ci --ignore-scripts --omit=dev --loglevel=error \
      --include-workspace-root --workspace packages/server --workspace packages/cli
COPY --from=console /app/packages/console/dist packages/console/dist
# The embedded PostgreSQL makes the names of its libraries at its first start; the image is read-only by then.
RUN node scripts/make-ready.ts
RUN mkdir bin \
 && node -e "import('./scripts/pinned-node.mjs').then(({ pinnedNode }) => console.log(pinnedNode('/app')))" \
    | xargs -I{} ln -s {} bin/node \
 && printf '#!/bin/sh\nexec node --disable-warning=ExperimentalWarning /app/packages/cli/src/main.ts "$@"\n' > bin/tapedeck \
 && chmod 755 bin/tapedeck

FROM debian:bookworm-slim
RUN groupadd --system --gid 10001 tapedeck \
 && useradd --system --uid 10001 --gid tapedeck --home-dir /data --no-create-home tapedeck \
 && install --directory --owner tapedeck --group tapedeck --mode 0700 /data
COPY --from=service /app /app
WORKDIR /app
ENV PATH=/app/bin:/usr/local/bin:/usr/bin:/bin \
    TAPEDECK_HOST=0.0.0.0 \
    TAPEDECK_PORT=8420 \
    TAPEDECK_DATA_DIR=/data \
    UV_THREADPOOL_SIZE=16
USER tapedeck
VOLUME /data
EXPOSE 8420
STOPSIGNAL SIGTERM
# The process answers. Whether database and store do is /readyz, which is for load balancers.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TAPEDECK_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# No shell and no npm in between: signals reach Node. Run it with an init (`docker run --init`), which reaps.
CMD ["node", "--disable-warning=ExperimentalWarning", "packages/server/src/main.ts"]
