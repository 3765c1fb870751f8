/** Reads Prometheus' text format (0.0.4) strictly: whatever a scraper could stumble over is an error here. */

export interface Family {
  readonly type: string
  readonly help: string
  readonly samples: readonly Sample[]
}

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const META = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y
/** What Go's ParseFloat reads: it takes NaN in any case, and prom-client writes `Nan`. */
const NUMBER = /^(?:[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?)|[+-]Inf|nan)$/i
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
}

export function parsePrometheus(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const families = new Map<string, { type: string; help: string; samples: Sample[] }>()
  const seen = new Set<string>()
  let current = ''
  for (const line of text.split('\n')) {
    if (line === '') continue
    const meta = META.exec(line)
    if (meta) {
      const [, keyword, name, rest] = meta as unknown as [string, string, string, string]
      if (keyword === 'HELP') {
        if (families.has(name)) throw new Error(`${name} comes twice`)
        families.set(name, { type: '', help: rest, samples: [] })
        current = name
      } else {
        const family = families.get(name)
        if (!family || name !== current || family.type || !(rest in SUFFIXES)) throw new Error(`bad: ${line}`)
        family.type = rest
      }
      continue
    }
    const sample = sampleIn(line)
    const family = families.get(current)
    const names = family && SUFFIXES[family.type]?.map(suffix => current + suffix)
    if (!family || !names?.includes(sample.name)) throw new Error(`out of place: ${line}`)
    const series = sample.name + JSON.stringify(sample.labels)
    if (seen.has(series)) throw new Error(`a series comes twice: ${line}`)
    seen.add(series)
    family.samples.push(sample)
  }
  for (const [name, family] of families) lint(name, family)
  return families
}

/** What `promtool check metrics` would say. */
function lint(name: string, { type, help }: Family): void {
  if (type === '' || help.trim() === '') throw new Error(`${name} has no type or no help`)
  if ((type === 'counter') !== name.endsWith('_total')) throw new Error(`${name} is misnamed for a ${type}`)
}

function sampleIn(line: string): Sample {
  const match = SAMPLE.exec(line)
  if (!match || !NUMBER.test(match[3]!)) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  const list = match[2] ?? ''
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < list.length) {
    const label = LABEL.exec(list)
    if (!label || label[1]! in labels) throw new Error(`bad labels: ${line}`)
    labels[label[1]!] = label[2]!
  }
  return { name: match[1]!, labels, value: Number(match[3]!.replace('Inf', 'Infinity')) }
}
