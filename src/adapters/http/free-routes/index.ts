/** What an agent tells everybody without payment, at the root and under its base path. */
import type { FreeRoute } from '../app.js'
import { type DiscoveryRoutesOptions, discoveryRoutes } from './discovery.js'
import { type OperationsRoutesOptions, operationsRoutes } from './operations.js'

export interface FreeRoutesOptions extends DiscoveryRoutesOptions, OperationsRoutesOptions {}

export function freeRoutes(options: FreeRoutesOptions): readonly FreeRoute[] {
  return [...discoveryRoutes(options), ...operationsRoutes(options)].map(uncached)
}

/**
 * Health is true for a moment only. And documents name the host that they were asked at, which may be a forwarded one: a
 * shared cache that kept one would serve one caller's word to all others.
 */
function uncached(route: FreeRoute): FreeRoute {
  return {
    ...route,
    handle(ctx) {
      ctx.set('Cache-Control', 'no-store')
      return route.handle(ctx)
    },
  }
}
