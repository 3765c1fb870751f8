/** Groups as wallets build them, with algosdk and keys of their own. Nothing of ours signs, encodes or hashes here. */
import { createPrivateKey, sign } from 'node:crypto'
import algosdk, { type Transaction } from 'algosdk'

export const USDC = 10_458_941
const GENESIS = {
  genesisID: 'testnet-v1.0',
  genesisHash: Buffer.from('SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=', 'base64'),
}

export interface Window {
  readonly firstValid: number | bigint
  readonly lastValid: number | bigint
}

export const WALLETS = 4
const wallets = Array.from({ length: WALLETS }, (_, number) => accountOf(number + 1))
const seller = accountOf(99)

/** Signs with node:crypto: algosdk's own signatures take 15 ms each. */
function accountOf(seed: number) {
  const bytes = Buffer.alloc(32, seed)
  const { addr } = algosdk.mnemonicToSecretKey(algosdk.secretKeyToMnemonic(bytes))
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), bytes])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return {
    addr,
    signed: (txn: Transaction) => txn.attachSignature(addr, sign(null, txn.bytesToSign(), key)),
  }
}

export interface Rider {
  readonly kind: 'opt-in' | 'call' | 'algo' | 'other-asset' | 'transfer' | 'keys'
  /** The wallet's number. */
  readonly by: number
  readonly window: Window
  readonly note: string
  /** Fields that a call has beside the usual ones. With two, it has 16, and 15 without its group's id. */
  readonly more?: number
}

export function paramsOf(window: Window, feeMicroAlgos = 0) {
  return { ...GENESIS, ...window, fee: feeMicroAlgos, flatFee: true, minFee: 1_000 }
}

/** A transaction that does nothing to the seller's USDC. */
export function riderOf({ kind, by, window, note, more = 0 }: Rider): Transaction {
  const sender = wallets[by]!.addr
  const receiver = wallets[(by + 1) % WALLETS]!.addr
  const common = { sender, suggestedParams: paramsOf(window), note: Buffer.from(note) }
  switch (kind) {
    case 'opt-in':
      return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
        ...common,
        receiver: sender,
        amount: 0,
        assetIndex: USDC,
      })
    case 'transfer':
      return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
        ...common,
        receiver,
        amount: 7,
        assetIndex: USDC,
      })
    case 'other-asset':
      return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
        ...common,
        receiver: seller.addr,
        amount: 7,
        assetIndex: 5,
      })
    case 'algo':
      return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
        ...common,
        receiver: seller.addr,
        amount: 1,
      })
    case 'call':
      return algosdk.makeApplicationNoOpTxnFromObject({
        ...common,
        appIndex: 77,
        appArgs: [Buffer.from('swap'), Buffer.alloc(8, 1)],
        foreignAssets: [USDC, 5],
        foreignApps: [78],
        accounts: [receiver],
        ...(more > 0 && { boxes: [{ appIndex: 77, name: Buffer.from('box') }] }),
        ...(more > 1 && { lease: Buffer.alloc(32, 1) }),
        ...(more > 2 && { rekeyTo: sender }),
      })
    case 'keys':
      return algosdk.makeKeyRegistrationTxnWithSuggestedParamsFromObject(common)
  }
}

interface Terms {
  readonly amount: number
  readonly from?: 'seller'
  readonly to?: 'seller'
  readonly closeTo?: 'seller'
  readonly clawedFrom?: 'seller'
  readonly window?: Window
  readonly note?: string
}

/** A transfer of USDC: from the first wallet to the seller, or, where terms name the seller elsewhere, to the second wallet. */
export function transferOf({ amount, from, to, closeTo, clawedFrom, window, note }: Terms): Transaction {
  const elsewhere = to === undefined && (from ?? closeTo ?? clawedFrom) !== undefined
  return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
    sender: from ? seller.addr : wallets[0]!.addr,
    receiver: elsewhere ? wallets[1]!.addr : seller.addr,
    amount,
    assetIndex: USDC,
    suggestedParams: paramsOf(window ?? { firstValid: 1, lastValid: 1_000 }),
    ...(closeTo && { closeRemainderTo: seller.addr }),
    ...(clawedFrom && { assetSender: seller.addr }),
    ...(note !== undefined && { note: Buffer.from(note) }),
  })
}

/** Gives all of them their group's id. */
export function grouped(group: readonly Transaction[]): readonly Transaction[] {
  if (group.length > 1) algosdk.assignGroupID([...group])
  return group
}

/** Signed by the wallets of this file. */
export function payloadOf(group: readonly Transaction[], paymentIndex: number) {
  const keys = new Map([...wallets, seller].map(account => [account.addr.toString(), account]))
  const paymentGroup = group.map(txn =>
    Buffer.from(keys.get(txn.sender.toString())!.signed(txn)).toString('base64'),
  )
  return { x402Version: 2, payload: { paymentGroup, paymentIndex } }
}
