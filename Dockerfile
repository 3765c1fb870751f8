# The reference agent, which sells for real and does not start without SVC_PAY_TO, and the command line: `node dist/cli/main.js` in
# the same image is the sandbox.
FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY src ./src
COPY cli ./cli
COPY agents ./agents
COPY build/join.mjs ./build/
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:22-slim
# Why: docs/guides/go-to-production.md, "How much memory for the young".
ENV NODE_ENV=production PORT=4021 NODE_OPTIONS=--max-semi-space-size=64
WORKDIR /app
# Root's, and read by another: the process cannot change its own code.
COPY package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY deploy/probe.mjs ./deploy/
# `node` by number, so that Kubernetes can see that it is not root (runAsNonRoot).
USER 1000:1000
EXPOSE 4021
# The process and its own checks; whether calls should be sent here is /ready's to say.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "deploy/probe.mjs", "/health"]
# No shell and no npm in between: SIGTERM reaches the agent, which finishes what is in flight.
CMD ["node", "dist/agents/reference/start.js"]
