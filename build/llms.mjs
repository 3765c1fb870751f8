/** `npm run docs:llms`: writes llms.txt, the index of documents for language models. A test fails while it is stale. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { llmsText, ROOT } from './documents-index.mjs'

writeFileSync(
  join(ROOT, 'llms.txt'),
  llmsText(path => `docs/${path}`),
)
