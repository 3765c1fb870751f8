/** npm run conformance -- --algod <url> --token <t> [--write <page>]: asks a node and the sandbox the same, and prints what differs. */
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { signingKey, signingKeyFromSeed } from '../../src/adapters/algorand/signing-keys.js'
import { nodePeer } from './node-peer.js'
import { compare } from './run.js'
import { sandboxPeer } from './sandbox-peer.js'
import { pageOf, recordOf, tableOf } from './table.js'

const USAGE = `npm run conformance -- --algod <url> --token <t> [--only <part of a name>] [--write <file>]

Asks a node and the sandbox the same questions, and prints what differs.
Without --algod it asks two sandboxes.

--only   asks the questions whose name contains this text
--write  also writes the table to this file, as a page of the documentation
--record writes the node's answers to this file: test/vectors/algod-answers.json
--seed   makes the same accounts as another run with this seed; by default others
--full   prints the whole answers that differ

The funder's 25 words are in SVC_CONFORMANCE_MNEMONIC; it needs 200 ALGO of the node's chain.
Without it the funder is the issuer of test/vectors/keys.json.`

const { values } = parseArgs({
  options: {
    algod: { type: 'string' },
    token: { type: 'string', default: 'a'.repeat(64) },
    only: { type: 'string' },
    write: { type: 'string' },
    record: { type: 'string' },
    seed: { type: 'string', default: randomUUID() },
    full: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function funder() {
  const { SVC_CONFORMANCE_MNEMONIC: words } = process.env
  if (words) return signingKey(words)
  const { accounts } = JSON.parse(readFileSync('test/vectors/keys.json', 'utf8'))
  return signingKeyFromSeed(Buffer.from(accounts.issuer.seedHex, 'hex'))
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(USAGE)
    return 0
  }
  const { algod, token, only, write, record, seed, full } = values
  const other = algod
    ? await nodePeer({ url: algod, token, funder: funder() })
    : await sandboxPeer('another sandbox')
  const ours = await sandboxPeer('sandbox', other.isInDevelopment)
  try {
    const result = await compare(ours, other, { seed, only })
    const table = tableOf(result)
    console.log(table)
    if (full) for (const each of result.differences) console.log(JSON.stringify(each, null, 1))
    if (write) writeFileSync(write, pageOf(result, new Date()))
    if (record) writeFileSync(record, recordOf(result, seed))
    return result.differences.some(({ reason }) => reason === undefined) ? 1 : 0
  } finally {
    await ours.close()
    await other.close()
  }
}

process.exitCode = await main()
