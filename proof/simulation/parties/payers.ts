/** Accounts that do not sign with one key of their own: a multisig, and one that was rekeyed to another key. */
import {
  Address,
  encodeMsgpack,
  makePaymentTxnWithSuggestedParamsFromObject,
  multisigAddress,
  SignedTransaction,
  type Transaction,
} from 'algosdk'
import { decodeMember } from '../../../src/adapters/algorand/decode-transaction.js'
import { TESTNET } from '../../../src/domain/network.js'
import type { PaymentSigner, SignedPayment } from '../../../src/ports/payment-signer.js'
import type { Features } from '../pairs.js'
import { keyOf } from '../world/accounts.js'
import type { World } from '../world/world.js'
import type { Buyer } from './buyer.js'

type Wrap = (txn: Transaction) => SignedTransaction

/** What signs for this buyer's payments of this kind. Its account has money. */
export function payerOf(world: World, buyer: Buyer, kind: Features['payer']): PaymentSigner {
  if (kind === 'plain') return buyer.signer
  const { address, wrap } = kind === 'multisig' ? multisig(buyer) : rekeyed(world, buyer)
  if (kind === 'multisig') world.ledger.credit(address, PLENTY)
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

/** Two of three keys. */
function multisig({ name }: Buyer): { readonly address: string; readonly wrap: Wrap } {
  const keys = [1, 2, 3].map(at => keyOf(`${name} signs ${at}`))
  const addrs = keys.map(({ publicKey }) => new Address(publicKey))
  const address = multisigAddress({ version: 1, threshold: 2, addrs }).toString()
  const wrap: Wrap = txn => {
    const text = txn.bytesToSign()
    const subsig = keys.map(({ publicKey: pk, sign }, at) => (at === 0 ? { pk } : { pk, s: sign(text) }))
    return new SignedTransaction({ txn, msig: { v: 1, thr: 2, subsig } })
  }
  return { address, wrap }
}

function rekeyed(world: World, { name }: Buyer): { readonly address: string; readonly wrap: Wrap } {
  const [owner, spender] = [keyOf(`${name} rekeyed`), keyOf(`${name} spends`)]
  const { address } = owner
  if (world.ledger.account(address).authAddr === undefined) {
    world.ledger.credit(address, PLENTY)
    const firstValid = world.ledger.rounds.current()
    const txn = makePaymentTxnWithSuggestedParamsFromObject({
      sender: address,
      receiver: address,
      amount: 0,
      rekeyTo: spender.address,
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
    const refusal = world.ledger.submit([new SignedTransaction({ txn, sig: owner.sign(txn.bytesToSign()) })])
    if (refusal) throw new Error(`not rekeyed: ${refusal.message}`)
  }
  const wrap: Wrap = txn =>
    new SignedTransaction({ txn, sig: spender.sign(txn.bytesToSign()), sgnr: new Address(spender.publicKey) })
  return { address, wrap }
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
