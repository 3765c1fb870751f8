/**
 * npm's `prepare`: compiles `dist` wherever npm installs the sources themselves, which is from a git URL, from a folder, and in a
 * clone. It runs nothing else.
 *
 * npm gives a git dependency its development dependencies first. A folder it only links: it installs nothing in it, so a fresh clone
 * has neither the compiler nor what the SDK itself needs. Those are installed here, as the lock file has them, without their scripts.
 */
import { execSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = command => execSync(command, { cwd: root, stdio: 'inherit' })

// A packed package has `dist` and no sources.
if (existsSync(`${root}tsconfig.json`)) {
  // Flags, because settings of the outer npm (--global, --omit=dev, NODE_ENV=production) reach the inner one by the environment.
  if (!existsSync(`${root}node_modules`) && !hasCompiler())
    run('npm ci --ignore-scripts --include=dev --global=false --location=project --no-audit --no-fund')
  if (hasCompiler()) run('npm run --silent build')
  else
    console.warn('svc: dist stays as it is; the compiler is a development dependency (npm ci --include=dev)')
}

/** Also found where a project around this folder holds its dependencies. */
function hasCompiler() {
  try {
    return Boolean(createRequire(import.meta.url).resolve('@typescript/native/package.json'))
  } catch {
    return false
  }
}
