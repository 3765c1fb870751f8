/**
 * The paths of endpoints: `/items/:id`, `/files/*rest`. A pattern is made of whole segments. A literal segment is made of characters
 * that no client may write in two ways, so that no spelling of a request's path leads past it to a cheaper pattern.
 */
import { shown } from './errors.js'

/** The HTTP methods that an endpoint can have. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** The parts of a request's path by the names in the pattern, decoded once. */
export type PathParams = Readonly<Record<string, string>>

/** Of every path without parameters. */
export const NO_PARAMS: PathParams = Object.freeze({})

/** What a request asks of an endpoint, besides its query and its body. */
export interface Target {
  readonly method: Method
  /** As it was sent, below the base path. */
  readonly path: string
  readonly params: PathParams
  /** The query as it was sent, with its `?`, for an upstream; absent where no request has one. */
  readonly search?: string
}

/** What has a path: an endpoint, or its entry in a manifest. */
interface Located {
  readonly name: string
  readonly path?: string
}

/** The path of an endpoint below the base path, or its pattern. */
export function pathOfEndpoint({ name, path }: Located): string {
  return path ?? `/${name}`
}

/** A discovery name for a route that has none, by which its windows and kept answers are found again: `post/v1/any`. */
export function routeName(methods: readonly Method[], path: string): string {
  const words = path.toLowerCase().split('/')
  const plain = words.map(word => word.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, ''))
  return [methods.join('-').toLowerCase(), ...plain.filter(word => word !== '')].join('/')
}

export function methodsOf(def: { readonly method: Method; readonly methods?: readonly Method[] }) {
  return def.methods ?? [def.method]
}

/** The target of a call that names no path of its own. */
export function ownTarget(def: Located & { readonly method: Method }): Target {
  return { method: def.method, path: pathOfEndpoint(def), params: NO_PARAMS }
}

const PATH_LENGTH_MAX = 4_096
const LITERAL = /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/
const PARAMETER = /^[:*]([A-Za-z]\w*)$/

export function checkedMethods(
  {
    method,
    methods = method ?? 'POST',
  }: { readonly method?: Method; readonly methods?: Method | readonly Method[] },
  refuse: (why: string) => never,
): readonly Method[] {
  const given: readonly Method[] = [methods].flat()
  const unknown = given.find(each => !METHODS.includes(each))
  const option = method === methods ? 'method' : 'methods'
  if (unknown !== undefined || given.length === 0)
    refuse(`${option} is of ${METHODS.join(', ')}, not ${shown(unknown ?? methods)}`)
  if (method !== undefined && method !== given[0]) refuse('give one of method and methods')
  return Object.freeze([...new Set(given)])
}

/** @param refuse says what is wrong, in words */
export function checkedPath(path: unknown, refuse: (why: string) => never): string {
  const form = 'such as /items/:id or /files/*rest'
  const allowed = `a segment is A-Z a-z 0-9 - . _ ~, or :name, or *name, ${form}`
  if (typeof path !== 'string' || !path.startsWith('/'))
    refuse(`path is a pattern ${form}, not ${shown(path)}`)
  const segments = (path as string).slice(1).split('/')
  const names = new Set<string>()
  for (const [at, segment] of segments.entries()) {
    const isLast = at === segments.length - 1
    if (LITERAL.test(segment) || (segment === '' && isLast)) continue
    const [, name] = PARAMETER.exec(segment) ?? []
    if (name === undefined) refuse(`path has the segment ${shown(segment)}; ${allowed}`)
    if (segment.startsWith('*') && !isLast) refuse(`path has ${segment} before its end`)
    if (names.has(name!)) refuse(`path names '${name}' twice`)
    names.add(name!)
  }
  return path as string
}

export function paramsIn(path: string): readonly string[] {
  return [...path.matchAll(/\/[:*](\w+)/g)].map(([, name]) => name!)
}

/** Equal for patterns that match the same paths. */
export function shapeOf(path: string): string {
  return path.replace(/\/([:*])\w+/g, '/$1')
}

/** Sorts the most specific pattern first: a literal segment before a parameter, a parameter before a wildcard. */
export function bySpecificity(a: Located, b: Located): number {
  const rankOf = (segment: string) => (segment.startsWith('*') ? 2 : segment.startsWith(':') ? 1 : 0)
  const [left, right] = [a, b].map(located => pathOfEndpoint(located).split('/').map(rankOf))
  for (let at = 1; at < Math.max(left!.length, right!.length); at++) {
    const difference = (left![at] ?? 3) - (right![at] ?? 3)
    if (difference !== 0) return difference
  }
  return 0
}

/** The path of a call with these parameters; `undefined` where one is missing. It may be none that is answered: match it. */
export function pathWith(path: string, params: Readonly<Record<string, unknown>>): string | undefined {
  let isWhole = true
  const filled = path.replace(/\/([:*])(\w+)/g, (_, kind: string, name: string) => {
    const value = Object.hasOwn(params, name) ? params[name] : undefined
    isWhole &&= typeof value === 'string' && value !== ''
    const parts = kind === '*' ? String(value).split('/') : [String(value)]
    return parts.map(part => `/${encodeURIComponent(part.replace(/\p{Surrogate}/gu, '\ufffd'))}`).join('')
  })
  return isWhole ? filled : undefined
}

/**
 * Why a path that a pattern matches is refused: it could be read in two ways, by this server and by what is behind it.
 *
 * @see RFC 3986, sections 3.3 and 6.2.2
 */
export function pathProblem(path: string): string | undefined {
  // A message may carry one of a megabyte, and quotes repeat it in a header.
  if (path.length > PATH_LENGTH_MAX) return `has more than ${PATH_LENGTH_MAX} characters`
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/.test(path)) return 'has a character that belongs percent-encoded'
  if (/%(?![0-9A-Fa-f]{2})/.test(path)) return 'has a % that is no percent-encoding'
  if (/%(?:2f|5c)/i.test(path)) return 'has an encoded slash'
  if (/%(?:[01].|7f)/i.test(path)) return 'has an encoded control character'
  if (/%(?:2[de]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/i.test(path))
    return 'has a letter, a digit or one of - . _ ~ percent-encoded'
  if (path.includes('//')) return 'has an empty segment'
  if (/\/\.{1,2}(?:[/;]|$)/.test(path)) return 'has a segment . or ..'
  try {
    decodeURIComponent(path)
  } catch {
    return 'has percent-encoded bytes that are not UTF-8'
  }
  return undefined
}

/** A path as what stands behind a server may read it: decoded once, without empty segments and dots, `\\` as `/`. */
export function plainPath(path: string): string {
  try {
    return decodeURIComponent(new URL(`http://host${path}`).pathname).replace(/[/\\]+/g, '/')
  } catch {
    return path
  }
}
