/** Counts the words of the published pages that people write: README.md, and what under docs is not made by a program. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { kindsOfDocuments, ROOT } from './documents-index.mjs'

/** Made by `npm run docs` and `npm run draw`, which say so on each page. */
const isMade = text => /\b(?:made|[Ww]ritten) by `npm run (?:docs|draw)`/.test(text)

/** By page: its words. What stands between the lines of a code block counts too. */
export function wordsByHand() {
  const pages = ['README.md', 'docs/README.md', ...kindsOfDocuments().keys()].map(page => [
    page,
    readFileSync(join(ROOT, page), 'utf8'),
  ])
  return pages
    .filter(([, text]) => !isMade(text))
    .map(([page, text]) => [page, text.split(/\s+/).filter(Boolean).length])
}

if (import.meta.filename === process.argv[1]) {
  const pages = wordsByHand().sort(([, a], [, b]) => b - a)
  for (const [page, words] of pages) console.log(`${words}`.padStart(6), page)
  console.log(`${pages.reduce((sum, [, words]) => sum + words, 0)}`.padStart(6), 'in all')
}
