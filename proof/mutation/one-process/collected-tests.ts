/** In place of vitest: keeps the tests that a file defines, so that they can be run again and again. */
import { format } from 'node:util'

export * from 'vitest'

type Body = (...given: never[]) => unknown

export interface Suite {
  readonly name: string
  readonly file: string
  readonly members: (Suite | Test)[]
  readonly hooks: Readonly<Record<'beforeAll' | 'afterAll' | 'beforeEach' | 'afterEach', Body[]>>
}

export interface Test {
  readonly id: string
  readonly body: Body
}

const suiteOf = (name: string, file: string): Suite => ({
  name,
  file,
  members: [],
  hooks: { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] },
})

let current = suiteOf('', '')
const ids = new Map<string, number>()

/** All that the files define, a suite each. */
export async function collect(files: readonly string[]): Promise<Suite[]> {
  const suites = []
  for (const file of files) {
    current = suiteOf('', file)
    suites.push(current)
    await import(/* @vite-ignore */ file)
  }
  return suites
}

function define(title: string, body: Body): void {
  const name = `${current.file}#${current.name} ${title}`
  const known = ids.get(name) ?? 0
  ids.set(name, known + 1)
  current.members.push({ id: known === 0 ? name : `${name} (${known})`, body })
}

function nest(title: string, body: Body): void {
  const outer = current
  current = suiteOf(`${outer.name} ${title}`, outer.file)
  outer.members.push(current)
  ;(body as () => void)()
  current = outer
}

/** Options that stand between the title and the body, or behind both, are of time: Stryker has its own. */
function withEach(take: (title: string, body: Body) => void) {
  const one = (title: string, ...rest: unknown[]) =>
    take(title, rest.find(each => typeof each === 'function') as Body)
  const each =
    (rows: readonly unknown[]) =>
    (title: string, ...rest: unknown[]) => {
      const body = rest.find(each => typeof each === 'function') as (...given: unknown[]) => unknown
      rows.forEach((row, at) => {
        const given = Array.isArray(row) ? row : [row]
        take(`${format(title.replaceAll('%#', String(at)), ...given.map(String))}`, () => body(...given))
      })
    }
  return Object.assign(one, { each })
}

export const it = withEach(define)
export const test = it
export const describe = withEach(nest)
export const beforeAll = (body: Body) => void current.hooks.beforeAll.push(body)
export const afterAll = (body: Body) => void current.hooks.afterAll.push(body)
export const beforeEach = (body: Body) => void current.hooks.beforeEach.push(body)
export const afterEach = (body: Body) => void current.hooks.afterEach.push(body)
