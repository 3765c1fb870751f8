/** Sells servers that run already, for `svc sell`: one agent after another, as its terms change, over the same stores. */

import { memoryChargeStore } from './adapters/memory/charge-store.js'
import { memoryCounters } from './adapters/memory/counters.js'
import { memoryRuns } from './adapters/memory/recent-runs.js'
import { memorySubscriptions } from './adapters/memory/subscriptions.js'
import { memoryTasks } from './adapters/memory/task-store.js'
import { ajvValidator } from './adapters/validation/ajv.js'
import { handlerParts } from './app/server/create-handler.js'
import type { Audit, BesideTheCore } from './app/server/server-environment.js'
import type { ServeOptions } from './app/server/server-options.js'
import { settingsOf } from './app/server/settings-from-options.js'
import type { JSONSchema } from './domain/endpoint.js'
import { SvcError } from './domain/errors.js'
import { jsonIn } from './domain/json.js'
import { letThrough } from './sell/free-routes.js'
import { soldBy, type Terms } from './sell/terms.js'
import { BESIDE, listening, type SvcServer } from './serve.js'

export type { RouteTerms, Terms } from './sell/terms.js'

/** @throws SvcError `invalid_options` for what is no JSON, and for what its schema does not describe */
export function checkedTerms(text: string, schema: object, file: string): Terms {
  const refuse = (why: string): never => {
    throw new SvcError(`${file}: ${why}`, 'invalid_options')
  }
  const terms = jsonIn(text) ?? refuse('it is not JSON')
  const checked = ajvValidator().compile(schema as JSONSchema, { coerce: false, allowSlow: true })(terms)
  if ('invalid' in checked)
    refuse(`${checked.invalid.message}${checked.invalid.field && ` (${checked.invalid.field})`}`)
  const { $schema: _, ...given } = terms as unknown as Terms & { $schema?: string }
  return given
}

export interface Sold extends SvcServer {
  /**
   * Sells by these terms from the next request on. Calls at work end by those that they began with.
   *
   * @throws as {@link sell}; then nothing has changed
   */
  reload(terms: Terms): void
}

/** @throws SvcError `invalid_options`, and an agent's, an endpoint's and a server's codes */
export function sell(terms: Terms, options: ServeOptions): Sold {
  // With stores of its own, each agent would take one payment once.
  const stores = {
    charges: memoryChargeStore(),
    subscriptions: memorySubscriptions(),
    rateLimit: memoryCounters(),
    credit: memoryCounters(),
    tasks: memoryTasks(),
    runs: memoryRuns(100),
    ...options.stores,
  }
  let audit: Audit | undefined
  let isLast = false
  const beside: BesideTheCore = {
    ...BESIDE,
    audit(settings) {
      const isFirst = audit === undefined
      audit ??= BESIDE.audit(settings)
      const { openJournal, close } = audit
      return {
        ...audit,
        openJournal: () => isFirst && openJournal(),
        endStreams() {},
        close: async () => isLast && close(),
      }
    },
  }
  const opened = ({ agent, free }: ReturnType<typeof soldBy>) => {
    const settings = settingsOf(agent, { ...options, stores })
    const parts = handlerParts(settings, beside)
    return {
      settings,
      ...parts,
      free: letThrough(free, agent.endpoints, parts.routes),
    }
  }
  const first = soldBy(terms)
  const names = new Set(first.agent.endpoints.map(({ name }) => name))
  let now = opened(first)
  const ending = new Set<Promise<unknown>>()
  const server = listening(
    {
      ...now,
      node: (req, res) => now.free(req as never, res as never) || now.node(req, res),
      shutdown: (reason, endConnections) =>
        now.shutdown(reason, async report => {
          await Promise.all(ending)
          isLast = true
          audit?.endStreams()
          await endConnections?.(report)
        }),
    },
    options,
  )
  return Object.assign(server, {
    reload(changed: Terms) {
      const sold = soldBy(changed)
      const added = sold.agent.endpoints.find(({ name }) => !names.has(name))
      if (added !== undefined && options.journal !== undefined)
        throw new SvcError(
          `The journal says what is sold, and '${added.name}' is new: start svc sell anew`,
          'invalid_options',
        )
      const before = now
      now = opened(sold)
      const closing: Promise<unknown> = before.shutdown('other terms').finally(() => ending.delete(closing))
      ending.add(closing)
    },
  })
}
