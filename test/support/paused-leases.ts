import type { ChargeStore } from '../../src/ports/charge-store.js'

/** A store to which no process comes back: leases stay as they are until the test lets them run out. */
export function pausedLeases(store: ChargeStore): { readonly charges: ChargeStore; runOut(): Promise<void> } {
  const holds = new Map<string, Parameters<ChargeStore['renew']>[0][number]>()
  return {
    charges: {
      ...store,
      async open(move) {
        const opened = await store.open(move)
        if (opened.verdict === 'opened') holds.set(move.token, move)
        return opened
      },
      renew: async renewed => renewed.map(() => true),
    },
    async runOut() {
      await store.renew([...holds.values()], 0)
    },
  }
}
