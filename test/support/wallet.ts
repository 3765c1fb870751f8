/** A wallet beside a sandbox that builds its groups with algosdk alone: opt-ins, swaps, calls, and the payment among them. */
import algosdk, { type Transaction } from 'algosdk'
import type { PaymentRequired } from '../../src/domain/x402.js'
import type { Sandbox } from '../../src/sandbox.js'
import { ask, challengeIn, type PaymentHeader, presenting, type Seller } from './seller.js'
import { paramsOf, USDC, type Window } from './wallet-groups.js'

/** One transaction, and who signs it: the sponsor's is left to the facilitator. */
export interface Step {
  readonly txn: Transaction
  readonly by: Wallet | undefined
}

export interface StepOptions {
  readonly window?: Window
  readonly feeMicroAlgos?: number
  readonly note?: string
  readonly closeRemainderTo?: string
}

export interface Wallet {
  readonly address: string
  readonly secretKey: Uint8Array
  optIn(options?: StepOptions): Step
  /** USDC. */
  send(to: string, amount: number, options?: StepOptions): Step
  sendAlgo(to: string, microAlgos: number, options?: StepOptions): Step
  /** A call of an application, with arguments as a swap has them. */
  call(options?: StepOptions): Step
}

/** The wallet with this mnemonic; without one, a new wallet that holds nothing. */
export function wallet(sandbox: Sandbox, mnemonic?: string): Wallet {
  const { addr, sk } =
    mnemonic === undefined ? algosdk.generateAccount() : algosdk.mnemonicToSecretKey(mnemonic)
  const address = addr.toString()
  const common = (options: StepOptions = {}) => ({
    sender: address,
    suggestedParams: paramsOf(options.window ?? windowOf(sandbox), options.feeMicroAlgos),
    ...(options.note !== undefined && { note: Buffer.from(options.note) }),
    ...(options.closeRemainderTo !== undefined && { closeRemainderTo: options.closeRemainderTo }),
  })
  const own: Wallet = {
    address,
    secretKey: sk,
    optIn: options => own.send(address, 0, options),
    send: (receiver, amount, options) => ({
      by: own,
      txn: algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
        ...common(options),
        ...{ receiver, amount, assetIndex: USDC },
      }),
    }),
    sendAlgo: (receiver, amount, options) => ({
      by: own,
      txn: algosdk.makePaymentTxnWithSuggestedParamsFromObject({ ...common(options), receiver, amount }),
    }),
    call: options => ({
      by: own,
      txn: algosdk.makeApplicationNoOpTxnFromObject({
        ...common(options),
        appIndex: 1_002_541_853,
        appArgs: [Buffer.from('swap'), Buffer.from('fixed-input'), algosdk.encodeUint64(30_000)],
        foreignAssets: [USDC],
      }),
    }),
  }
  return own
}

export function windowOf(sandbox: Sandbox, rounds = 100): Window {
  return { firstValid: sandbox.round(), lastValid: sandbox.round() + BigInt(rounds) }
}

/** The sponsor's payment of zero to itself, which carries these fees. */
export function sponsorship(sandbox: Sandbox, sponsor: string, feeMicroAlgos: number, window?: Window): Step {
  const txn = algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    ...{ sender: sponsor, receiver: sponsor, amount: 0 },
    suggestedParams: paramsOf(window ?? windowOf(sandbox), feeMicroAlgos),
  })
  return { txn, by: undefined }
}

/** Binds the steps to one group. */
export function bound(steps: readonly Step[]): readonly Step[] {
  if (steps.length > 1) algosdk.assignGroupID(steps.map(({ txn }) => txn))
  return steps
}

/** A header that presents the steps as they are; `index` is the payment's. */
export function presented(steps: readonly Step[], index: number, challenge: PaymentRequired): PaymentHeader {
  const paymentGroup = steps.map(({ txn, by }) =>
    Buffer.from(by ? txn.signTxn(by.secretKey) : algosdk.encodeUnsignedTransaction(txn)).toString('base64'),
  )
  const accepted = challenge.accepts[0]!
  return presenting({ x402Version: 2, payload: { paymentGroup, paymentIndex: index }, accepted })
}

/** What the seller asks for at this path. */
export async function quoteAt({ url }: Seller, path: string): Promise<PaymentRequired> {
  return challengeIn(await ask(url + path, { body: {} }))
}
