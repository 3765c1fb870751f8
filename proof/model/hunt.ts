/** Looks in one case for the shortest trace to a broken rule. With a fault in the decision there is one. */
import { exploreBalance } from './balance.js'
import { BALANCE_CASES } from './balance-world.js'
import { CASES_OF_THREE, CASES_OF_TWO } from './cases.js'
import { explore } from './explore.js'

export interface Found {
  readonly rule: string
  readonly trace: readonly string[]
}

export function hunt(name: string): Found | undefined {
  const balance = BALANCE_CASES.find(plan => plan.name === name)
  if (balance !== undefined) {
    for (const [rule, trace] of exploreBalance(balance, true).violations) return { rule, trace }
    return undefined
  }
  const plan = [...CASES_OF_TWO, ...CASES_OF_THREE].find(plan => plan.name === name)
  if (plan === undefined) throw new Error(`there is no case ${name}`)
  const { violations } = explore(plan, { isFirstEnough: true })
  for (const [rule, trace] of violations) return { rule, trace: trace.map(({ label }) => label) }
  return undefined
}
