/** Clients that want one answer each, under one key each, and ask with it until they have it. */
import { createHash, randomUUID } from 'node:crypto'
import { mnemonicOf, signingKeyFromSeed } from '../../src/adapters/algorand/signing-keys.js'
import { SvcClient, SvcError } from '../../src/client.js'

/** A payer of one purchase: what left its account is what this key was charged. */
export interface Purchase {
  readonly address: string
  readonly key: string
  /** Every answer that was had, oldest first. */
  readonly answers: Answer[]
  readonly failures: Map<string, number>
  /** Asks once; whether there was an answer. */
  ask(): Promise<boolean>
}

export interface Answer {
  readonly run: string
  readonly replayed: boolean
}

export interface Market {
  readonly sandboxUrl: string
  readonly endpoint: string
}

export const FUNDS = 10_000_000n

export async function newPurchase({ sandboxUrl, endpoint }: Market): Promise<Purchase> {
  const key = randomUUID()
  const secret = createHash('sha256').update(key).digest()
  const { address } = signingKeyFromSeed(secret)
  const funds = { address, usdc: String(FUNDS), microAlgos: 1_000_000 }
  await fetch(`${sandboxUrl}/sandbox/fund`, { method: 'POST', body: JSON.stringify(funds) })
  const client = new SvcClient({
    mnemonic: mnemonicOf(secret),
    network: 'testnet',
    algodUrl: sandboxUrl,
    maxPrice: '$1',
    maxPerDay: '$10',
    timeoutMs: 5_000,
    retry: { attempts: 3, baseMs: 50, maxMs: 500 },
  })
  const answers: Answer[] = []
  const failures = new Map<string, number>()
  return {
    address,
    key,
    answers,
    failures,
    async ask() {
      try {
        const { data, replayed } = await client.call(endpoint, { question: key }, { idempotencyKey: key })
        const { question, run } = data as { question: string; run: string }
        if (question !== key) throw new Error(`asked ${key}, answered ${question}`)
        answers.push({ run, replayed: replayed === true })
        return true
      } catch (error) {
        if (!(error instanceof SvcError)) throw error
        failures.set(error.code, (failures.get(error.code) ?? 0) + 1)
        return false
      }
    },
  }
}
