/** The shape of the source: which way imports point, where a state's name may be read, how long and how named files are. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LINES_MAX = 250

/** Files over `LINES_MAX`, each with the reason why it is not two. */
const EXCUSED: Readonly<Record<string, string>> = {}

/** The two that give time and randomness to everybody; and one that yields a turn of the event loop, which is no time. */
const ADAPTERS_OF_THE_MACHINE = [
  'src/adapters/audit-page/browser/page-clock.ts',
  'src/adapters/outbound/undici-exchange.ts',
  'src/ports/clock.ts',
  'src/ports/random.ts',
]

interface Source {
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
}

interface Import {
  /** A path from the root, or a package's name. */
  readonly target: string
  readonly typeOnly: boolean
}

/** From the innermost layer outwards: a layer may import itself and what stands before it. */
const LAYERS = [
  ...['src/domain/', 'src/ports/', 'src/adapters/', 'src/app/', 'src/sandbox/', 'src/'],
  ...['cli/', 'agents/'],
]

/** The folders that the sandbox may import: it speaks and checks as Algorand does, and lists what facilitators list. */
const OF_THE_SANDBOX = [
  ...['src/sandbox/', 'src/domain/', 'src/ports/'],
  ...['src/adapters/algorand/', 'src/adapters/bazaar/'],
]

const sources = ['src', 'cli', 'agents'].flatMap(sourcesUnder)
const under = (folder: string) => sources.filter(({ path }) => path.startsWith(folder))

describe('imports', () => {
  it('are seen at all', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(200)
  })

  it('point inwards: domain <- ports <- adapters <- app <- sandbox <- doors <- cli, agents', () => {
    const outward = offences(
      sources,
      ({ path }, { target }) => isOurs(target) && layerOf(target) > layerOf(path),
    )
    expect(outward).toEqual([])
  })

  it('go round in no circle, types included', () => {
    const known = new Map(sources.map(source => [source.path, source.imports.map(({ target }) => target)]))
    const done = new Set<string>()
    const circles: string[] = []
    const visit = (path: string, above: readonly string[]): void => {
      if (above.includes(path)) circles.push([...above.slice(above.indexOf(path)), path].join(' -> '))
      if (done.has(path) || above.includes(path)) return
      for (const target of known.get(path) ?? []) visit(target, [...above, path])
      done.add(path)
    }
    for (const path of known.keys()) visit(path, [])
    expect(circles).toEqual([])
  })

  it('of the domain are xstate alone, besides types of JSON schemas', () => {
    const foreign = offences(under('src/domain/'), (_, { target, typeOnly }) => {
      return !isOurs(target) && target !== 'xstate' && !(typeOnly && target === 'json-schema-to-ts')
    })
    expect(foreign).toEqual([])
  })

  it('of the ports are ours', () => {
    expect(offences(under('src/ports/'), (_, { target }) => !isOurs(target))).toEqual([])
  })

  it('of an adapter never reach into another adapter’s folder, but for the platform', () => {
    const sideways = offences(under('src/adapters/'), ({ path }, { target }) => {
      const [from, to] = [adapterOf(path), adapterOf(target)]
      // The platform gathers those parts of its neighbours that are different in a browser.
      return to !== undefined && to !== from && from !== 'platform'
    })
    expect(sideways).toEqual([])
  })

  it('of the platform are by its name, which a bundler resolves to the browser’s', () => {
    const named = offences(sources, ({ path }, { target }) => {
      return target.startsWith('src/adapters/platform/') && adapterOf(path) !== 'platform'
    })
    expect(named).toEqual([])
  })

  it('of the sandbox reach the domain, the ports, Algorand’s adapter and the Bazaar’s', () => {
    const outward = offences(under('src/sandbox/'), (_, { target }) => {
      return isOurs(target) && !OF_THE_SANDBOX.some(folder => target.startsWith(folder))
    })
    expect(outward).toEqual([])
    expect(under('src/sandbox/').length).toBeGreaterThan(10)
  })

  it('of what users load never reach tests or the command line', () => {
    expect(offences(under('src/'), (_, { target }) => /^(test|cli|agents|proof)\//.test(target))).toEqual([])
  })
})

describe('source', () => {
  it('reads a drawn state’s name in the loop and nowhere else', () => {
    const readers = under('src/').filter(({ text }) =>
      /\bstate\s*[!=]==?\s*['"`]|\bswitch \(\S*state\)/.test(text),
    )
    expect(
      readers.map(({ path }) => path).filter(path => path !== 'src/domain/state-machine/run-machine.ts'),
    ).toEqual([])
  })

  it(`has no file of more than ${LINES_MAX} lines without a reason`, () => {
    const long = sources.filter(({ text }) => text.split('\n').length - 1 > LINES_MAX).map(({ path }) => path)
    expect(long.filter(path => !(path in EXCUSED))).toEqual([])
    expect(Object.keys(EXCUSED).filter(path => !long.includes(path))).toEqual([])
  })

  it('reads no clock, sets no timer and makes nothing random but by its ports', () => {
    const machine =
      /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bset(?:Timeout|Interval)\b|\bAbortSignal\.timeout\b|\bMath\.random\b|\brandom(?:UUID|Bytes|Int|FillSync)\b|\bgetRandomValues\b|\bcrypto\.randomUUID\b|timers\/promises/
    // The contract suites are tests, and wait for stores that they do not know.
    const written = under('src/').filter(({ path }) => !path.startsWith('src/testing/'))
    const users = written.filter(({ text }) => machine.test(withoutComments(text))).map(({ path }) => path)
    expect(users).toEqual(expect.arrayContaining(ADAPTERS_OF_THE_MACHINE))
    expect(users.filter(path => !ADAPTERS_OF_THE_MACHINE.includes(path))).toEqual([])
  })

  it('has no file that is named after nothing', () => {
    const nameless = /(^|[/.-])(utils?|helpers?|common|misc|managers?)([/.-]|$)/i
    expect(sources.map(({ path }) => path).filter(path => nameless.test(path))).toEqual([])
  })
})

function sourcesUnder(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => {
      const path = join(folder, file)
      const text = readFileSync(join(ROOT, path), 'utf8')
      return { path, text, imports: importsOf(path, text) }
    })
}

/** Static, re-exporting, side-effect and dynamic imports. */
function importsOf(path: string, text: string): Import[] {
  const found = text.matchAll(
    /^(?:import|export)\s+(type\s)?[^'"`;]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
  )
  return Array.from(found, ([, type, from, effect, dynamic]) => {
    const target = (from ?? effect ?? dynamic)!
    return {
      target: target.startsWith('.') ? normalize(join(dirname(path), target)) : target,
      typeOnly: type !== undefined,
    }
  })
}

function offences(
  among: readonly Source[],
  offends: (source: Source, imported: Import) => boolean,
): string[] {
  return among.flatMap(source =>
    source.imports
      .filter(imported => offends(source, imported))
      .map(({ target }) => `${source.path} imports ${target}`),
  )
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
}

function isOurs(target: string): boolean {
  return LAYERS.some(layer => target.startsWith(layer))
}

function layerOf(path: string): number {
  return LAYERS.findIndex(layer => path.startsWith(layer))
}

function adapterOf(path: string): string | undefined {
  return /^src\/adapters\/([^/]+)\//.exec(path)?.[1]
}
