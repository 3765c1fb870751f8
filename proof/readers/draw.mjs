// Draws lines for a reading, and the tree in which readers place them: `node proof/readers/draw.mjs <seed> <folder>`.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const LINES = 24
/** Fewer say nothing: `let closed = false`, `return result`. */
const WORDS_MIN = 4
/** Words that stand in more files than this share of all name no place: `settings`, `payment`, `async`. */
const RARE_SHARE = 0.1
const RARE_MIN = 2

const [seed, folder] = process.argv.slice(2)
if (folder === undefined || !/^\d+$/.test(seed)) {
  console.error('usage: node proof/readers/draw.mjs <seed> <folder>')
  process.exit(2)
}

const files = ['cli', 'src'].flatMap(root =>
  readdirSync(root, { recursive: true })
    .map(name => join(root, name))
    .filter(path => path.endsWith('.ts') && !path.endsWith('.generated.ts')),
)
files.sort()

/** The language's own: `const`, `string`. */
const KEYWORDS = new Set(
  Object.entries(ts.SyntaxKind)
    .filter(([, kind]) => kind >= ts.SyntaxKind.FirstKeyword && kind <= ts.SyntaxKind.LastKeyword)
    .map(([name]) => name.replace(/Keyword$/, '').toLowerCase()),
)

/** The words of the names and texts of a line, once each: `onBalance` has one, since `on` is too short. */
function wordsIn(text) {
  const found = (text.match(/[A-Za-z][a-z]{2,}|[A-Z]{3,}/g) ?? []).map(word => word.toLowerCase())
  return new Set(found.filter(word => !KEYWORDS.has(word)))
}

/** The first lines of what stands by itself: statements, and members of types, classes and objects. No comment, no import. */
function beginningsIn(path, text) {
  const lines = text.split('\n')
  const found = new Set()
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  const visit = node => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return
    const standsAlone =
      (ts.isStatement(node) && !ts.isBlock(node)) ||
      ts.isTypeElement(node) ||
      ts.isClassElement(node) ||
      ts.isPropertyAssignment(node)
    const at = node.getStart(source)
    const { line } = source.getLineAndCharacterOfPosition(at)
    const isFirstOfLine = text.slice(source.getPositionOfLineAndCharacter(line, 0), at).trim() === ''
    if (standsAlone && isFirstOfLine) found.add(lines[line].trim())
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const texts = new Map(files.map(path => [path, readFileSync(path, 'utf8')]))
const holders = new Map()
for (const text of texts.values())
  for (const word of wordsIn(text)) holders.set(word, (holders.get(word) ?? 0) + 1)
const saysSomething = line => {
  const words = [...wordsIn(line)]
  const rare = words.filter(word => holders.get(word) <= files.length * RARE_SHARE)
  return words.length >= WORDS_MIN && rare.length >= RARE_MIN
}

const all = files.flatMap(path => [...beginningsIn(path, texts.get(path))].map(line => ({ path, line })))
// A line that stands in two files has two right places.
const counts = new Map()
for (const { line } of all) counts.set(line, (counts.get(line) ?? 0) + 1)
const drawable = all.filter(({ line }) => counts.get(line) === 1 && saysSomething(line))

/** Mulberry32. */
let state = Number(seed)
function chance() {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

const drawn = []
while (drawn.length < LINES) drawn.push(...drawable.splice(Math.floor(chance() * drawable.length), 1))

const numbered = show => `${drawn.map((each, at) => `${at + 1}. ${show(each)}`).join('\n')}\n`
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'tree.txt'), `${files.join('\n')}\n`)
writeFileSync(
  join(folder, 'lines.txt'),
  numbered(({ line }) => line),
)
writeFileSync(
  join(folder, 'answers.txt'),
  numbered(({ path, line }) => `${path}: ${line}`),
)
console.log(
  `${drawn.length} of ${drawn.length + drawable.length} lines that say something, of ${all.length}, in ${files.length} files`,
)
