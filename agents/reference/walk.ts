/** One paid call, told step by step from what went over the wire, what the ledger holds and what the machine says. */
import { decodeMember } from '../../src/adapters/algorand/decode-by-algosdk.js'
import { wordsOf } from '../../src/audit/page/step-words.js'
import { formatUsd } from '../../src/domain/money.js'
import {
  decodeHeader,
  isRecord,
  PAYMENT_RESPONSE_HEADER,
  PAYMENT_SIGNATURE_HEADER,
} from '../../src/domain/x402.js'
import { SvcClient } from '../../src/index.js'
import type { AgentOnSandbox } from './on-sandbox.js'
import { bold, dim, green, step, table, wrapped } from './paint.js'

export const SAMPLE = {
  text: `The harbour of Kallviken closes on Friday after two centuries of use. It rained on the morning of the announcement. The council says that the harbour wall can no longer be repaired. Boats will move to the harbour of Norrsund, four kilometres away. My aunt prefers tea. The council pays for the move of all boats that are registered in Kallviken.`,
  max: 260,
}

interface Exchange {
  readonly request: Headers
  readonly response: Response
}

export async function walk({ sandbox, endpointUrl, runs }: AgentOnSandbox): Promise<void> {
  const { wallet, seller } = sandbox
  const exchanges: Exchange[] = []
  const fetchImpl: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    exchanges.push({ request: new Headers(init?.headers), response: response.clone() })
    return response
  }
  const client = new SvcClient({
    mnemonic: wallet.mnemonic,
    network: 'testnet',
    algodUrl: sandbox.algodUrl,
    maxPrice: '$0.01',
    maxPerDay: '$1',
    fetchImpl,
  })
  const balances = () => ({ payer: usdc(wallet.address), agent: usdc(seller.address) })
  const usdc = (address: string) => formatUsd(sandbox.balance(address).usdc ?? 0n)

  const before = balances()
  const { requirements } = await client.quote(endpointUrl, SAMPLE)
  const result = await client.call<{ summary: string }>(endpointUrl, SAMPLE)
  const after = balances()
  const paid = exchanges.at(-1)!
  const accepted = requirements!.accepts[0]!
  const landed = sandbox.transactions().find(({ txId }) => txId === result.payment?.txId)

  step(1, 'Asked without paying: 402', [
    `POST ${endpointUrl}`,
    dim('the PAYMENT-REQUIRED header, decoded:'),
    ...table({
      amount: `${accepted.amount} base units, which is ${formatUsd(BigInt(accepted.amount))}`,
      asset: `${accepted.asset} (USDC)`,
      network: accepted.network,
      payTo: accepted.payTo,
      feePayer: String(accepted.extra.feePayer),
    }),
  ])
  step(
    2,
    'Held against the limit of $0.01, and signed',
    signedGroup(paid.request.get(PAYMENT_SIGNATURE_HEADER) ?? ''),
  )
  step(3, `Asked again with PAYMENT-SIGNATURE: ${result.status}`, [
    ...table({ facilitator: `verified it, then settled it in round ${landed?.round}` }),
    dim('the answer:'),
    ...wrapped(result.data.summary).map(line => `  ${line}`),
  ])
  step(
    4,
    'The receipt: PAYMENT-RESPONSE, decoded',
    receipt(paid.response.headers.get(PAYMENT_RESPONSE_HEADER) ?? ''),
  )
  step(5, 'Balances', [
    dim(`${'USDC'.padEnd(7)}${'before'.padStart(10)}${'after'.padStart(10)}`),
    ...(['payer', 'agent'] as const).map(
      who => `${who.padEnd(7)}${before[who].padStart(10)}${bold(after[who].padStart(10))}`,
    ),
  ])
  step(
    6,
    'The path through the charge machine',
    path(runs.list()[0]?.path ?? [], runs.list()[0]?.final ?? ''),
  )
}

function signedGroup(header: string): string[] {
  const payload = decodeHeader(header)?.payload
  const group = isRecord(payload) && Array.isArray(payload.paymentGroup) ? payload.paymentGroup : []
  return group.flatMap((text, at) => {
    const member = decodeMember(Buffer.from(String(text), 'base64'))
    if (!member) return []
    const { txn, signed } = member
    const { assetTransfer, payment } = txn
    const moved = assetTransfer ? `${formatUsd(assetTransfer.amount)} in USDC` : `${payment?.amount} ALGO`
    return [
      `${dim(`[${at}]`)} ${txn.type.padEnd(5)}  ${moved}, fee ${Number(txn.fee) / 1e6} ALGO, ${signed ? green('signed by the payer') : 'left to the sponsor to sign'}`,
      dim(`    from ${txn.sender}  rounds ${txn.firstValid} to ${txn.lastValid}`),
    ]
  })
}

function receipt(header: string): string[] {
  const { success, transaction, payer, amount, asset } = decodeHeader(header) ?? {}
  return table({
    success: String(success),
    transaction: String(transaction),
    payer: String(payer),
    amount: `${String(amount)} of asset ${String(asset)}`,
  })
}

function path(steps: readonly string[], final: string): string[] {
  const width = Math.max(...steps.map(step => wordsOf(step).length))
  const told = steps.map(step => `${wordsOf(step).padEnd(width)}  ${dim(step.replace('.', ' '))}`)
  return [...told, `${green(bold(wordsOf(final)))}  ${dim(final)}`]
}
