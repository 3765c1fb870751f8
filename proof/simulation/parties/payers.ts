/** Accounts that do not sign with one key of their own: a multisig, a program, and an account that was rekeyed. */

import {
  Address,
  encodeMsgpack,
  type MultisigMetadata,
  makePaymentTxnWithSuggestedParamsFromObject,
  multisigAddress,
  SignedTransaction,
  type Transaction,
} from 'algosdk'
import {
  decodeMember,
  type PaymentSigner,
  type SignedPayment,
  type SigningKey,
  TESTNET,
} from '../../../src/simulation-parts.js'
import type { Features } from '../pairs.js'
import { keyOf } from '../world/accounts.js'
import { delegated } from '../world/programs.js'
import type { World } from '../world/world.js'
import type { Buyer } from './buyer.js'

type Wrap = (txn: Transaction) => SignedTransaction

/** What signs for this buyer's payments of this kind. Its account has money. */
export function payerOf(world: World, buyer: Buyer, kind: Features['payer']): PaymentSigner {
  if (kind === 'plain') return buyer.signer
  const { address, wrap } = OTHERS[kind](world, buyer)
  if (kind !== 'rekeyed') world.ledger.credit(address, PLENTY)
  const signer = buyer.signerFor({ address, sign: () => NO_SIGNATURE })
  return {
    address,
    async sign(challenge, accepted) {
      return wrapped(await signer.sign(challenge, accepted), wrap)
    },
  }
}

const PLENTY = { microAlgos: 10_000_000n, usdc: 100_000_000n }
/** In the place of the wrapper that comes. */
const NO_SIGNATURE = new Uint8Array(64).fill(1)

interface Other {
  readonly address: string
  readonly wrap: Wrap
}

const OTHERS: Record<Exclude<Features['payer'], 'plain'>, (world: World, buyer: Buyer) => Other> = {
  multisig(_, { name }) {
    const { address, sign } = multisig(name)
    return { address: address.toString(), wrap: txn => new SignedTransaction({ txn, msig: sign(txn) }) }
  },
  'logic signature'(_, { name }) {
    const key = keyOf(`${name} delegates`)
    return { address: key.address, wrap: txn => new SignedTransaction({ txn, lsig: delegated(key) }) }
  },
  /** To a multisig, which facilitators take; or, one time in two, to a key, which they refuse. */
  rekeyed(world, { name }) {
    const isToKey = world.fate.dice(`${name}.rekeyed`).chance(0.5)
    const [owner, spender] = [keyOf(`${name} rekeyed`), keyOf(`${name} spends`)]
    const { address: many, sign } = multisig(name)
    rekey(world, owner, isToKey ? spender.address : many.toString())
    const wrap: Wrap = isToKey
      ? txn =>
          new SignedTransaction({
            txn,
            sig: spender.sign(txn.bytesToSign()),
            sgnr: new Address(spender.publicKey),
          })
      : txn => new SignedTransaction({ txn, msig: sign(txn), sgnr: many })
    return { address: owner.address, wrap }
  },
}

/** Two of three keys. */
function multisig(name: string) {
  const keys = [1, 2, 3].map(at => keyOf(`${name} signs ${at}`))
  const of: MultisigMetadata = {
    version: 1,
    threshold: 2,
    addrs: keys.map(({ publicKey }) => new Address(publicKey)),
  }
  const sign = (txn: Transaction) => {
    const text = txn.bytesToSign()
    const subsig = keys.map(({ publicKey: pk, sign }, at) => (at === 0 ? { pk } : { pk, s: sign(text) }))
    return { v: of.version, thr: of.threshold, subsig }
  }
  return { address: multisigAddress(of), sign }
}

/** Once. */
function rekey({ ledger }: World, { address, sign }: SigningKey, to: string): void {
  if (ledger.account(address).authAddr !== undefined) return
  ledger.credit(address, PLENTY)
  const firstValid = ledger.rounds.current()
  const txn = makePaymentTxnWithSuggestedParamsFromObject({
    sender: address,
    receiver: address,
    amount: 0,
    rekeyTo: to,
    suggestedParams: {
      fee: 1_000,
      minFee: 1_000,
      flatFee: true,
      firstValid,
      lastValid: firstValid + 10n,
      genesisID: TESTNET.genesisId,
      genesisHash: Buffer.from(TESTNET.genesisHash, 'base64'),
    },
  })
  const refusal = ledger.submit([new SignedTransaction({ txn, sig: sign(txn.bytesToSign()) })])
  if (refusal) throw new Error(`not rekeyed: ${refusal.message}`)
}

function wrapped(payment: SignedPayment, wrap: Wrap): SignedPayment {
  const { paymentGroup, paymentIndex } = payment.payload.payload as {
    readonly paymentGroup: readonly string[]
    readonly paymentIndex: number
  }
  const group = paymentGroup.map((text, at) => {
    if (at !== paymentIndex) return text
    const { txn } = decodeMember(Buffer.from(text, 'base64'))!
    return Buffer.from(encodeMsgpack(wrap(txn))).toString('base64')
  })
  return { ...payment, payload: { ...payment.payload, payload: { paymentGroup: group, paymentIndex } } }
}
