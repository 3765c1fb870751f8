/** What a node tells of itself and of its network. */
import type { Ledger } from '../ledger.js'
import { json, type Reply, type SandboxRequest } from '../serve-http.js'
import { uintIn } from './replies.js'

/** Consensus version 42. */
export const CONSENSUS =
  'https://github.com/algorandfoundation/specs/tree/268b63433a907455d439995bf916f6b296018f4f'
const MIN_FEE_MICRO_ALGOS = 1_000
const WAIT_FOR_BLOCK_MS_MAX = 60_000
const CATCHPOINT_COUNTS = [
  ...['acquired-blocks', 'processed-accounts', 'processed-kvs', 'total-accounts', 'total-blocks'],
  ...['total-kvs', 'verified-accounts', 'verified-kvs'],
].map(name => [`catchpoint-${name}`, 0] as const)

export function params({ network, rounds }: Ledger): Reply {
  return json(200, {
    'consensus-version': CONSENSUS,
    fee: 0,
    'genesis-hash': network.genesisHash,
    'genesis-id': network.genesisId,
    'last-round': Number(rounds.current()),
    'min-fee': MIN_FEE_MICRO_ALGOS,
  })
}

export function status({ rounds }: Ledger): Reply {
  return json(200, {
    catchpoint: '',
    ...Object.fromEntries(CATCHPOINT_COUNTS),
    'catchup-time': 0,
    'last-catchpoint': '',
    'last-round': Number(rounds.current()),
    'last-version': CONSENSUS,
    'next-version': CONSENSUS,
    'next-version-round': Number(rounds.current()) + 1,
    'next-version-supported': true,
    'stopped-at-unsupported-round': false,
    'time-since-last-round': 0,
  })
}

/** After a minute it answers with the status as it is. */
export async function statusAfter(ledger: Ledger, { parts }: SandboxRequest): Promise<Reply> {
  await ledger.rounds.past(uintIn('round', parts[0]!), WAIT_FOR_BLOCK_MS_MAX)
  return status(ledger)
}

export function versions({ network }: Ledger): Reply {
  const build = {
    ...{ major: 5, minor: 0, build_number: 0, commit_hash: 'sandbox', branch: '', channel: 'sandbox' },
  }
  return json(200, {
    versions: ['v2'],
    genesis_id: network.genesisId,
    genesis_hash_b64: network.genesisHash,
    build,
  })
}

/** The accounts of the first block are none of the sandbox's: its money is minted. */
export function genesis({ network, feeSink, issuer }: Ledger): Reply {
  const [name = '', id = ''] = network.genesisId.split(/-(?=v)/)
  return json(200, {
    ...{ alloc: [], fees: feeSink, id, network: name, proto: CONSENSUS, rwd: issuer, timestamp: 0 },
  })
}

export function supply(ledger: Ledger): Reply {
  const total = Number(ledger.totals().microAlgos)
  const rounds = Number(ledger.rounds.current())
  return json(200, { current_round: rounds, 'online-money': 0, 'online-stake': 0, 'total-money': total })
}

export function metrics({ rounds }: Ledger): Reply {
  const name = 'algod_ledger_round'
  const body = `# HELP ${name} Last round written to ledger\n# TYPE ${name} gauge\n${name} ${rounds.current()}\n`
  return { status: 200, type: 'text/plain', body }
}
