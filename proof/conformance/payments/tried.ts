/** Runs one case, and holds the balances on the chain against what it may charge. */
import type { Case } from './cases.js'
import { PRICE, type Stage } from './stage.js'

export interface Row {
  readonly name: string
  readonly told: string
  readonly moved: string
  readonly ms: number
  readonly isRight: boolean
}

export async function tried(stage: Stage, { name, charges, run }: Case): Promise<Row> {
  const before = await stage.balances()
  const begun = performance.now()
  const { told, isRight } = await run(stage).catch(error => ({ told: String(error), isRight: false }))
  const ms = Math.round(performance.now() - begun)
  const after = await stage.balances()
  await stage.closeCase()
  const paid = before.buyer - after.buyer
  const earned = after.seller - before.seller
  const isHeld = paid === earned && earned === PRICE * BigInt(charges)
  const sponsored = before.sponsor - after.sponsor
  const moved = `${before.buyer} → ${after.buyer}, ${before.seller} → ${after.seller}, ${sponsored}`
  return { name, told, moved, ms, isRight: isRight && isHeld }
}

export function tableOf(rows: readonly Row[]): string {
  return [
    '| case | answer | USDC of the buyer, USDC of the seller, fees of the sponsor | ms | |',
    '|---|---|---|--:|---|',
    ...rows.map(
      ({ name, told, moved, ms, isRight }) =>
        `| ${name} | ${told.replaceAll('|', '\\|')} | ${moved} | ${ms} | ${isRight ? 'right' : '**wrong**'} |`,
    ),
  ].join('\n')
}
