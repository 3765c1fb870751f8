/** How little the command line loads before it knows what it is asked for. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ROOT } from './project-folder.js'

const LISTER = join(ROOT, 'test/client/loaded-modules.mjs')
/** Runs the command line as if it were the program: the lister's own argument is not an argument of it. */
const MAIN = join(ROOT, 'dist/cli/main.js')
const AS_PROGRAM = `data:text/javascript,process.argv.splice(2, 1); await import('${pathToFileURL(MAIN)}')`
const HEAVY = /\/node_modules\/(algosdk|koa|undici|ajv|ioredis|xstate|@modelcontextprotocol)\//

describe('loads nothing that only its work needs', () => {
  const asked = [
    '--version',
    'init --help',
    'dev --help',
    'doctor --help',
    'sandbox --help',
    'quote --help',
    'call --help',
  ]
  for (const args of asked) {
    it(`svc ${args}`, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [LISTER, AS_PROGRAM, ...args.split(' ')])
      const loaded = stdout.split('\n').filter(line => /^(file|node):/.test(line))
      expect(loaded.some(url => url.includes('/commander/'))).toBe(true)
      expect(loaded.filter(url => HEAVY.test(url))).toEqual([])
    })
  }
})
