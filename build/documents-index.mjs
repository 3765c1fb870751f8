/** What docs/README.md says of the documents: each page's kind. It is the only list of pages, for the site and for llms.txt. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8')

/** By file: the heading under which the index names it. A page that it does not name is of the README in or above its folder. */
export function kindsOfDocuments() {
  const kinds = new Map()
  let kind = ''
  for (const line of index.split('\n')) {
    kind = /^## (.+)$/.exec(line)?.[1] ?? kind
    const file = /^- \[[^\]]+\]\(([^)]+\.md)\)/.exec(line)?.[1]
    if (file && !file.startsWith('api/')) kinds.set(`docs/${file}`, kind)
  }
  const others = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .map(file => `docs/${file}`)
    .filter(file => file.endsWith('.md') && !file.startsWith('docs/api/') && !kinds.has(file))
    .filter(file => file !== 'docs/README.md')
  for (const file of others.sort()) {
    let folder = dirname(file)
    while (folder !== 'docs' && !kinds.has(`${folder}/README.md`)) folder = dirname(folder)
    const above = kinds.get(`${folder}/README.md`)
    if (above === undefined) throw new Error(`docs/README.md does not name ${file}`)
    kinds.set(file, above)
  }
  return kinds
}

/** The index as llmstxt.org has it. `link` makes an address of a page's path under docs. */
export function llmsText(link) {
  const lists = index
    .slice(index.indexOf('\n## ') + 1)
    .replaceAll(/\]\(([^):]+)\)/g, (_, path) => `](${link(path)})`)
  return `# @svc/sdk

> A TypeScript SDK, server and command line that sells HTTP endpoints per request in USDC on Algorand over x402 version 2, and buys them.

An unpaid call is answered with 402 and a quote. A failure is never charged. After an unclear answer, never pay again before the chain was asked: every error has a code, and its cure.

${lists}`
}
