/** The structs that a node reads, by the names of their fields. */
import type { Shape } from './read-shape.js'

const HASH = { fixed: 32 } as const
const SIGNATURE = { fixed: 64 } as const

const MULTISIG = {
  struct: {
    v: 'uint',
    thr: 'uint',
    subsig: { list: { struct: { pk: HASH, s: SIGNATURE } } },
  },
} as const satisfies Shape

const SCHEMA = { struct: { nui: 'uint', nbs: 'uint' } } as const satisfies Shape
const BOX = { struct: { i: 'uint', n: 'bytes' } } as const satisfies Shape

const ASSET = {
  struct: {
    ...{ t: 'uint', dc: 'uint', df: 'bool', un: 'text', an: 'text', au: 'text', am: HASH },
    ...{ m: 'address', r: 'address', f: 'address', c: 'address' },
  },
} as const satisfies Shape

const ACCESS = {
  struct: {
    ...{ d: 'address', s: 'uint', p: 'uint', b: BOX },
    ...{ h: { struct: { d: 'uint', s: 'uint' } }, l: { struct: { d: 'uint', p: 'uint' } } },
  },
} as const satisfies Shape

const TRANSACTION = {
  type: 'text',
  snd: 'address',
  fee: 'uint',
  fv: 'uint',
  lv: 'uint',
  note: 'bytes',
  gen: 'text',
  gh: HASH,
  grp: HASH,
  lx: HASH,
  rekey: 'address',
  rcv: 'address',
  amt: 'uint',
  close: 'address',
  xaid: 'uint',
  aamt: 'uint',
  asnd: 'address',
  arcv: 'address',
  aclose: 'address',
  ...{ votekey: HASH, selkey: HASH, sprfkey: SIGNATURE, nonpart: 'bool' },
  ...{ votefst: 'uint', votelst: 'uint', votekd: 'uint' },
  ...{ caid: 'uint', apar: ASSET },
  ...{ fadd: 'address', faid: 'uint', afrz: 'bool' },
  ...{ apid: 'uint', apan: 'uint', apep: 'uint', aprv: 'uint', apap: 'bytes', apsu: 'bytes' },
  ...{ apgs: SCHEMA, apls: SCHEMA, apaa: { list: 'bytes' }, apat: { list: 'address' } },
  ...{ apfa: { list: 'uint' }, apas: { list: 'uint' }, apbx: { list: BOX }, al: { list: ACCESS } },
  ...{ sptype: 'any', sp: 'any', spmsg: 'any', hb: 'any' },
} as const satisfies Record<string, Shape>

export const SIGNED_TRANSACTION = {
  struct: {
    sig: SIGNATURE,
    msig: MULTISIG,
    lsig: 'any',
    pqsig: 'any',
    sgnr: 'address',
    txn: { struct: TRANSACTION },
  },
} as const satisfies Shape

export const SIMULATE_REQUEST = {
  struct: {
    'txn-groups': { list: { struct: { txns: { list: SIGNED_TRANSACTION } } } },
    round: 'uint',
    'allow-empty-signatures': 'bool',
    'allow-more-logging': 'bool',
    'allow-unnamed-resources': 'bool',
    'extra-opcode-budget': 'uint',
    'exec-trace-config': {
      struct: { enable: 'bool', 'stack-change': 'bool', 'scratch-change': 'bool', 'state-change': 'bool' },
    },
    'fix-signers': 'bool',
  },
} as const satisfies Shape

/** Types of transactions that a node knows. */
export const TYPES: readonly string[] = 'pay axfer appl keyreg acfg afrz stpf hb'.split(' ')
