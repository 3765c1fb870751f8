/**
 * The product from outside, for some seconds; `npm run blackbox` for half an hour. `BLACKBOX_SEED` repeats a schedule,
 * `BLACKBOX_SECONDS` sets its length.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { blackbox } from '../../proof/blackbox/blackbox.js'
import { operations } from '../../proof/blackbox/operations.js'

const seconds = Number(process.env.BLACKBOX_SECONDS ?? 20)
const seed = Number(process.env.BLACKBOX_SEED ?? Math.floor(Math.random() * 2 ** 31))
const waitReplicas = Number(process.env.BLACKBOX_WAIT_REPLICAS ?? 1)
const { BLACKBOX_ALGOD: algodUrl, BLACKBOX_ALGOD_TOKEN: algodToken = '' } = process.env
/** Many times what mending takes: only a call that never ends reaches it. */
const SLACK_MS = 900_000

it(
  `black box: what buyers were told agrees with the chain (BLACKBOX_SEED=${seed})`,
  async () => {
    const options = {
      seed,
      durationMs: seconds * 1_000,
      waitReplicas,
      isCalm: process.env.BLACKBOX_CALM === '1',
      ...(algodUrl && { realNode: { algodUrl, algodToken } }),
    }
    const { findings, givenAway, brokenStreams, counts, deeds, lines, transfers } = await blackbox(options)
    console.log({ seed, deeds, counts, givenAway, brokenStreams })
    if (process.env.BLACKBOX_HISTORY) {
      mkdirSync(process.env.BLACKBOX_HISTORY, { recursive: true })
      writeFileSync(
        `${process.env.BLACKBOX_HISTORY}/${seed}.jsonl`,
        [...operations(lines, transfers)].map(one => `${JSON.stringify(one)}\n`).join(''),
      )
    }
    expect(findings, `BLACKBOX_SEED=${seed} npm run blackbox`).toEqual([])
    expect(counts.answers).toBeGreaterThan(0)
    if (options.isCalm) expect({ givenAway, brokenStreams }).toEqual({ givenAway: 0, brokenStreams: 0 })
  },
  seconds * 1_000 + SLACK_MS,
)
