/** The sandbox's own routes: faults, faucet, balances and rounds. They are for programs that did not start the sandbox. */
import { isValidAddress } from '../adapters/algorand/address.js'
import { isRecord } from '../domain/x402.js'
import { readFault, STAGES } from './faults.js'
import type { Sandbox } from './sandbox-options.js'
import { BadRequest, get, json, jsonBody, type Reply, type Route, type SandboxRequest } from './serve-http.js'

const ADVANCE_MAX = 100_000

export type Controlled = Pick<
  Sandbox,
  'faults' | 'fund' | 'balance' | 'advanceRounds' | 'round' | 'feePayer'
> & { readonly network: string; readonly seller: string }

export function controlRoutes(sandbox: Controlled): Route[] {
  const { faults } = sandbox
  return [
    get(/^\/sandbox$/, () => overview(sandbox)),
    get(/^\/sandbox\/faults$/, () => json(200, { faults: faults.list() })),
    write('PUT', /^\/sandbox\/faults$/, request => setFault(sandbox, request)),
    write('DELETE', /^\/sandbox\/faults$/, request => clearFaults(sandbox, request)),
    write('POST', /^\/sandbox\/fund$/, request => fund(sandbox, request)),
    get(/^\/sandbox\/accounts\/([^/]+)$/, ({ parts }) => account(sandbox, addressIn(parts[0]))),
    write('POST', /^\/sandbox\/rounds$/, request => advance(sandbox, request)),
  ]
}

/** A route that changes something. Pages of other ports are refused: another port serves another program. */
function write(method: string, path: RegExp, handle: Route['handle']): Route {
  return { method, path, handle, sameOrigin: true }
}

function overview({ network, feePayer, round, seller }: Controlled): Reply {
  return json(200, { network, feePayer, round: round().toString(), seller })
}

function setFault({ faults }: Controlled, { body }: SandboxRequest): Reply {
  const given = objectIn(body)
  const { stage, behaviour, times, delayMs } = readFault({ ...given, times: given.times ?? undefined })
  faults.set(stage, behaviour, { times: times ?? undefined, delayMs })
  return json(200, { faults: faults.list() })
}

function clearFaults({ faults }: Controlled, { query }: SandboxRequest): Reply {
  const name = query.get('stage')
  const stage = STAGES.find(known => known === name)
  if (name !== null && !stage) throw new BadRequest('invalid_fault', `A stage is one of ${STAGES.join(', ')}`)
  faults.clear(stage)
  return json(200, { faults: faults.list() })
}

function fund(sandbox: Controlled, { body }: SandboxRequest): Reply {
  const { address, usdc, microAlgos, optIn } = objectIn(body)
  const funded = addressIn(address)
  if (optIn !== undefined && typeof optIn !== 'boolean')
    throw new BadRequest('invalid_fund', 'optIn is true or false')
  sandbox.fund(funded, {
    usdc: amountIn(usdc, 'usdc'),
    microAlgos: amountIn(microAlgos, 'microAlgos'),
    optIn,
  })
  return account(sandbox, funded)
}

function account(sandbox: Controlled, address: string): Reply {
  const { microAlgos, usdc } = sandbox.balance(address)
  return json(200, { address, microAlgos: microAlgos.toString(), usdc: usdc?.toString() ?? null })
}

function advance(sandbox: Controlled, { body }: SandboxRequest): Reply {
  const { advance: rounds } = objectIn(body)
  if (typeof rounds !== 'number' || !Number.isInteger(rounds) || rounds < 1 || rounds > ADVANCE_MAX)
    throw new BadRequest('invalid_rounds', `advance is a whole number from 1 to ${ADVANCE_MAX}`)
  sandbox.advanceRounds(rounds)
  return overview(sandbox)
}

function objectIn(body: Buffer): Record<string, unknown> {
  const value = jsonBody(body)
  if (isRecord(value)) return value
  throw new BadRequest('invalid_request', 'The body is a JSON object')
}

function addressIn(value: unknown): string {
  if (isValidAddress(value)) return value
  throw new BadRequest('invalid_address', 'The address is not an Algorand address')
}

function amountIn(value: unknown, key: string): bigint | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  if (typeof value === 'string' && /^\d{1,16}$/.test(value)) return BigInt(value)
  throw new BadRequest('invalid_fund', `${key} is a whole number of base units`)
}
