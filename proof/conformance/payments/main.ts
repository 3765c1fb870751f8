/** npm run real-node -- --algod <url> --token <t>: sells and pays on a real node, and holds the balances against it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { STDERR_LOGGER } from '../../../cli/output.js'
import { localnetSettings } from '../../../src/localnet/settings.js'
import { startLocalnet } from '../../../src/localnet/start-localnet.js'
import { CASES } from './cases.js'
import { stageOn } from './stage.js'
import { type Row, tableOf, tried } from './tried.js'

const USAGE = `npm run real-node -- [--algod <url>] [--token <t>] [--only <part of a name>]

Sells and pays on a private node, AlgoKit LocalNet by default, and holds the balances against what was said.
ALGO comes from kmd, or from the account whose 25 words are in SVC_LOCALNET_MNEMONIC. See svc localnet.`

const { values } = parseArgs({
  options: {
    algod: { type: 'string' },
    token: { type: 'string' },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  if (values.help) {
    console.log(USAGE)
    return 0
  }
  const folder = mkdtempSync(join(tmpdir(), 'svc-real-node-'))
  const settings = localnetSettings({ algod: values.algod, algodToken: values.token })
  const localnet = await startLocalnet({
    ...{ settings, port: 0, logger: STDERR_LOGGER },
    out: join(folder, 'localnet.json'),
  })
  const stage = await stageOn(localnet)
  try {
    const rows: Row[] = []
    for (const each of CASES.filter(({ name }) => name.includes(values.only))) {
      console.error(each.name)
      rows.push(await tried(stage, each))
    }
    console.log(tableOf(rows))
    return rows.every(({ isRight }) => isRight) ? 0 : 1
  } finally {
    await stage.close()
    await localnet.close()
    rmSync(folder, { recursive: true })
  }
}

process.exitCode = await main()
