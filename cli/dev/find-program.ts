/** Finds the program that `svc dev` runs, and checks that this Node can run it. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { extname, relative, resolve } from 'node:path'
import { isRecord, SvcError } from '../../src/domain/index.js'
import { TYPESCRIPT_SINCE, typeScriptFlags } from '../package.js'

export interface Program {
  readonly path: string
  readonly shown: string
  readonly nodeFlags: readonly string[]
}

/** Look for sources before `main`: in a project that is built, `main` names the build's output. */
const PLACES = ['src/index', 'index', 'agent']
const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts'])

export function programAt(named: string | undefined): Program {
  const path = resolve(named ?? conventional())
  const shown = relative('', path)
  if (!isFile(path)) throw new SvcError(`There is no file ${shown}`, 'entry_not_found')
  if (!TYPESCRIPT.has(extname(path))) return { path, shown, nodeFlags: [] }
  const nodeFlags = typeScriptFlags()
  if (nodeFlags) return { path, shown, nodeFlags }
  throw new SvcError(
    `${shown} is TypeScript, which Node ${process.versions.node} does not run: use Node ${TYPESCRIPT_SINCE} or ` +
      'newer, or build it and name the .js file',
    'typescript_unsupported',
  )
}

function conventional(): string {
  const candidates = PLACES.flatMap(place => EXTENSIONS.map(extension => place + extension))
  const found = candidates.find(isFile) ?? mainOf('package.json')
  if (found !== undefined) return found
  const places = PLACES.map(place => `${place}.ts`).join(', ')
  throw new SvcError(
    `No entry here: name one, or have ${places} (or .js), or "main" in package.json`,
    'entry_not_found',
  )
}

function mainOf(manifestPath: string): string | undefined {
  if (!isFile(manifestPath)) return undefined
  try {
    const value: unknown = JSON.parse(readFileSync(manifestPath, 'utf8'))
    return isRecord(value) && typeof value.main === 'string' ? value.main : undefined
  } catch {
    throw new SvcError('package.json is not JSON', 'entry_not_found')
  }
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile()
}
