/** Which endpoint a path is for: the one rule for every host and every protocol. */
import Router from '@koa/router'
import type { EndpointDef } from '../../domain/endpoint.js'
import type { MatchPath } from '../../domain/message-input.js'
import {
  bySpecificity,
  type Method,
  methodsOf,
  type PathParams,
  paramsIn,
  pathOfEndpoint,
  pathProblem,
} from '../../domain/path-pattern.js'
import { HttpError } from './reply.js'

export interface Matched {
  readonly def: EndpointDef
  readonly params: PathParams
}

/** Paths match exactly: another case, a trailing or doubled slash, or an encoded letter makes another path. */
const EXACT = { sensitive: true, strict: true }

/**
 * The endpoints with parameters that a path matches, the most specific first. A path is matched as it was sent, and its parameters are
 * decoded once.
 *
 * @param method of the call; absent where none is made
 * @throws HttpError `invalid_path` where the path could be read in two ways.
 */
export type MatchPatterns = (path: string, method?: string) => readonly Matched[]

export function patternMatcher(endpoints: readonly EndpointDef[]): MatchPatterns {
  const all = endpoints.toSorted(bySpecificity)
  const patterns = all.filter(({ path = '' }) => paramsIn(path).length > 0)
  if (patterns.length === 0) return () => []
  const exact = routerOf(patterns, EXACT)
  const loose = routerOf(all, {})
  return (path, method) => {
    const found = exact.match(path)
    if (found.length === 0) return found
    const problem = pathProblem(path)
    if (problem !== undefined) throw invalidPath(problem)
    // Servers behind this one may take several spellings for one path, and their prices may differ: another case, a parameter after `;`,
    // an extension as the form of the answer (Rails), dots and spaces at the end of a segment, and what is empty then, as nothing.
    const answers = ({ def }: Matched) => methodsOf(def).includes(method as Method)
    const answering = found.find(answers)?.def
    const segments = decodeURIComponent(path).split('/').map(withoutParameters)
    const last = segments.pop()!
    const folders = segments.map(trimmed)
    for (const end of new Set([last, trimmed(last), trimmed(last.split('.', 1)[0]!)])) {
      const spelling = [...folders, end].filter(segment => segment !== '').join('/')
      const similar = loose.match(`/${spelling}`).find(answers)?.def
      if (answering !== undefined && similar !== undefined && similar !== answering)
        throw invalidPath(`is ${pathOfEndpoint(similar)} in another spelling`)
    }
    return found
  }
}

const withoutParameters = (segment: string) => segment.split(';', 1)[0]!

/** Not by a regular expression: from each of many dots it would look for the end, which takes quadratic time. */
function trimmed(segment: string): string {
  let end = segment.length
  while (segment[end - 1] === '.' || segment[end - 1] === ' ') end--
  return segment.slice(0, end)
}

function invalidPath(why: string): HttpError {
  return new HttpError(400, 'invalid_path', `The path ${why}. You were not charged.`)
}

function routerOf(endpoints: readonly EndpointDef[], how: typeof EXACT | Record<string, never>) {
  const router = new Router(how)
  for (const def of endpoints) router.register(pathOfEndpoint(def), [...methodsOf(def)], () => {})
  return {
    match: (path: string): readonly Matched[] =>
      router.match(path, '').path.map(layer => ({
        def: endpoints[router.stack.indexOf(layer)]!,
        params: layer.params(path, layer.captures(path)),
      })),
  }
}

/** For protocols whose messages name the endpoint. */
export function endpointAt(match: MatchPatterns): MatchPath {
  return (method, path) => {
    try {
      const found = match(path, method).find(({ def }) => methodsOf(def).includes(method as Method))
      return found && { def: found.def, target: { method: method as Method, path, params: found.params } }
    } catch (cause) {
      if (cause instanceof HttpError) return undefined
      throw cause
    }
  }
}
