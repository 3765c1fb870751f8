import { type Call, storeDown } from '../call.js'
import { keyId, windowsNow } from '../subscription-key.js'
import type { World } from '../world.js'

/** A key opens the endpoint that sold it, until the moment its window ends. Any other key is as good as none. */
export function entitle(world: World, call: Call) {
  const key = call.request.subscriptionKey
  if (key === undefined || call.listing.periodMs === undefined || call.isProbe) return 'uncovered'
  return cover(world, call, key)
}

async function cover(world: World, call: Call, key: string) {
  try {
    const record = await world.subscriptions.get(keyId(world.payTo, key))
    if (record?.endpoint !== call.listing.def.name) return 'uncovered'
    return (await windowsNow(world)) < record.expiresAtMs ? 'covered' : 'uncovered'
  } catch (cause) {
    world.logger.error({ err: cause }, 'the subscription store did not answer')
    return storeDown(call)
  }
}
