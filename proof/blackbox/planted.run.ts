/** `npm run blackbox:planted`: each planted fault is found, or the command fails. Minutes, so it is no part of `npm test`. */
import { expect, it } from 'vitest'
import { blackbox } from './blackbox.js'
import { FAULTS, plant } from './planted.js'

const seconds = Number(process.env.BLACKBOX_SECONDS ?? 60)
const seed = Number(process.env.BLACKBOX_SEED ?? 1)

it.each(Object.entries(FAULTS))(
  '%s',
  async (name, fault) => {
    const { folder, close } = await plant(fault)
    try {
      const { findings, deeds } = await blackbox({
        seed,
        durationMs: seconds * 1_000,
        build: folder,
        mendedWithinMs: 20_000,
      })
      const names = findings.map(({ anomaly }) => anomaly)
      console.log({ name, deeds, found: [...new Set(names)] })
      expect(names.some(anomaly => fault.found.includes(anomaly))).toBe(true)
    } finally {
      await close()
    }
  },
  seconds * 1_000 + 300_000,
)
