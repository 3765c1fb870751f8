/** A real node as a peer. A funder with ALGO pays for the cast, and creates an asset of its own for this run. */
import {
  encodeMsgpack,
  makeAssetCreateTxnWithSuggestedParamsFromObject,
  makeAssetFreezeTxnWithSuggestedParamsFromObject,
  makeAssetTransferTxnWithSuggestedParamsFromObject,
  makePaymentTxnWithSuggestedParamsFromObject,
  SignedTransaction,
  type SuggestedParams,
  type Transaction,
} from 'algosdk'
import type { SigningKey } from '../../src/adapters/algorand/signing-keys.js'
import { GROUP_SIZE_MAX, textToSign, txIdOf } from '../../src/adapters/algorand/transaction-hashes.js'
import type { Asked, Member, Peer } from './peer.js'
import { askAt } from './sandbox-peer.js'
import { bind } from './stage.js'

const FEE = 1_000n
const ROUNDS_AHEAD = 200n

export interface NodeOptions {
  readonly url: string
  readonly token: string
  readonly funder: SigningKey
}

interface Step {
  readonly txn: Transaction
  readonly sign: Member['sign']
}

export async function nodePeer({ url, token, funder }: NodeOptions): Promise<Peer> {
  const ask = ({ withoutToken, headers, ...asked }: Asked) =>
    askAt(url, { ...asked, headers: { ...(!withoutToken && { 'x-algo-api-token': token }), ...headers } })
  const json = async (path: string) => {
    const { status, body } = await ask({ method: 'GET', path })
    const text = Buffer.from(body).toString()
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
    return JSON.parse(text)
  }
  const suggested = async (): Promise<SuggestedParams> => {
    const params = await json('/v2/transactions/params')
    const last = BigInt(params['last-round'])
    return {
      ...{ flatFee: true, fee: FEE, minFee: FEE, genesisID: params['genesis-id'] },
      ...{ genesisHash: Buffer.from(params['genesis-hash'], 'base64') },
      ...{ firstValid: last === 0n ? 1n : last, lastValid: last + ROUNDS_AHEAD },
    }
  }
  const sender = funder.address
  const sign: Member['sign'] = txn =>
    new SignedTransaction({ txn, sig: funder.sign(textToSign(txn.toByte())) })
  let last: string | undefined

  /** Whether it landed at once, as in development mode. */
  async function send(steps: readonly Step[]): Promise<boolean> {
    let isAtOnce = true
    for (let at = 0; at < steps.length; at += GROUP_SIZE_MAX) {
      const some = steps.slice(at, at + GROUP_SIZE_MAX)
      if (some.length > 1) bind(some.map(({ txn }) => txn))
      const body = Buffer.concat(some.map(({ txn, sign }) => encodeMsgpack(sign(txn))))
      const { status, body: said } = await ask({ method: 'POST', path: '/v2/transactions', body })
      if (status !== 200) throw new Error(`funding: ${Buffer.from(said)}`)
      last = txIdOf(some[0]!.txn)
      isAtOnce &&= Boolean((await json(`/v2/transactions/pending/${last}`))['confirmed-round'])
    }
    await landed()
    return isAtOnce
  }

  async function landed(): Promise<Record<string, unknown>> {
    for (;;) {
      const found = await json(`/v2/transactions/pending/${last}`)
      if (found['confirmed-round'] || found['pool-error']) return found
      await nextRound()
    }
  }

  async function nextRound(): Promise<void> {
    const { 'last-round': round } = await json('/v2/status')
    await json(`/v2/status/wait-for-block-after/${round}`)
  }

  /** In development mode a round passes with a payment only, so one is made that nobody asked for. */
  async function land(): Promise<void> {
    if (isInDevelopment) return void (await filler())
    do await nextRound()
    while ((await json('/v2/transactions/pending'))['total-transactions'] > 0)
  }

  async function filler(): Promise<boolean> {
    const note = Buffer.from(`${process.hrtime.bigint()}`)
    const suggestedParams = await suggested()
    const txn = makePaymentTxnWithSuggestedParamsFromObject({
      ...{ sender, receiver: sender, amount: 0, note, suggestedParams },
    })
    return send([{ txn, sign }])
  }

  const asset = makeAssetCreateTxnWithSuggestedParamsFromObject({
    ...{ sender, total: 2n ** 64n - 1n, decimals: 6, unitName: 'USDC', assetName: 'USDC' },
    ...{ manager: sender, reserve: sender, freeze: sender, defaultFrozen: false },
    ...{ note: Buffer.from(`${process.hrtime.bigint()}`), suggestedParams: await suggested() },
  })
  await send([{ txn: asset, sign }])
  const assetIndex = BigInt(String((await landed())['asset-index']))
  // Twice: with a clock a round may happen to pass at that moment.
  const isInDevelopment = (await filler()) && (await filler())
  const { genesisID, genesisHash } = await suggested()
  const { build } = await json('/versions')

  return {
    name: `algod ${build.major}.${build.minor}.${build.build_number}`,
    isInDevelopment,
    assetId: assetIndex,
    genesisId: genesisID!,
    genesisHash: genesisHash!,
    ask,
    async fund(members) {
      const suggestedParams = await suggested()
      const holders = members.filter(({ usdc }) => usdc !== null)
      await send(
        members
          .filter(({ microAlgos }) => microAlgos > 0n)
          .map(({ address, microAlgos, usdc }) => {
            const amount = microAlgos + (usdc === null ? 0n : FEE)
            const receiver = address
            return {
              txn: makePaymentTxnWithSuggestedParamsFromObject({ sender, receiver, amount, suggestedParams }),
              sign,
            }
          }),
      )
      await send(
        holders.map(({ address, sign }) => ({
          txn: makeAssetTransferTxnWithSuggestedParamsFromObject({
            ...{ sender: address, receiver: address, amount: 0, assetIndex, suggestedParams },
          }),
          sign,
        })),
      )
      await send(
        holders
          .filter(({ usdc }) => usdc !== 0n)
          .map(({ address, usdc }) => ({
            txn: makeAssetTransferTxnWithSuggestedParamsFromObject({
              ...{ sender, receiver: address, amount: usdc!, assetIndex, suggestedParams },
            }),
            sign,
          })),
      )
      await send(
        members
          .filter(({ isFrozen }) => isFrozen)
          .map(({ address }) => ({
            txn: makeAssetFreezeTxnWithSuggestedParamsFromObject({
              ...{ sender, freezeTarget: address, frozen: true, assetIndex, suggestedParams },
            }),
            sign,
          })),
      )
    },
    land,
    round: async () => BigInt((await json('/v2/status'))['last-round']),
    close: async () => {},
  }
}
