/** Plays one case, and holds what happened against its rule. */

import { SvcError } from '../../src/domain/errors.js'
import { formatUsd } from '../../src/domain/money.js'
import type { NetworkFacts } from '../../src/domain/network.js'
import { firstCallOf, manifestAt } from '../dev/first-call.js'
import { CASES, type Case, type CaseName } from './cases.js'
import type { SandboxControl } from './sandbox-control.js'
import { type Answer, openStage, type Target } from './stage.js'

export interface Played {
  readonly name: CaseName
  readonly target: Target
  readonly answers: readonly Answer[]
  /** Base units that left the payer. */
  readonly paid: bigint
  readonly price: bigint
  /** What was not as the rule says; empty where all was. */
  readonly broken: readonly string[]
  readonly advice?: string
}

/** @throws SvcError `network_error`, `not_found`, `invalid_request` */
export async function targetAt(
  agentUrl: string,
  network: NetworkFacts,
  { endpoint, body }: { readonly endpoint?: string; readonly body?: string },
): Promise<Target> {
  const url = agentUrl.replace(/\/+$/, '')
  const manifest = await manifestAt(url)
  if (!manifest)
    throw new SvcError(
      `No agent answers at ${url}: start it with svc dev --sandbox, or name its URL`,
      'network_error',
    )
  const named = manifest.endpoints.find(({ name }) => endpoint === undefined || name === endpoint)
  if (!named) throw new SvcError(`The agent at ${url} sells no ${endpoint}`, 'not_found')
  if (body !== undefined && named.method !== 'GET') return { url: named.url, body }
  const call = await firstCallOf(manifest, url, { network: network.given, only: endpoint })
  if (call) return { url: call.url, body: call.body }
  throw new SvcError(
    `No endpoint at ${url} quotes a price for an example of its input: give --endpoint and --body`,
    'invalid_request',
  )
}

export async function play(
  name: CaseName,
  target: Target,
  context: { network: NetworkFacts; sandbox: SandboxControl; signal: AbortSignal },
): Promise<Played> {
  const { sandbox } = context
  const played: Case = CASES[name]
  const stage = await openStage(target, context)
  try {
    if (played.fault) await sandbox.fault(...played.fault)
    const answers = await played.play(stage)
    const paid = await stage.paid()
    const price = BigInt(stage.requirements.amount)
    const broken = brokenIn(played, answers, paid, price)
    const advice = adviceOn(name, answers, stage.keepsKeys)
    return { name, target, answers, paid, price, broken, ...(advice !== undefined && { advice }) }
  } finally {
    if (played.fault) await sandbox.mend()
  }
}

export function brokenIn(
  { ends, charges }: Pick<Case, 'ends' | 'charges'>,
  answers: readonly Answer[],
  paid: bigint,
  price: bigint,
): string[] {
  const wrong = answers.flatMap(({ status, end }, at) => {
    const allowed = ends[at] ?? []
    if (allowed.includes(end) || allowed.includes(String(status))) return []
    return [`answer ${at + 1} was ${status || 'none'} ${end}; expected: ${allowed.join(' or ')}`]
  })
  const allowed = charges.map(times => BigInt(times) * price)
  const isPaidRight = allowed.includes(paid)
  const last = answers.at(-1)
  const isAnswered = answers.some(({ end }) => end === 'answered' || end === 'replayed')
  return [
    ...wrong,
    ...(isPaidRight
      ? []
      : [`${formatUsd(paid)} was charged instead of ${allowed.map(formatUsd).join(' or ')}`]),
    ...(isPaidRight && paid === 0n && isAnswered ? ['it was answered, and not charged'] : []),
    ...(isPaidRight && paid > 0n && last?.status === 402
      ? ['the last answer asks to pay again, and it was charged']
      : []),
  ]
}

/** What the rules allow, and a seller may want otherwise. */
function adviceOn(name: CaseName, answers: readonly Answer[], keepsKeys: boolean): string | undefined {
  const isLost = (name === 'hang-up' || name === 'retry') && answers.at(-1)?.end !== 'replayed'
  if (!isLost) return undefined
  return keepsKeys
    ? 'The answer is lost to its caller: with idempotency: { onLostResponse: "replay" } it is kept for them.'
    : 'The answer is lost to its caller: with idempotency, a call that is sent again gets it.'
}
