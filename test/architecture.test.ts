/** The shape of the source: which way imports point, where a state's name may be read, how long and how named files are. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { SCOPES } from '../proof/mutation/scopes.mjs'
import { OPTIONS } from '../src/app/server/options/server-options.js'
import { chargeTable } from '../src/domain/machines/charge.machine.js'
import { optionNames } from '../src/domain/option-checks.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LINES_MAX = 250

/**
 * How much there is. It may become less, and no more: where it falls by more than two of a hundred, its number here is lowered to
 * it. The comments say what is aimed at.
 */
const BOUNDS = {
  'lines of the core': 29_044, // 23,000
  'files of the core': 246, // 270
  'lines of src and cli': 51_028, // 40,000
  'lines of agents, templates and create': 2_204,
  'files of src/ports': 18, // 18
  'states of a charge': 16,
  'ends of a charge': 26,
  'arrows of a charge': 97,
  // `clientAddress` is one of them, which `serve` alone does not have.
  'options of a server': 33,
  'options of a server at all levels': 90,
  'files that a paid request reaches': 74, // 80
  'inner files of src that cli imports': 12, // 12
  'dependencies of the charge': 15, // 16
  'fields and parts of the call record': 16, // 24
  'fields of the call record, those of its parts counted': 39, // 24
  'inner files of src that the simulation imports': 3, // 25
} satisfies Record<string, number>

/** Files over `LINES_MAX`, each with the reason why it is not two. */
const EXCUSED: Readonly<Record<string, string>> = {}

/** The two that give time and randomness to everybody; and one that yields a turn of the event loop, which is no time. */
const ADAPTERS_OF_THE_MACHINE = [
  'src/audit/page/browser/page-clock.ts',
  'src/adapters/outbound/undici-exchange.ts',
  'src/ports/clock.ts',
  'src/ports/random.ts',
]

/** What a seller or a buyer loads. */
const CORE = ['src/domain', 'src/ports', 'src/adapters', 'src/app']

const CALL_RECORD = 'src/app/charge/call-at-work.ts'
const PARTS_OF_A_CALL = [
  ...['PresentedPayment', 'Holds', 'CallsWindow', 'CallTerms'],
  ...['Handled', 'EarlierCall', 'CallEnd'],
]

/** Where a request comes in, and where it is charged: neither imports the other. */
const REQUEST_PATH = ['src/adapters/http/koa-host.ts', 'src/app/charge/walk-charge-machine.ts']

interface Source {
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
}

interface Import {
  /** The path of a source from the root, or a package's name. */
  readonly target: string
  readonly typeOnly: boolean
  /** Loaded when the code gets there, not with the file. */
  readonly dynamic: boolean
}

/** From the innermost layer outwards: a layer may import itself and what stands before it. */
const LAYERS = [
  ...['src/domain/', 'src/ports/', 'src/adapters/', 'src/app/'],
  // The rooms beside the core.
  ...['src/gate/', 'src/bazaar/'],
  ...['src/registry/', 'src/facilitator/', 'src/audit/', 'src/sandbox/', 'src/testing/'],
  ...['src/wallet/', 'src/checks/', 'src/localnet/', 'src/trigger/', 'src/mcp-buyer/'],
  ...['src/', 'cli/', 'agents/'],
]

/** The folders that the sandbox may import: it speaks and checks as Algorand and facilitators do, and lists what they list. */
const OF_THE_SANDBOX = [
  ...['src/sandbox/', 'src/domain/', 'src/ports/'],
  ...[
    'src/adapters/algorand/',
    'src/facilitator/official-group-checks.ts',
    'src/facilitator/remembered-checks.ts',
    'src/facilitator/bazaar-index.ts',
  ],
  'src/facilitator/x402-answers.ts',
  'src/registry/encode-boxes.ts',
]

const sources = ['src', 'cli', 'agents'].flatMap(sourcesUnder)
const under = (folder: string) => sources.filter(({ path }) => path.startsWith(folder))

describe('imports', () => {
  it('are seen at all', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(200)
  })

  it('point inwards: domain <- ports <- adapters <- app <- the rooms beside them <- doors <- cli, agents', () => {
    const outward = offences(
      sources,
      ({ path }, { target }) => isOurs(target) && layerOf(target) > layerOf(path),
    )
    expect(outward).toEqual([])
  })

  it('go round in no circle, types included', () => {
    const known = new Map(sources.map(({ path, imports }) => [path, imports.map(fileOf)]))
    const found = [...known.values()].flat().filter(target => known.has(target))
    expect(found.length, 'imports of files that are here').toBeGreaterThan(1_000)
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
    // The contract suites are tests, and wait for stores that they do not know. What the page is bundled from is here by itself.
    const written = under('src/').filter(
      ({ path }) => !path.startsWith('src/testing/') && !path.endsWith('.generated.ts'),
    )
    const users = written.filter(({ text }) => machine.test(withoutComments(text))).map(({ path }) => path)
    expect(users).toEqual(expect.arrayContaining(ADAPTERS_OF_THE_MACHINE))
    expect(users.filter(path => !ADAPTERS_OF_THE_MACHINE.includes(path))).toEqual([])
  })

  it('assigns no function literal to a property, which would keep whole calls in memory', () => {
    // V8 makes `object.name = () => …` in the old generation. There it lies until the next full collection, and with it all that it can
    // reach: a fifth of what calls in a window left behind, and a third of their CPU. By way of a variable it is made young.
    const assigned =
      /[\w)\]]\.#?\w+ (?:\?\?|\|\|)?= (?:async )?(?:function\b|\w+ =>|\((?:[^()]|\([^()]*\))*\)(?:: [^=]+)? =>)/
    const found = under('src/')
      .filter(({ text }) => assigned.test(withoutComments(text)))
      .map(({ path }) => path)
    // Scripts for browsers, and what stands in for Node there.
    const inBrowsers = /^src\/(adapters\/(http\/html-template|platform\/browser)\.ts|audit\/page\/)/
    expect(found.filter(path => !inBrowsers.test(path))).toEqual([])
  })

  it('is mutated by the names that it has, against tests by theirs', () => {
    const known = ['src', 'test', 'proof'].flatMap(filesUnder)
    const scopes: { readonly mutate?: readonly string[]; readonly tests: readonly string[] }[] =
      Object.values(SCOPES)
    const names = scopes
      .flatMap(({ mutate = [], tests }) => [...mutate, ...tests])
      .flatMap(pattern => {
        const [, before, list = '', after = ''] = /^([^{]*)(?:\{(.*)\}(.*))?$/.exec(pattern)!
        return list.split(',').map(each => before + each + after)
      })
    const named = (name: string) =>
      new RegExp(`^${name.replaceAll('.', String.raw`\.`).replace('*', '[^/]*')}$`)
    expect(names.length).toBeGreaterThan(50)
    expect(names.filter(name => !known.some(path => named(name).test(path)))).toEqual([])
  })

  it('has no file that is named after nothing', () => {
    const nameless = /(^|[/.-])(utils?|helpers?|common|misc|managers?)([/.-]|$)/i
    expect(sources.map(({ path }) => path).filter(path => nameless.test(path))).toEqual([])
  })
})

