/**
 * `node probe.mjs <path or URL>`: exits 0 where it answers 2xx in time, else 1. A path is the agent's, on its own `PORT`.
 * The images of Node have no curl.
 */
const TIMEOUT_MS = 4_000

const url = new URL(process.argv[2] ?? '/health', `http://127.0.0.1:${process.env.PORT || 4021}`)
const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined)
process.exit(answer?.ok ? 0 : 1)
