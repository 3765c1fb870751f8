/** Checks that this Node version runs the SDK, and that `svc dev` can run TypeScript on it. */
import { isAtLeast, TYPESCRIPT_SINCE, typeScriptFlags } from '../node-version.js'
import { packageFacts } from '../package.js'
import { type Finding, failed, ok } from './finding.js'

const CHECK = 'Node version'

export function nodeVersion(): Finding {
  const wanted = packageFacts().engines.node.replace('>=', '')
  const { version } = process
  if (!isAtLeast(wanted)) {
    return failed(CHECK, `${version} is older than ${wanted}`, `Install Node ${TYPESCRIPT_SINCE} or newer.`)
  }
  return typeScriptFlags()
    ? ok(CHECK, `${version}; svc dev runs TypeScript`)
    : ok(CHECK, `${version}; svc dev runs JavaScript here, and TypeScript from ${TYPESCRIPT_SINCE}`)
}
