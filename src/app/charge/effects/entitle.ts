import { type Call, storeDown } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
import { keyId, windowsNow } from '../subscription-key.js'

/** A key opens the endpoint that sold it until its window ends. Any other key counts as absent. */
export function entitle(deps: ChargeDeps, call: Call) {
  const key = call.request.subscriptionKey
  if (key === undefined || call.endpoint.periodMs === undefined || call.isProbe) return 'uncovered'
  return cover(deps, call, key)
}

async function cover(deps: ChargeDeps, call: Call, key: string) {
  try {
    const record = await deps.subscriptions.get(keyId(deps.payTo, key))
    if (record?.endpoint !== call.endpoint.def.name) return 'uncovered'
    return (await windowsNow(deps)) < record.expiresAtMs ? 'covered' : 'uncovered'
  } catch (cause) {
    deps.logger.error({ err: cause }, 'the subscription store did not answer')
    return storeDown(call)
  }
}
