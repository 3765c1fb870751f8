/** The benchmarks are run by hand: here each of their modules is loaded, and a row is measured for a moment. */
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

const bench = (...args: string[]) =>
  spawnSync(process.execPath, ['proof/bench/run.mjs', ...args], { encoding: 'utf8', timeout: 60_000 })

describe('npm run bench', () => {
  it('names its rows where one is not known', () => {
    const { status, stderr } = bench('--row', 'none')
    expect(stderr).toMatch(/^no row is named none; there are unpaid, paid, /)
    expect(status).toBe(1)
  })

  it('measures a row, and prints it as a table', () => {
    const { status, stdout, stderr } = bench('--row', 'walking', '--rounds', '1')
    expect({ status, stderr }).toEqual({ status: 0, stderr: 'walking\n' })
    expect(stdout).toMatch(/\| ours: run\(\) over the table, async effects \|/)
  })
})
