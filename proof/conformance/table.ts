/** The comparison as Markdown: a table, and a page around it. */
import type { Comparison } from './run.js'

const CELL_MAX = 160

export function tableOf({ peer, asked, differences }: Comparison): string {
  const explained = differences.filter(({ reason }) => reason !== undefined).length
  const lines = [
    `${asked} questions to the sandbox and to ${peer}: ${differences.length} differences, ${explained} with a reason.`,
    '',
    '| question | the sandbox | the node | why it may differ |',
    '|---|---|---|---|',
    ...differences.map(({ question, ours, theirs, reason }) => {
      const [mine, other] = apart(ours, theirs)
      return `| ${cell(question)} | ${cell(mine)} | ${cell(other)} | ${reason ?? '**no reason**'} |`
    }),
  ]
  return `${lines.join('\n')}\n`
}

export function pageOf(result: Comparison, now: Date): string {
  const rounds = result.isInDevelopment ? 'in development mode' : 'with rounds by the clock'
  return `# What the sandbox answers, and what a node answers

\`npm run conformance -- --algod <url> --token <t>\` makes the same accounts on the sandbox and on a real node, sends both the
same requests and groups, and compares their answers: status, type and every field. \`--write\` makes this page. It was made on
${now.toISOString().slice(0, 10)}, against ${result.peer} ${rounds}.

Two chains cannot have everything in common. So these are not compared: the values of rounds and times, ids, hashes and
signatures, the number of the asset and its creator, the accounts of fees and rewards, the stake, a block's bonus, load and
counters, the transaction that go-algorand prints in a refusal, and the position in a decoding error. That each is there is
compared.

${tableOf(result)}
What the sandbox does not do on top of that: consensus (forks, agreement, rewards), other assets than USDC, applications and
programs, and the past. On a network a payment often lands a round later than in the sandbox.
`
}

/** The node's answers, a line each, so that a test can ask the sandbox the same. */
export function recordOf({ peer, answered }: Comparison, seed: string): string {
  const lines = [...answered].map(([name, told]) => `    ${JSON.stringify(name)}: ${JSON.stringify(told)}`)
  const head = `  "peer": ${JSON.stringify(peer)},\n  "seed": ${JSON.stringify(seed)},\n`
  return `{\n${head}  "answers": {\n${lines.join(',\n')}\n  }\n}\n`
}

/** Only the parts that differ. */
function apart(ours: unknown, theirs: unknown): [string, string] {
  const [a, b] = [new Map(leaves(ours, '')), new Map(leaves(theirs, ''))]
  const only = (from: Map<string, string>, other: Map<string, string>) =>
    [...from]
      .filter(([path, value]) => other.get(path) !== value)
      .map(([path, value]) => `${path}: ${value}`)
      .join(', ') || 'without it'
  return [only(a, b), only(b, a)]
}

function leaves(value: unknown, path: string): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[path, JSON.stringify(value)]]
  const entries = Object.entries(value)
  if (entries.length === 0) return [[path, JSON.stringify(value)]]
  return entries.flatMap(([key, each]) => leaves(each, path === '' ? key : `${path}.${key}`))
}

function cell(text: string): string {
  const line = text.replaceAll('\n', ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;')
  return line.length > CELL_MAX ? `${line.slice(0, CELL_MAX)}…` : line
}
