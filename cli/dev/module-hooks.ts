/** Name the agent's sources to `svc dev`, and give it this command line's `@svc/sdk` where its folder has none. */
import { subscribe } from 'node:diagnostics_channel'
import { statSync, writeSync } from 'node:fs'
import * as modules from 'node:module'
import { pathToFileURL } from 'node:url'
import { OWN_CODE } from '../package.js'

/** The pipe to `svc dev`, a line a source: its URL and signature. Written at once: what a program that fails at its start has imported is told, too. */
export const SOURCES_FD = 4
/** Stands in the pipe for a source: the agent runs with this SDK. */
export const LENT_SDK = '@svc/sdk'

interface Context {
  readonly parentURL?: string | undefined
}
type Resolved = { readonly url: string }
type Next = (specifier: string, context: Context) => Resolved | Promise<Resolved>

/** Node before 22.15 has hooks in a thread of their own, where `next` answers a promise. */
export function resolve(specifier: string, context: Context, next: Next): Resolved | Promise<Resolved> {
  const again = (error: unknown) => next(specifier, elsewhere(specifier, context, error)) as Resolved
  try {
    const resolved = next(specifier, context)
    return resolved instanceof Promise ? resolved.catch(again).then(told) : told(resolved)
  } catch (error) {
    return told(again(error))
  }
}

export function installHooks(): void {
  const { registerHooks } = modules as { registerHooks?: (hooks: object) => void }
  if (registerHooks) registerHooks({ resolve })
  else {
    modules.register('./module-hooks.js', import.meta.url)
    // These hooks see no file that is required.
    subscribe('tracing:net.server.listen:asyncEnd', tellRequired)
    process.on('exit', tellRequired)
  }
}

function tellRequired(): void {
  for (const path of Object.keys(modules.createRequire(import.meta.url).cache))
    told({ url: pathToFileURL(path).href })
}

/** Names the file, but none of an installed package, nor of this one: they do not change while an agent is written. */
function told(resolved: Resolved): Resolved {
  const { url } = resolved
  const isSource = url.startsWith('file:') && !url.includes('/node_modules/')
  if (isSource && !OWN_CODE.some(folder => url.startsWith(folder))) tell(url)
  return resolved
}

function elsewhere(specifier: string, context: Context, error: unknown): Context {
  const { code } = error as { code?: string }
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
  if (isMissing && /^@svc\/sdk(\/|$)/.test(specifier)) {
    tell(LENT_SDK)
    return { ...context, parentURL: import.meta.url }
  }
  // A file that is not there yet: when it comes, the agent starts anew.
  const isFile = /^\.{0,2}\//.test(specifier) && context.parentURL?.startsWith('file:')
  if (isMissing && isFile) tell(new URL(specifier, context.parentURL).href)
  throw error
}

/** Differs after each change of the file. Empty for a file that is not there. */
export function signatureOf(file: string | URL): string {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats ? `${stats.ino}-${stats.mtimeMs}-${stats.size}` : ''
}

/** With the file's signature before Node reads it: it may have changed when `svc dev` reads this line. */
function tell(url: string): void {
  try {
    writeSync(SOURCES_FD, url === LENT_SDK ? `${url}\n` : `${url} ${signatureOf(new URL(url))}\n`)
  } catch {
    // `svc dev` has ended.
  }
}
