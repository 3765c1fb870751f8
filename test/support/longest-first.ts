/**
 * The order of the test files: within a project the longest start first, by the seconds in `test/file-seconds.json`. Without a
 * cache of its own, vitest sorts by size, and some of the longest files are small: they then run alone at the end.
 */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import seconds from '../file-seconds.json' with { type: 'json' }

/** A file that was never measured starts first. */
const secondsOf = (path: string) =>
  (seconds as Readonly<Record<string, number>>)[path] ?? Number.POSITIVE_INFINITY

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    // Projects stay together, in vitest's order: a worker that files share ends where the next file is of another project.
    const projects = [...new Set(sorted.map(({ project }) => project))]
    return sorted.sort(
      (a, b) =>
        projects.indexOf(a.project) - projects.indexOf(b.project) ||
        compare(secondsOf(this.#path(b)), secondsOf(this.#path(a))),
    )
  }

  #path({ moduleId }: TestSpecification): string {
    return relative(this.ctx.config.root, moduleId).replaceAll('\\', '/')
  }
}

/** Infinity minus Infinity is no number. */
const compare = (a: number, b: number) => (a < b ? -1 : Number(a > b))
