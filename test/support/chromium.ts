/** A Chromium to look through: named by CHROMIUM_PATH, found on PATH, or installed by apt-get. Without one a test fails. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { withApt } from './apt.js'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Nothing that talks to anybody by itself: what a test sees on the network is the page's doing. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await chromiumPath(), args: QUIET })
}

async function chromiumPath(): Promise<string> {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined) return named
  return onPath() ?? (await installed()) ?? missing('apt-get could not install it')
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.flatMap(folder => NAMES.map(name => join(folder, name))).find(isExecutable)
}

async function installed(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) missing('only root may install it')
  await withApt('command -v chromium || { apt-get update && apt-get install -y chromium; }')
  return onPath()
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
