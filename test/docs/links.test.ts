/** Every link between the documents leads to a file that is there, and to a heading or an anchor in it. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { wordsByHand } from '../../build/count-words.mjs'
import { kindsOfDocuments, llmsText } from '../../build/documents-index.mjs'
import { ROOT } from '../cli/project-folder.js'

const run = promisify(execFile)

const documents = [
  ...readdirSync(ROOT).filter(file => file.endsWith('.md')),
  ...['docs', 'proof', 'templates'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.md') && !file.includes('node_modules'))
      .map(file => join(folder, file)),
  ),
]

const textOf = (file: string) =>
  readFileSync(join(ROOT, file), 'utf8').replace(/^( *)```[\s\S]*?^\1```$/gm, '')

const FOREIGN = /^[a-z]+:/

function linksIn(file: string): string[] {
  const prose = textOf(file).replace(/`[^`\n]*`/g, 'code')
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(([, to]) => to!).filter(to => !FOREIGN.test(to))
}

/** As GitHub makes them of headings: lower case, no punctuation, a number behind what was there before. */
function anchorsIn(file: string): Set<string> {
  const text = textOf(file)
  const anchors = new Set([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!))
  const seen = new Map<string, number>()
  for (const [, heading] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const slug = plain.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    anchors.add(times === 0 ? slug : `${slug}-${times}`)
  }
  return anchors
}

const anchorsOf = new Map<string, Set<string>>()

function leadsSomewhere(from: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? from : join(dirname(from), decodeURI(path))
  if (!existsSync(join(ROOT, file))) return false
  if (anchor === undefined || !file.endsWith('.md')) return true
  if (!anchorsOf.has(file)) anchorsOf.set(file, anchorsIn(file))
  return anchorsOf.get(file)!.has(decodeURI(anchor))
}

it('links are found', () => {
  expect(documents.length).toBeGreaterThan(20)
  expect(linksIn('README.md').length).toBeGreaterThan(10)
  expect(linksIn(join('docs/api', 'client.md')).length).toBeGreaterThan(100)
})

it('every link leads somewhere', () => {
  const dead = documents.flatMap(file =>
    [...new Set(linksIn(file))].filter(link => !leadsSomewhere(file, link)).map(link => `${file}: ${link}`),
  )
  expect(dead).toEqual([])
})

/** Of the package, these alone name tests and sources, which are in the repository; and no package has the pictures. */
const MAY_NAME_SOURCES = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'proof/']

it('every link of the packed documents leads to what is packed', async () => {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: ROOT })
  const [{ files }] = JSON.parse(stdout) as [{ files: readonly { path: string }[] }]
  const packed = files.map(({ path }) => path)
  const isPacked = (path: string) => packed.some(file => file === path || file.startsWith(join(path, '/')))
  const pages = packed.filter(
    file => /^[^/]*\.txt$|\.md$/.test(file) && !MAY_NAME_SOURCES.some(name => file.startsWith(name)),
  )
  expect(pages.length).toBeGreaterThan(40)
  const outside = pages.flatMap(page =>
    [...new Set(linksIn(page))]
      .filter(link => !link.startsWith('#'))
      .map(link => join(dirname(page), decodeURI(link.split('#')[0]!)))
      .filter(path => !path.startsWith('docs/pictures/') && !isPacked(path))
      .map(path => `${page}: ${path}`),
  )
  expect(outside).toEqual([])
})

it('every script that the documents name is one of package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }
  // A template's documents name its own.
  const ours = documents.filter(file => !file.startsWith('templates'))
  const named = ours.flatMap(file =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\bnpm run ([a-z:-]+)/g)].map(([, name]) => ({
      file,
      name: name!,
    })),
  )
  expect(named.length).toBeGreaterThan(20)
  // `npm run dev` is of what `svc init` makes.
  const missing = named.filter(({ name }) => name !== 'dev' && !Object.hasOwn(scripts, name))
  expect(missing).toEqual([])
})

it('the index has every page, and llms.txt is made of it: `npm run docs:llms`', () => {
  expect(kindsOfDocuments().size).toBeGreaterThan(30)
  const written = readFileSync(join(ROOT, 'llms.txt'), 'utf8')
  expect(written).toBe(llmsText((path: string) => `docs/${path}`))
})

/** 26,800 are half of what there was once. What is added here takes the place of something else. */
const WORDS_MAX = 27_100

it('the documents that are written by hand do not grow', () => {
  expect(wordsByHand().reduce((sum, [, words]) => sum + words, 0)).toBeLessThan(WORDS_MAX)
})