describe('the size', () => {
  it('of nothing grows, and what has shrunk stays so', () => {
    const states = Object.values(chargeTable.rows)
    const measured: Readonly<Record<keyof typeof BOUNDS, number>> = {
      'lines of the core': linesOf(CORE.flatMap(filesUnder)),
      'files of the core': CORE.flatMap(filesUnder).length,
      'lines of src and cli': linesOf(['src', 'cli'].flatMap(filesUnder)),
      'lines of agents, templates and create': linesOf(
        ['agents', 'templates', 'create'].flatMap(programsUnder),
      ),
      'files of src/ports': filesUnder('src/ports').length,
      'states of a charge': states.filter(({ final }) => !final).length,
      'ends of a charge': states.filter(({ final }) => final).length,
      'arrows of a charge': states.flatMap(({ on }) => Object.keys(on)).length,
      'options of a server': Object.keys(OPTIONS).length,
      'options of a server at all levels': optionNames(OPTIONS).length,
      'files that a paid request reaches': loadedWith(REQUEST_PATH).size,
      'dependencies of the charge': fieldsOf('src/app/charge/charge-deps.ts', 'ChargeDeps'),
      'fields and parts of the call record': fieldsOf(CALL_RECORD, 'Call'),
      'fields of the call record, those of its parts counted':
        fieldsOf(CALL_RECORD, 'Call') +
        PARTS_OF_A_CALL.reduce((sum, part) => sum + fieldsOf(CALL_RECORD, part) - 1, 0),
      'inner files of src that cli imports': innerFilesThat(under('cli/')).size,
      'inner files of src that the simulation imports': innerFilesThat(sourcesUnder('proof/simulation')).size,
    }
    const wrong = Object.entries(BOUNDS).flatMap(([what, bound]) => {
      const count = measured[what as keyof typeof BOUNDS]
      if (count > bound) return [`${what}: ${count}, which is over the bound of ${bound}`]
      return count < bound * 0.98 ? [`${what}: ${count}; lower the bound from ${bound}`] : []
    })
    expect(wrong).toEqual([])
  })
})

/** How many fields an interface has, by its text. */
function fieldsOf(path: string, name: string): number {
  const [, body] = new RegExp(`^(?:export )?interface ${name} \\{\\n(.*?)^\\}`, 'ms').exec(
    readFileSync(join(ROOT, path), 'utf8'),
  )!
  return body!.match(/^ {2}(?:readonly )?\w+\??:/gm)!.length
}

function filesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)))
}

function programsUnder(folder: string): string[] {
  return filesUnder(folder).filter(path => /\.m?ts$|\.mjs$/.test(path) && !path.includes('/test/'))
}

function linesOf(paths: readonly string[]): number {
  return paths.reduce(
    (lines, path) => lines + readFileSync(join(ROOT, path), 'utf8').split('\n').length - 1,
    0,
  )
}

/** All that is loaded with these files: what they import statically, and not for its types alone. */
function loadedWith(paths: readonly string[]): ReadonlySet<string> {
  const loaded = new Set(paths)
  // A set that grows while it is walked is walked to its new end.
  for (const path of loaded)
    for (const imported of sources.find(source => source.path === path)?.imports ?? [])
      if (!imported.typeOnly && !imported.dynamic && isOurs(fileOf(imported))) loaded.add(fileOf(imported))
  return loaded
}

/** Each file counts once, however many import it, and for its types alone as well. `src/*.ts` are what packages import. */
function innerFilesThat(importers: readonly Source[]): ReadonlySet<string> {
  const targets = importers.flatMap(({ imports }) => imports.map(fileOf))
  return new Set(targets.filter(target => /^src\/.+\//.test(target)))
}

function sourcesUnder(folder: string): Source[] {
  return filesUnder(folder)
    .filter(path => path.endsWith('.ts'))
    .map(path => {
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
      target: target.startsWith('.')
        ? normalize(join(dirname(path), target)).replace(/\.js$/, '.ts')
        : target,
      typeOnly: type !== undefined,
      dynamic: dynamic !== undefined,
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

/** Where an import leads on Node. */
function fileOf({ target }: Import): string {
  return target === '#platform' ? 'src/adapters/platform/node.ts' : target
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
