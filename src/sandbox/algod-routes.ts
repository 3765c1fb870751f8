/** The part of a node's REST interface that wallets, facilitators and our client use, with a node's own words. */
import {
  decodeMsgpack,
  type Encodable,
  encodeJSON,
  encodeMsgpack,
  modelsv2,
  type SignedTransaction,
  stringifyJSON,
} from 'algosdk'
import { encodeAddress } from '../adapters/algorand/address.js'
import { isCanonical } from '../adapters/algorand/facilitating/canonical-and-signed.js'
import { endOfValue, splitValues } from '../adapters/algorand/msgpack.js'
import { isValidAddress } from '../adapters/algorand/signing-keys.js'
import { decodeMember, GROUP_SIZE_MAX, txIdOf } from '../adapters/algorand/transaction-bytes.js'
import { USDC_DECIMALS } from '../domain/network.js'
import { minBalanceMicroAlgos } from './account-balances.js'
import { type Ledger, MIN_FEE_MICRO_ALGOS } from './ledger.js'
import { BadRequest, json, type Reply, type Route, type SandboxRequest } from './web-server.js'

const WAIT_FOR_BLOCK_MS_MAX = 60_000
const CONSENSUS = 'https://github.com/algorandfoundation/specs/tree/sandbox'
const NOT_IN_POOL =
  'could not find the transaction in the transaction pool or in the last 1000 confirmed rounds'

const NOBODY = encodeAddress(new Uint8Array(32))

export function algodRoutes(ledger: Ledger): Route[] {
  const get = (path: RegExp, handle: Route['handle']): Route => ({ method: 'GET', path, handle })
  const post = (path: RegExp, handle: Route['handle']): Route => ({ method: 'POST', path, handle })
  return [
    get(/^\/v2\/transactions\/params$/, () => params(ledger)),
    post(/^\/v2\/transactions\/simulate$/, request => simulate(ledger, request)),
    post(/^\/v2\/transactions$/, ({ body }) => submit(ledger, body)),
    get(/^\/v2\/transactions\/pending\/([^/]+)$/, request => pending(ledger, request)),
    get(/^\/v2\/status$/, () => status(ledger)),
    get(/^\/v2\/status\/wait-for-block-after\/(\d{1,19})$/, async ({ parts }) => {
      await ledger.rounds.past(BigInt(parts[0]!), WAIT_FOR_BLOCK_MS_MAX)
      return status(ledger)
    }),
    get(/^\/v2\/blocks\/(\d{1,19})\/txids$/, ({ parts }) => block(ledger, BigInt(parts[0]!))),
    get(/^\/v2\/accounts\/([^/]+)$/, ({ parts }) => account(ledger, parts[0]!)),
    get(/^\/v2\/accounts\/([^/]+)\/assets\/(\d{1,19})$/, ({ parts }) =>
      holding(ledger, parts[0]!, BigInt(parts[1]!)),
    ),
    get(/^\/v2\/assets\/(\d{1,19})$/, ({ parts }) => asset(ledger, BigInt(parts[0]!))),
    get(/^\/health$/, () => json(200, null)),
    get(/^\/versions$/, () => versions(ledger)),
  ]
}

function params({ network, rounds }: Ledger): Reply {
  return json(200, {
    'consensus-version': CONSENSUS,
    fee: 0,
    'genesis-hash': network.genesisHash,
    'genesis-id': network.genesisId,
    'last-round': Number(rounds.current()),
    'min-fee': Number(MIN_FEE_MICRO_ALGOS),
  })
}

function simulate(ledger: Ledger, { body, query }: SandboxRequest): Reply {
  const groups = simulatedGroups(body)
  if (groups.length !== 1) throw invalid(`expected 1 transaction group, got ${groups.length}`)
  const group = groups[0]!
  const refusal = ledger.simulate(group)
  if (refusal?.stage === 'request') throw invalid(refusal.message)
  const txnResults = group.map(
    txn =>
      new modelsv2.SimulateTransactionResult({
        txnResult: new modelsv2.PendingTransactionResponse({ poolError: '', txn }),
      }),
  )
  const response = new modelsv2.SimulateResponse({
    lastRound: ledger.rounds.current(),
    version: 2,
    txnGroups: [
      new modelsv2.SimulateTransactionGroupResult({
        txnResults,
        failureMessage: refusal?.message,
        failedAt: refusal?.at === undefined ? undefined : [refusal.at],
      }),
    ],
  })
  return formatted(query, response)
}

