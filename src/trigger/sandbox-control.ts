/** A running sandbox, by its own routes. */
import { SvcError } from '../domain/errors.js'
import type { NetworkFacts } from '../domain/network.js'
import { isRecord, listIn } from '../domain/x402.js'
import type { FaultName, Stage } from '../sandbox/faults.js'

export type SandboxControl = Awaited<ReturnType<typeof sandboxControl>>

/** More than any case takes. A fault without an end does not say how often it was taken. */
const MANY = 1_000_000

/** @throws SvcError `sandbox_unavailable`, `network_mismatch`, `invalid_fault` where the sandbox has faults already */
export async function sandboxControl(url: string, network: NetworkFacts) {
  const ask = (path: string, method = 'GET', body?: object) => asked(url + path, method, body)
  const overview = await ask('/sandbox')
  if (overview.network !== network.caip2)
    throw new SvcError(`The sandbox at ${url} is not on ${network.name}: set SVC_NETWORK`, 'network_mismatch')
  const faults = async () => {
    const { faults: set } = await ask('/sandbox/faults')
    return listIn(set).filter(isRecord)
  }
  const [first] = await faults()
  if (first)
    throw new SvcError(
      `The sandbox has a fault already, ${first.stage}=${first.behaviour}: start it without, or curl -X DELETE ${url}/sandbox/faults`,
      'invalid_fault',
    )
  let expected = 0
  return {
    url,
    feePayer: async () => overview.feePayer,
    async fund(address: string, { usdc, microAlgos }: Record<'usdc' | 'microAlgos', bigint>) {
      const credit = { address, usdc: String(usdc), microAlgos: String(microAlgos), optIn: true }
      await ask('/sandbox/fund', 'POST', credit)
    },
    async usdcOf(address: string) {
      const { usdc } = await ask(`/sandbox/accounts/${address}`)
      return BigInt(String(usdc ?? 0))
    },
    async advance(rounds: number) {
      await ask('/sandbox/rounds', 'POST', { advance: rounds })
    },
    /** Sets the only fault. */
    async fault(stage: Stage, behaviour: FaultName, times = MANY, delayMs?: number) {
      expected = times
      await ask('/sandbox/faults', 'PUT', { stage, behaviour, times, delayMs })
    },
    async takenFaults() {
      const [left] = await faults()
      return expected - Number(left?.times ?? 0)
    },
    async mend() {
      await ask('/sandbox/faults', 'DELETE')
    },
  }
}

async function asked(
  url: string,
  method: string,
  body: object | undefined,
): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) }).catch(() => {
    throw new SvcError(
      `No sandbox answers at ${new URL(url).origin}: start one with svc sandbox, or the agent with svc dev --sandbox`,
      'sandbox_unavailable',
    )
  })
  const value: unknown = await response.json().catch(() => undefined)
  if (response.ok && isRecord(value)) return value
  throw new SvcError(`${url} answered ${response.status}: this is no sandbox`, 'sandbox_unavailable')
}
