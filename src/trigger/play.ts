/** Plays one case, and holds what happened against its rule. */
import { formatUsd } from '../domain/money.js'
import { type Answer, callerAt, type Target } from './caller.js'
import { CASES, type Case, type CaseName } from './cases.js'

export { sandboxControl } from './sandbox-control.js'

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

const LOST = 'The answer is lost to its caller: keepAnswers is off, or it was too large to keep.'

export async function play(
  name: CaseName,
  target: Target,
  context: Parameters<typeof callerAt>[1],
): Promise<Played> {
  const { sandbox } = context
  const played: Case = CASES[name]
  const caller = await callerAt(target, context)
  try {
    if (played.fault) await sandbox.fault(...played.fault)
    const answers = await played.play(caller)
    const paid = await caller.paid()
    const price = BigInt(caller.requirements.amount)
    const broken = brokenIn(played, answers, paid, price)
    const isLost = (name === 'hang-up' || name === 'retry') && answers.at(-1)?.end !== 'replayed'
    return { name, target, answers, paid, price, broken, ...(isLost && { advice: LOST }) }
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