function simulatedGroups(body: Buffer): readonly (readonly SignedTransaction[])[] {
  try {
    if (endOfValue(body, 0) !== body.length) throw new RangeError('trailing bytes')
    return decodeMsgpack(body, modelsv2.SimulateRequest).txnGroups.map(({ txns }) => txns)
  } catch (error) {
    throw invalid(`msgpack decode error: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function submit(ledger: Ledger, body: Buffer): Reply {
  const group = submittedGroup(body)
  const refusal = ledger.submit(group)
  if (!refusal) return json(200, { txId: txIdOf(group[0]!.txn) })
  const pool = refusal.stage === 'ledger' ? 'TransactionPool.Remember: ' : ''
  throw invalid(pool + refusal.message)
}

function submittedGroup(body: Buffer): SignedTransaction[] {
  let parts: Uint8Array[]
  try {
    parts = splitValues(body, GROUP_SIZE_MAX + 1)
  } catch {
    throw invalid('msgpack decode error: the body is not a run of signed transactions')
  }
  if (parts.length === 0) throw invalid('empty txgroup')
  if (parts.length > GROUP_SIZE_MAX) throw invalid(`max group size is ${GROUP_SIZE_MAX}`)
  return parts.map(bytes => {
    const signed = decodeMember(bytes)?.signed
    if (!signed) throw invalid('msgpack decode error: not a signed transaction')
    // A node refuses unknown fields. Here an unknown field is one that our encoding leaves out.
    if (!isCanonical(signed, bytes)) throw invalid('msgpack decode error: not the canonical encoding')
    return signed
  })
}

function pending(ledger: Ledger, { parts, query }: SandboxRequest): Reply {
  const landed = ledger.landed(parts[0]!)
  if (!landed) throw invalid(NOT_IN_POOL, 404)
  const response = new modelsv2.PendingTransactionResponse({
    poolError: '',
    txn: landed.signed,
    confirmedRound: landed.round,
  })
  return formatted(query, response)
}

function status({ rounds }: Ledger): Reply {
  return json(200, {
    'catchup-time': 0,
    'last-round': Number(rounds.current()),
    'last-version': CONSENSUS,
    'next-version': CONSENSUS,
    'next-version-round': Number(rounds.current()) + 1,
    'next-version-supported': true,
    'stopped-at-unsupported-round': false,
    'time-since-last-round': 0,
  })
}

function block(ledger: Ledger, round: bigint): Reply {
  const ids = ledger.block(round)
  if (!ids) throw invalid('failed to retrieve information from the ledger', 404)
  return json(200, { blockTxids: ids })
}

function account(ledger: Ledger, address: string): Reply {
  checkAddress(address)
  const { microAlgos, holdings } = ledger.account(address)
  const assets = [...holdings].map(([assetId, { amount, frozen }]) => ({
    'asset-id': assetId,
    amount,
    'is-frozen': frozen,
  }))
  return bigJson({
    address,
    amount: microAlgos,
    'amount-without-pending-rewards': microAlgos,
    assets,
    'min-balance': minBalanceMicroAlgos(holdings.size),
    'pending-rewards': 0,
    rewards: 0,
    round: ledger.rounds.current(),
    status: 'Offline',
    'total-apps-opted-in': 0,
    'total-assets-opted-in': holdings.size,
    'total-created-apps': 0,
    'total-created-assets': 0,
  })
}

function holding(ledger: Ledger, address: string, assetId: bigint): Reply {
  checkAddress(address)
  const held = ledger.account(address).holdings.get(assetId)
  if (!held) throw invalid('account asset info not found', 404)
  return bigJson({
    'asset-holding': { amount: held.amount, 'asset-id': assetId, 'is-frozen': held.frozen },
    round: ledger.rounds.current(),
  })
}

/** The one asset there is. It comes from nowhere, so nobody has made it. */
function asset({ assetId }: Ledger, asked: bigint): Reply {
  if (asked !== assetId) throw invalid('asset does not exist', 404)
  const names = { name: 'USDC', 'unit-name': 'USDC', decimals: USDC_DECIMALS }
  return bigJson({
    index: assetId,
    params: { creator: NOBODY, 'default-frozen': false, total: 2n ** 64n - 1n, ...names },
  })
}

function versions({ network }: Ledger): Reply {
  const build = {
    major: 5,
    minor: 0,
    build_number: 0,
    commit_hash: 'sandbox',
    branch: '',
    channel: 'sandbox',
  }
  return json(200, {
    versions: ['v2'],
    genesis_id: network.genesisId,
    genesis_hash_b64: network.genesisHash,
    build,
  })
}

function checkAddress(address: string): void {
  if (!isValidAddress(address)) throw invalid('failed to parse the address')
}

/** Amounts go up to 2^64, and a node writes them as plain digits in JSON. */
function bigJson(value: unknown): Reply {
  return { status: 200, type: 'application/json', body: stringifyJSON(value) }
}

/** A node does not read `Accept`. Python's algosdk names no format and reads JSON. */
function formatted(query: URLSearchParams, value: Encodable): Reply {
  const format = query.get('format') ?? 'json'
  if (format === 'json') return { status: 200, type: 'application/json', body: encodeJSON(value) }
  if (format !== 'msgpack' && format !== 'msgp') throw invalid('failed to parse the format option')
  return { status: 200, type: 'application/msgpack', body: encodeMsgpack(value) }
}

function invalid(message: string, status = 400): BadRequest {
  return new BadRequest('algod', message, status)
}
