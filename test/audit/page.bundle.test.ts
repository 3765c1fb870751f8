/** What the page runs is what is written in src/audit/page/browser, today: `npm run draw` bundles it anew. */
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'

const SOURCES = 'src/audit/page/browser'
const GENERATED = '../../src/audit/page/page.generated.ts'

describe('the bundle of the audit page', () => {
  it('is not stale', async () => {
    const [script, style] = await Promise.all([bundled('main.ts'), bundled('page.css')])
    const text = [
      '/** Written by `npm run draw` from the folder `browser`: what the audit page runs and wears. Not to be edited. */',
      `export const SCRIPT: string = ${JSON.stringify(script)}`,
      `export const STYLE: string = ${JSON.stringify(style)}`,
      '',
    ].join('\n')
    await expect(text).toMatchFileSnapshot(GENERATED)
  })

  it('cannot end its own element early, wherever it stands in the page', async () => {
    const texts = await Promise.all([bundled('main.ts'), bundled('page.css')])
    for (const text of texts) expect(text).not.toMatch(/<\/(script|style)|<!--/i)
  })
})

async function bundled(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${SOURCES}/${entry}`],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    // Ours says nothing of the kind; the compiler's settings are not the page's.
    tsconfigRaw: {},
  })
  return outputFiles[0]!.text
}
