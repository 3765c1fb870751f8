/**
 * Builds with a fault in them, which the black box must find: copies of the compiled product with one edit each. An edit whose text is
 * gone is an error: the product has changed, and the fault has to be planted anew.
 */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Anomaly } from './checker.js'

export interface Fault {
  readonly file: string
  readonly from: string | RegExp
  readonly to: string
  /** What a checker may call it. */
  readonly found: readonly Anomaly[]
}

export const FAULTS: Readonly<Record<string, Fault>> = {
  'a settlement that nobody knows of counts as none': {
    file: 'src/domain/machines/charge.machine.js',
    from: /(settling: \{[\s\S]*?)unknown: 'reconciling'/,
    to: "$1unknown: 'releasing'",
    found: ['false-no', 'double-charge', 'lost-answer'],
  },
  'an answer leaves before its payment is settled': {
    file: 'src/domain/machines/charge.machine.js',
    from: /(recording: \{[\s\S]*?)recorded: 'settling'/,
    to: "$1recorded: 'settled'",
    found: ['unpaid-delivery', 'false-receipt'],
  },
  'a handler that failed is charged': {
    file: 'src/app/charge/effects/deliver.js',
    from: 'rendered.status < 400',
    to: 'rendered.status < 600',
    found: ['failure-charged'],
  },
  'a lease ends what is settling': {
    file: 'src/adapters/redis/lua/prelude.js',
    from: "if nowMs >= record.leaseEndsMs and lists(record, 'lapsed') then move(record, 'lapsed') end",
    to: "if nowMs >= record.leaseEndsMs and record.state == 'settling' then return nil end\n  if nowMs >= record.leaseEndsMs and lists(record, 'lapsed') then move(record, 'lapsed') end",
    found: ['double-charge', 'double-delivery', 'lost-answer', 'unequal-replay'],
  },
  'a call that fails on a balance takes what was reserved for it': {
    file: 'src/adapters/redis/lua/charge-moves.js',
    from: 'local given = claimOurs and giveBack(units, claim)\n',
    to: "local given = claimOurs and giveBack(units, claim)\nif given and units and not charge then units.unused = math.max(0, units.unused - tonumber(given:match('^%d+'))) end\n",
    found: ['lost-units'],
  },
  'two calls at once may reserve the same units': {
    file: 'src/adapters/redis/lua/balance-units.js',
    from: 'math.max(0, units.unused - units.reserved)',
    to: 'math.max(0, units.unused)',
    found: ['free-units'],
  },
  'whoever brings a payment that landed is answered': {
    file: 'src/app/charge/names-in-stores.js',
    from: /isBearer: !\([^)]*\)/,
    to: 'isBearer: false',
    found: ['stolen-answer'],
  },
}

/** A copy of the build with the fault. @throws Error where the text that it replaces is not there once */
export async function plant({ file, from, to }: Fault): Promise<{ folder: string; close(): Promise<void> }> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const copy = await mkdtemp(join(tmpdir(), 'svc-planted-'))
  await cp(join(root, 'dist'), join(copy, 'dist'), { recursive: true })
  await cp(join(root, 'package.json'), join(copy, 'package.json'))
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  const path = join(copy, 'dist', file)
  const text = await readFile(path, 'utf8')
  const planted = text.replace(from, to)
  if (planted === text) throw new Error(`${file} has nothing to plant this fault in: ${String(from)}`)
  await writeFile(path, planted)
  return { folder: join(copy, 'dist'), close: () => rm(copy, { recursive: true, force: true }) }
}
