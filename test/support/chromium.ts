/** A Chromium to look through: named by CHROMIUM_PATH, installed by apt-get, or found on PATH. Without one a test fails. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { withApt } from './apt.js'

/** Chromium without what draws a window: the tests' pages take half of the CPU in it. */
const SHELL = 'chromium-headless-shell'
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const INSTALL = `apt-get install -y --no-install-recommends --no-remove ${SHELL}`

/**
 * Nothing that talks to anybody by itself: what a test sees on the network is the page's doing. Tried, and left out: the GPU's
 * process within the browser's (43 s of CPU for the audit page, not 45), no zygote (49), no software rasterizer (48).
 */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

export async function openBrowser(): Promise<Browser> {
  // Playwright's own half a minute is short where four browsers start beside packages that are installed.
  return chromium.launch({ executablePath: await chromiumPath(), args: QUIET, timeout: 120_000 })
}

async function chromiumPath(): Promise<string> {
  const named = process.env.CHROMIUM_PATH ?? onPath([SHELL])
  if (named !== undefined) return named
  const another = onPath(NAMES)
  const update = another === undefined ? ` || { apt-get update && ${INSTALL}; }` : ''
  const why = process.getuid?.() === 0 ? await failure(`${INSTALL}${update}`) : 'only root may install it'
  return onPath([SHELL]) ?? another ?? missing(why)
}

const failure = (script: string): Promise<string> =>
  withApt(`command -v ${SHELL} || ${script}`).then(
    () => '',
    (error: Error) => `apt-get could not install it: ${error.message}`,
  )

function onPath(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.flatMap(folder => names.map(name => join(folder, name))).find(isExecutable)
}

function missing(why: string): never {
  throw new Error(`no Chromium: set CHROMIUM_PATH or install one (${why})`)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
