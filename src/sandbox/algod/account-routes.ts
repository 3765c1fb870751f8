import { decodeAddress } from '../../adapters/algorand/address.js'
import { BASE_UNITS_MAX } from '../../domain/money.js'
import { USDC_DECIMALS } from '../../domain/network.js'
import { type Holding, minBalanceMicroAlgos } from '../draft-accounts.js'
import type { Ledger } from '../ledger.js'
import type { Reply, SandboxRequest } from '../serve-http.js'
import { addressIn, digits, excludesIn, formatIn, formatted, refused, uintIn } from './replies.js'

const NAME = 'USDC'

export function account(ledger: Ledger, { parts, query }: SandboxRequest): Reply {
  const address = addressIn(parts[0]!)
  const isShort = excludesIn(query)
  const { microAlgos, holdings, authAddr } = ledger.account(address)
  const created = address === ledger.issuer ? [shownAsset(ledger)] : []
  if (formatIn(query) === 'msgpack')
    return formatted(query, () => ({
      algo: microAlgos || undefined,
      asset:
        holdings.size > 0
          ? new Map([...holdings].map(([id, held]) => [id, encodedHolding(held)]))
          : undefined,
      spend: authAddr && decodeAddress(authAddr),
    }))
  return digits({
    address,
    amount: microAlgos,
    'amount-without-pending-rewards': microAlgos,
    'apps-total-schema': { 'num-byte-slice': 0, 'num-uint': 0 },
    'auth-addr': authAddr,
    ...(!isShort && {
      'apps-local-state': [],
      assets: [...holdings].map(([assetId, held]) => shownHolding(assetId, held)),
      'created-apps': [],
      'created-assets': created,
    }),
    'min-balance': minBalanceMicroAlgos(holdings.size),
    'pending-rewards': 0,
    'reward-base': 0,
    rewards: 0,
    round: ledger.rounds.current(),
    status: 'Offline',
    'total-apps-opted-in': 0,
    'total-assets-opted-in': holdings.size,
    'total-created-apps': 0,
    'total-created-assets': created.length,
  })
}

export function holding(ledger: Ledger, { parts, query }: SandboxRequest): Reply {
  const address = addressIn(parts[0]!)
  const assetId = uintIn('asset-id', parts[1]!)
  const format = formatIn(query)
  const held = ledger.account(address).holdings.get(assetId)
  if (!held) throw refused('account asset info not found', 404)
  if (format === 'msgpack') return formatted(query, () => ({ 'asset-holding': encodedHolding(held) }))
  return digits({ 'asset-holding': shownHolding(assetId, held), round: ledger.rounds.current() })
}

export function application({ parts }: SandboxRequest): Reply {
  addressIn(parts[0]!)
  uintIn('application-id', parts[1]!)
  throw refused('account application info not found', 404)
}

export function noApplication({ parts }: SandboxRequest): Reply {
  uintIn('application-id', parts[0]!)
  throw refused('application does not exist', 404)
}

export function asset(ledger: Ledger, { parts }: SandboxRequest): Reply {
  if (uintIn('asset-id', parts[0]!) !== ledger.assetId) throw refused('asset does not exist', 404)
  return digits(shownAsset(ledger))
}

function shownAsset({ assetId, issuer }: Ledger): object {
  const base64 = Buffer.from(NAME).toString('base64')
  return {
    index: assetId,
    params: {
      ...{ creator: issuer, manager: issuer, reserve: issuer, freeze: issuer },
      ...{ decimals: USDC_DECIMALS, 'default-frozen': false, total: BASE_UNITS_MAX },
      ...{ name: NAME, 'name-b64': base64, 'unit-name': NAME, 'unit-name-b64': base64 },
    },
  }
}

function shownHolding(assetId: bigint, { amount, frozen }: Holding): object {
  return { amount, 'asset-id': assetId, 'is-frozen': frozen }
}

/** The encoding of a node's database, which leaves zero values out. */
function encodedHolding({ amount, frozen }: Holding): object {
  return { a: amount || undefined, f: frozen || undefined }
}
