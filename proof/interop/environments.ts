/**
 * The virtual environments of the suite, one for each set of packages that can be installed together. A file of pins is
 * installed as it is, without anything that it does not name, into the ignored `node_modules/.cache`, once for its content.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const ENVIRONMENTS = ['current', 'older', 'a2a-extension', 'a2a-extension-x402-2'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

const HERE = fileURLToPath(new URL('.', import.meta.url))
const CACHE = join(HERE, '../..', 'node_modules', '.cache', 'svc-interop')
const PYTHON = process.env.SVC_PYTHON ?? 'python3'
const PYTHON_MIN = [3, 11]

export async function pinsOf(environment: Environment): Promise<string> {
  return readFile(join(HERE, 'python', 'environments', `${environment}.txt`), 'utf8')
}

/** The environment's interpreter. It exists once the suite has begun. */
export async function pythonOf(environment: Environment): Promise<string> {
  return join(await folderOf(environment), 'bin', 'python')
}

/** vitest's global setup: whatever is missing here ends the suite, instead of leaving a test out. */
export async function setup(): Promise<void> {
  for (const environment of ENVIRONMENTS) await install(environment)
}

async function install(environment: Environment): Promise<void> {
  const folder = await folderOf(environment)
  const complete = join(folder, 'complete')
  if (await exists(complete)) return
  await rm(folder, { recursive: true, force: true })
  await run(PYTHON, ['-m', 'venv', folder])
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--no-input']
  const pins = join(HERE, 'python', 'environments', `${environment}.txt`)
  const python = join(folder, 'bin', 'python')
  await run(python, [...pip, 'install', '--quiet', '--no-deps', '--only-binary', ':all:', '-r', pins])
  await run(python, [...pip, 'check'])
  await writeFile(complete, '')
}

async function folderOf(environment: Environment): Promise<string> {
  const content = createHash('sha256')
    .update(await version())
    .update(await pinsOf(environment))
  return join(CACHE, `${environment}-${content.digest('hex').slice(0, 12)}`)
}

let known: Promise<string> | undefined

function version(): Promise<string> {
  known ??= askedVersion()
  return known
}

async function askedVersion(): Promise<string> {
  const { stdout } = await run(PYTHON, ['-c', 'import sys; print(*sys.version_info[:3])']).catch(() => {
    throw new Error(`The suite needs Python: ${PYTHON} does not run. SVC_PYTHON names another interpreter`)
  })
  const [major = 0, minor = 0] = stdout.trim().split(' ').map(Number)
  if (major === PYTHON_MIN[0] && minor >= PYTHON_MIN[1]!) return stdout.trim()
  throw new Error(`The suite needs Python ${PYTHON_MIN.join('.')} or newer; ${PYTHON} is ${major}.${minor}`)
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
