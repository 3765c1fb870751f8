/** The model of Redis that simulations run on keeps the charge store's promises. `test/contracts/redis-model.test.ts` holds a real one to it. */
import { describe, expect, it } from 'vitest'
import { redisModel } from '../../proof/simulation/stores/redis-model.js'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { serverTime } from '../../src/adapters/redis/server-time.js'
import { balancesContract, chargeStoreContract } from '../../src/testing.js'

for (const contract of [chargeStoreContract, balancesContract])
  contract({ describe, expect, it }, 'the model of Redis', () => {
    let nowMs = Date.UTC(2026, 0, 1)
    const model = redisModel({ nowMs: () => nowMs })
    const time = serverTime(model, () => nowMs)
    const advance = (ms: number) => {
      nowMs += ms
    }
    return { store: redisChargeStore(model, 'svc:', time), advance, leaseMs: 1_000 }
  })
