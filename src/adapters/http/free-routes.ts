/** The routes that an agent answers without payment, at the root and under its base path. */
import type { EndedCall, Runs } from '../../ports/call-observer.js'
import { htmlReply, prefersHtml } from './html-template.js'
import { privateRoute } from './private-routes.js'
import { rootOf } from './read-request.js'
import { jsonReply, jsonTextReply, type Reply } from './reply.js'
import type { FreeRoute, HostRequest } from './route.js'

/**
 * Health is valid only for a moment. Documents contain the host of their request, which may be a forwarded one: a
 * shared cache would send one caller's host to all others.
 */
const UNCACHED = Object.freeze(['Cache-Control', 'no-store'])

export interface FreeRoutesOptions {
  readonly agent: { readonly name: string }
  /** JSON texts, by the origin of the request. */
  readonly documents: {
    manifest(origin: string): string | Promise<string>
    openapi(origin: string): string | Promise<string>
    resourceList(origin: string): string
    /** HTML. `prefix` is the part of the path before this page's own: empty, or the base path. */
    landingPage(origin: string, prefix: string): string
  }
  health(): Promise<Condition>
  readiness(): Promise<Condition>
  readonly metrics: () => Promise<string>
  readonly runs: Runs
  /** Public names under which metrics and runs are answered. */
  readonly operationsHosts: ReadonlySet<string>
  readonly doors: Readonly<Record<'a2a' | 'metrics' | 'runs' | 'root', boolean>>
}

/** A body, and whether it reports a good condition. */
export interface Condition {
  readonly ok: boolean
  readonly [field: string]: unknown
}

/**
 * The documents that describe the agent, with the URLs by which this caller reaches it, and a page for people at `/`. For operators
 * its health, its readiness, and its last calls, which name no payer.
 */
export function freeRoutes(options: FreeRoutesOptions): readonly FreeRoute[] {
  const { documents, agent, metrics, runs, doors } = options
  const at = doors.root ? '' : '/_svc'
  const readers = { are: 'onInnerNetwork', publicHosts: options.operationsHosts } as const
  return [
    jsonDocument('/.well-known/svc.json', origin => documents.manifest(origin)),
    // Some indexes ask for the one name, some for the other.
    ...['/.well-known/x402', '/.well-known/x402.json'].map(path =>
      jsonDocument(path, origin => documents.resourceList(origin)),
    ),
    jsonDocument('/openapi.json', origin => documents.openapi(origin)),
    {
      ...get(`${at}/`, incoming => {
        const origin = rootOf(incoming)
        const prefix = prefixOf(incoming, `${at}/`)
        if (prefersHtml(incoming.headers.accept)) return htmlReply(200, documents.landingPage(origin, prefix))
        return jsonReply(200, { name: agent.name, ...addresses(origin + prefix, doors) })
      }),
      isLeftToMountingApp: doors.root,
      headers: [...UNCACHED, 'Vary', 'Accept'],
    },
    get(`${at}/health`, async () => tell(await options.health())),
    get(`${at}/ready`, async () => tell(await options.readiness())),
    doors.metrics &&
      privateRoute(`${at}/metrics`, readers, async () => {
        return {
          status: 200,
          headers: ['Content-Type', 'text/plain; version=0.0.4; charset=utf-8'],
          body: await metrics(),
        }
      }),
    doors.runs && privateRoute('/_svc/runs', readers, () => jsonReply(200, runs.list().map(run))),
  ].filter(route => route !== false)
}

function get(path: string, handle: FreeRoute['handle']): FreeRoute {
  return { path, method: 'GET', headers: UNCACHED, handle }
}

export function jsonDocument(path: string, textAt: (origin: string) => string | Promise<string>): FreeRoute {
  return get(path, async incoming => jsonTextReply(200, await textAt(rootOf(incoming))))
}

/** What stands in the path before this route's own: the base path, or nothing. */
function prefixOf({ target }: HostRequest, own: string): string {
  return target.slice(0, target.split('?', 1)[0]!.length - own.length)
}

/** For programs that know the agent's address alone. */
function addresses(root: string, { a2a }: FreeRoutesOptions['doors']) {
  return {
    manifest: `${root}/.well-known/svc.json`,
    x402: `${root}/.well-known/x402`,
    ...(a2a && { agentCard: `${root}/.well-known/agent-card.json` }),
    openapi: `${root}/openapi.json`,
  }
}

/** Long enough to cause little load, short enough to notice soon when a process becomes ready. */
const RETRY_SECONDS = '5'

function tell(condition: Condition): Reply {
  return condition.ok ? jsonReply(200, condition) : jsonReply(503, condition, ['Retry-After', RETRY_SECONDS])
}

/** Exactly these fields, all of them always. A call without a payment has no transaction. */
function run({ id, endpoint, status, ms, txId }: EndedCall) {
  return { id, endpoint, status, ms, txId: txId ?? null }
}
