/** A journal of so many paid calls, as a server writes it: a call every ten milliseconds, of one payer. */
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { headerLine, numberedLine, runText } from '../../dist/src/audit/journal/line-format.js'
import { allPathsOf } from '../../dist/src/audit/proofs/check-machine-properties.js'
import { chargeTable } from '../../dist/src/domain/machines/charge.machine.js'

const EVERY_MS = 10
const STARTED_MS = Date.UTC(2026, 0, 2)
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const ASSET = '10458941'

/** As long as a transaction's id, of its letters, and another for each number. */
export function txIdOf(number) {
  let letters = ''
  for (let rest = number; rest > 0; rest = Math.floor(rest / 32)) letters = BASE32[rest % 32] + letters
  return letters.padStart(52, 'A')
}

export function settledRun(payer) {
  const { steps } = allPathsOf(chargeTable).find(({ final }) => final === 'settled')
  const timingsMs = steps.map((_, at) => at + 0.5)
  const paid = { charged: 'yes', payer, amount: '10000', asset: ASSET }
  return { endpoint: 'work', final: 'settled', path: steps, timingsMs, status: 200, ms: 12, ...paid }
}

export function runOf(ran, number) {
  const id = `call-${number}`
  const traceId = number.toString(16).padStart(32, '0')
  return { id, traceId, ...ran, txId: txIdOf(number), startedMs: STARTED_MS + number * EVERY_MS }
}

export async function writeJournal(path, lines, { ran, payTo }) {
  const file = createWriteStream(path)
  const header = {
    journal: 1,
    agent: 'bench-agent',
    network: 'testnet',
    payTo,
    asset: ASSET,
    endpoints: ['work'],
  }
  let text = `${headerLine(header, 1, STARTED_MS)}\n`
  for (let at = 0; at < lines; at++) {
    text += `${numberedLine(at + 1, runText(runOf(ran, at)))}\n`
    if (text.length < 1_000_000) continue
    if (!file.write(text)) await once(file, 'drain')
    text = ''
  }
  file.end(text)
  await once(file, 'close')
}
