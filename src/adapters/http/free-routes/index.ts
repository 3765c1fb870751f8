/** The routes that an agent answers without payment, at the root and under its base path. */
import type { FreeRoute } from '../route-types.js'
import { type OperationsRoutesOptions, operationsRoutes } from './health-metrics-runs.js'
import { type DiscoveryRoutesOptions, discoveryRoutes } from './manifest-and-openapi.js'

export interface FreeRoutesOptions extends DiscoveryRoutesOptions, OperationsRoutesOptions {}

export function freeRoutes(options: FreeRoutesOptions): readonly FreeRoute[] {
  return [...discoveryRoutes(options), ...operationsRoutes(options)]
}
