/** Runs a script that calls apt, one at a time in all test processes: two installations at once would refuse each other. */
import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))

/** @throws Error with apt's own words. */
export async function withApt(script: string, cwd = CACHE): Promise<void> {
  mkdirSync(cwd, { recursive: true })
  mkdirSync(CACHE, { recursive: true })
  const whole = `set -eu; export DEBIAN_FRONTEND=noninteractive; ${script}`
  await promisify(execFile)('flock', [join(CACHE, 'apt.lock'), 'sh', '-c', whole], { cwd })
}
