/** What the page says of its seller, beside the calls: the balances that are outstanding, and whether the wallet can be paid. */
import { algodClient } from '../../adapters/algorand/algod-and-indexer.js'
import type { Settings } from '../../app/server/options/server-settings.js'
import type { Clock } from '../../ports/clock.js'
import { type BalanceAccount, balanceAccounts, sumsOfBalances } from '../reconciliation/balance-accounts.js'
import type { Outstanding, Totals } from './page-events.js'

export type Standing = Pick<Totals, 'balances' | 'walletLacks'>

/** All balances are summed up, so this is not done for each call. */
const BALANCES_TICKS = 8
const WALLET_TICKS = 240
const LARGEST_MAX = 6

export function sellerStanding(walletLacks: () => Promise<string | undefined>, clock: Pick<Clock, 'now'>) {
  const accounts = balanceAccounts()
  let standing: Standing = {}
  let ticks = 0
  const learn = (learnt: Standing) => {
    const now = { ...standing, ...learnt }
    if (JSON.stringify(now) !== JSON.stringify(standing)) standing = now
  }
  return {
    add: accounts.add,
    /** The same value until it changes. */
    now: () => standing,
    /** Called at regular times while somebody watches; `afresh` when somebody begins to. */
    look(afresh = false): void {
      if (afresh) ticks = 0
      // A node that does not answer says nothing of the wallet.
      if (ticks % WALLET_TICKS === 0)
        void walletLacks().then(
          lacks => learn({ walletLacks: lacks }),
          () => {},
        )
      if (ticks % BALANCES_TICKS === 0) learn({ balances: outstandingOf(accounts.list(clock.now())) })
      ticks++
    },
  }
}

export async function whatWalletLacks(settings: Settings): Promise<string | undefined> {
  const { agent, network, algodUrl, algodToken } = settings
  const node = algodClient({ url: algodUrl, token: algodToken })
  const holding = await node.assetHolding(agent.payTo, network.usdc).finally(node.close)
  if (holding?.frozen) return 'The issuer of USDC has frozen it'
  return holding ? undefined : 'It is not opted in to USDC'
}

function outstandingOf(accounts: readonly BalanceAccount[]): Outstanding | undefined {
  if (accounts.length === 0) return undefined
  const largest = accounts
    .slice(0, LARGEST_MAX)
    .filter(({ unspentBaseUnits }) => unspentBaseUnits > 0n)
    .map(({ balance, unspentBaseUnits, endsMs }) => ({ balance, unspent: `${unspentBaseUnits}`, endsMs }))
  const sums = Object.entries(sumsOfBalances(accounts)).map(([what, sum]) => [what, `${sum}`])
  return { count: accounts.length, sums: Object.fromEntries(sums), largest }
}
