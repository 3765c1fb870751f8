/** The parts that the scripts are made of, by the names that survivors are told by. */
import { GIVE_BACK, TAKE } from '../../src/adapters/redis/counters.js'
import { DROP, SELL, UNITS } from '../../src/adapters/redis/lua/balance-units.js'
import { CLOSE, OPEN, RECORD, RENEW, RESOLVE } from '../../src/adapters/redis/lua/charge-moves.js'
import { PRELUDE } from '../../src/adapters/redis/lua/prelude.js'
import {
  ATTACH,
  BALANCES,
  DUE,
  LEDGER,
  POSTPONE,
  RELEASE,
  RESERVE,
  SETTLE,
} from '../../src/adapters/redis/spend-ledger.js'
import * as windows from '../../src/adapters/redis/subscriptions.js'
import * as tasks from '../../src/adapters/redis/task-store.js'
import { TIME_READ } from '../../test/support/redis-virtual.js'

/**
 * Lines that are not edited: virtual time replaces the reading of the clock, and the drawings are held row for row by
 * `test/contracts/redis-model.test.ts`.
 */
export const KEPT: readonly string[] = [
  ...TIME_READ.split('\n'),
  ...`${PRELUDE}${UNITS}`.split('\n').filter(line => /^local (CLAIM|PAYMENT|UNITS) = /.test(line)),
]

export const PARTS: Readonly<Record<string, string>> = {
  prelude: PRELUDE,
  ...without(PRELUDE, { record: RECORD, resolve: RESOLVE }),
  units: UNITS,
  ...without(`${PRELUDE}${UNITS}`, {
    open: OPEN,
    renew: RENEW,
    close: CLOSE,
    sell: SELL,
    drop: DROP,
  }),
  take: TAKE,
  giveBack: GIVE_BACK,
  ledger: LEDGER,
  ...without(LEDGER, {
    reserve: RESERVE,
    attach: ATTACH,
    release: RELEASE,
    due: DUE,
    postpone: POSTPONE,
    settle: SETTLE,
  }),
  balances: BALANCES,
  windows: windows.FIND,
  sellWindow: windows.SELL,
  ...without(windows.FIND, {
    lookAtWindow: windows.LOOK,
    takeOfWindow: windows.TAKE,
    useOfWindow: windows.USE,
    giveBackToWindow: windows.GIVE_BACK,
  }),
  tasks: tasks.FIND,
  ...without(tasks.FIND, { putTask: tasks.PUT, takeTask: tasks.TAKE, endTask: tasks.END }),
}

function without(prefix: string, scripts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(scripts).map(([name, lua]) => [name, lua.slice(prefix.length)]))
}
