/** Payers that have no plain signature of their own: several keys, other keys, a program. algosdk signs for them. */
import algosdk, { type Address, type Transaction } from 'algosdk'
import type { PaymentRequired } from '../../src/domain/x402.js'
import type { Sandbox } from '../../src/sandbox.js'
import { type PaymentHeader, presenting } from './seller.js'
import { sponsorship, windowOf } from './wallet.js'
import { paramsOf, USDC } from './wallet-groups.js'

export interface OtherSigner {
  readonly address: string
  /** Of one of its keys; of a stranger's where it has none. */
  readonly mnemonic: string
  /** A payment of what is asked for; signed and not sent. Each is another transaction. */
  pays(challenge: PaymentRequired): PaymentHeader
  /** The same in the name of this payer, as somebody else can make it. */
  forged(challenge: PaymentRequired): readonly PaymentHeader[]
}

const FUNDS = { microAlgos: 10_000_000n, usdc: 100_000_000n }

/** Two of three keys. */
export function multisigPayer(sandbox: Sandbox): OtherSigner {
  const [one, two, three, stranger, other] = Array.from({ length: 5 }, algosdk.generateAccount)
  const params = { version: 1, threshold: 2, addrs: [one!, two!, three!].map(({ addr }) => addr) }
  const sender = algosdk.multisigAddress(params)
  sandbox.fund(sender.toString(), FUNDS)
  const signed = (txn: Transaction) => {
    const first = algosdk.signMultisigTransaction(txn, params, one!.sk).blob
    return algosdk.appendSignMultisigTransaction(first, params, three!.sk).blob
  }
  const strangers = { ...params, threshold: 1, addrs: [stranger!.addr, other!.addr] }
  return payerOf(sandbox, { sender, sk: one!.sk, sign: signed }, [
    txn => txn.signTxn(stranger!.sk),
    // An account of the stranger's, and the right account with one signature too few.
    txn => byKeys(txn, strangers, [stranger!.sk]),
    txn => algosdk.signMultisigTransaction(txn, params, one!.sk).blob,
  ])
}

/** An account for which two other keys sign. (Facilitators take no single other key.) */
export async function rekeyedPayer(sandbox: Sandbox): Promise<OtherSigner> {
  const [own, one, two, stranger] = Array.from({ length: 4 }, algosdk.generateAccount)
  const sender = own!.addr
  sandbox.fund(sender.toString(), FUNDS)
  const params = { version: 1, threshold: 2, addrs: [one!.addr, two!.addr] }
  const sgnr = algosdk.multisigAddress(params)
  const rekey = algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    ...{ sender, receiver: sender, amount: 0, rekeyTo: sgnr },
    suggestedParams: paramsOf(windowOf(sandbox), 1_000),
  })
  const sent = await fetch(`${sandbox.algodUrl}/v2/transactions`, {
    method: 'POST',
    body: new Uint8Array(rekey.signTxn(own!.sk)),
  })
  if (!sent.ok) throw new Error(await sent.text())
  const sign: Sign = txn => byKeys(txn, params, [one!.sk, two!.sk], sgnr)
  const strangers = { ...params, threshold: 1, addrs: [stranger!.addr] }
  return payerOf(sandbox, { sender, sk: one!.sk, sign }, [
    txn => txn.signTxn(stranger!.sk),
    txn => byKeys(txn, strangers, [stranger!.sk], algosdk.multisigAddress(strangers)),
    // The key that it had before.
    txn => txn.signTxn(own!.sk),
  ])
}

/** A program that always says yes. */
export function programPayer(sandbox: Sandbox): OtherSigner {
  const programOf = (byte: number) => new algosdk.LogicSig(Buffer.of(1, 0x20, 1, byte, 0x22))
  const [program, other] = [programOf(1), programOf(2)]
  const stranger = algosdk.generateAccount()
  const signed = (lsig: algosdk.LogicSig) => (txn: Transaction) =>
    algosdk.encodeMsgpack(new algosdk.SignedTransaction({ txn, lsig }))
  return payerOf(sandbox, { sender: program.address(), sk: stranger.sk, sign: signed(program) }, [
    txn => txn.signTxn(stranger.sk),
    signed(other),
  ])
}

type Sign = (txn: Transaction) => Uint8Array

interface Signing {
  readonly sender: Address
  readonly sk: Uint8Array
  readonly sign: Sign
}

function payerOf(sandbox: Sandbox, { sender, sk, sign }: Signing, forgers: readonly Sign[]): OtherSigner {
  let notes = 0
  const unsigned = ({ accepts }: PaymentRequired) => {
    const { amount, payTo, extra } = accepts[0]!
    const sponsor = sponsorship(sandbox, String(extra!.feePayer), 2_000).txn
    const payment = algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...{ sender, receiver: payTo, amount: BigInt(amount), assetIndex: USDC },
      suggestedParams: paramsOf(windowOf(sandbox)),
      note: Buffer.from(`payment ${notes++}`),
    })
    algosdk.assignGroupID([sponsor, payment])
    return { sponsor, payment }
  }
  const signedBy = (signs: Sign, challenge: PaymentRequired) => {
    const { sponsor, payment } = unsigned(challenge)
    const members = [algosdk.encodeUnsignedTransaction(sponsor), signs(payment)]
    const paymentGroup = members.map(bytes => Buffer.from(bytes).toString('base64'))
    const accepted = challenge.accepts[0]!
    return presenting({ x402Version: 2, payload: { paymentGroup, paymentIndex: 1 }, accepted })
  }
  return {
    address: sender.toString(),
    mnemonic: algosdk.secretKeyToMnemonic(sk),
    pays: challenge => signedBy(sign, challenge),
    forged: challenge => forgers.map(forge => signedBy(forge, challenge)),
  }
}

/** Signed by the first of the keys. algosdk does it for the account of the keys alone. */
function byKeys(
  txn: Transaction,
  { version: v, threshold: thr, addrs }: algosdk.MultisigMetadata,
  sks: readonly Uint8Array[],
  sgnr?: Address,
): Uint8Array {
  const subsig = addrs.map((addr, at) => ({
    pk: algosdk.decodeAddress(String(addr)).publicKey,
    ...(at < sks.length && { s: algosdk.decodeSignedTransaction(txn.signTxn(sks[at]!)).sig! }),
  }))
  const signed = { txn, msig: { v, thr, subsig }, ...(sgnr && { sgnr }) }
  return algosdk.encodeMsgpack(new algosdk.SignedTransaction(signed))
}
