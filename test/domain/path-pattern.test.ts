import { describe, expect, it } from 'vitest'
import { agent } from '../../src/domain/agent.js'
import { type EndpointOptions, endpoint } from '../../src/domain/endpoint.js'
import { manifest } from '../../src/domain/manifest.js'
import { openapi } from '../../src/domain/openapi-document.js'
import { bySpecificity, pathProblem, pathWith } from '../../src/domain/path-pattern.js'
import { refusedWith } from './refusal.js'

const handler = () => ({})
const define = (over: object) =>
  endpoint({ name: 'one', price: '$0.01', handler, ...over } as EndpointOptions)
const agentOf = (...endpoints: object[]) =>
  agent({
    name: 'Paths',
    handle: 'paths',
    description: 'Has paths.',
    payTo: 'A'.repeat(58),
    network: 'testnet',
    endpoints: endpoints.map(define),
  })

describe('the path of an endpoint', () => {
  it.each(['/items/:id', '/files/*rest', '/v1/chat.completions', '/a/', '/:a/b/:c', '/*all', '/A_b~c'])(
    'may be %s',
    path => expect(define({ path }).path).toBe(path),
  )

  it.each([
    ['items', 'such as'],
    ['', 'such as'],
    [7, 'such as'],
    ['/a//b', "segment ''"],
    ['/a/../b', "segment '\\.\\.'"],
    ['/a/.', "segment '.'"],
    ['/a b', 'segment'],
    ['/%61', 'segment'],
    ['/a@b', 'segment'],
    ['/items/:', 'segment'],
    ['/items/:id.json', 'segment'],
    ['/items/:__proto__', 'segment'],
    ['/items{/:id}', 'segment'],
    ['/files/*', 'segment'],
    ['/*rest/more', 'before its end'],
    ['/:id/:id', 'twice'],
    ['/health', 'free route'],
  ])('is refused as %j', (path, why) => {
    refusedWith('invalid_endpoint', () => define({ path }), new RegExp(why))
  })

  it('is no path of its own where it is the name', () => {
    expect(define({ path: '/one' })).not.toHaveProperty('path')
  })
})

describe('the methods of an endpoint', () => {
  it('may be one or several, the first of which is its method', () => {
    expect(define({ methods: 'PUT' }).method).toBe('PUT')
    expect(define({ methods: ['PATCH', 'GET', 'PATCH'] })).toMatchObject({
      method: 'PATCH',
      methods: ['PATCH', 'GET'],
    })
    const checked = define({ methods: ['PATCH', 'GET'] })
    expect(define(checked)).toEqual(checked)
  })

  it.each([
    [{ methods: [] }, 'methods is of'],
    [{ methods: ['HEAD'] }, "not 'HEAD'"],
    [{ methods: 'get' }, "not 'get'"],
    [{ method: 'OPTIONS' }, 'method is of'],
    [{ method: 'GET', methods: ['PUT'] }, 'one of'],
    [{ methods: ['GET', 'POST'], input: { type: 'object' } }, 'an endpoint for each'],
    [{ methods: ['GET'], bodyType: 'bytes' }, 'no body'],
  ])('are refused as %j', (over, why) => {
    refusedWith('invalid_endpoint', () => define(over), new RegExp(why))
  })
})

describe('several endpoints', () => {
  it('may share a path with other methods, and not with the same', () => {
    const shared = [
      { name: 'read', path: '/items/:id', methods: 'GET' },
      { name: 'write', path: '/items/:key', methods: ['PUT', 'DELETE'] },
    ]
    const { paths } = openapi(agentOf(...shared), 'https://a.example')
    expect(Object.keys(paths)).toEqual(['/items/{id}', '/items/{key}'])
    expect(() => agentOf(...shared, { name: 'more', path: '/items/:x', methods: 'DELETE' })).toThrow(
      "'write' and 'more' are both at DELETE /items/:x",
    )
    expect(() => agentOf({ name: 'a', path: '/b' }, { name: 'b' })).toThrow('are both at POST /b')
  })

  it('are matched the most specific first', () => {
    const paths = ['/*all', '/a/:x/c', '/a/*rest', '/a/b/:y', '/a/b/c', '/:x', '/a/:x']
    expect(
      paths
        .map(path => ({ name: '', path }))
        .sort(bySpecificity)
        .map(({ path }) => path),
    ).toEqual(['/a/b/c', '/a/b/:y', '/a/:x/c', '/a/:x', '/a/*rest', '/:x', '/*all'])
  })

  it('are shown as they are: the method, the path, its parameters', () => {
    const shown = agentOf({ name: 'item', path: '/items/:id', methods: ['PUT', 'GET'] }, { name: 'plain' })
    const { endpoints } = manifest(shown, 'https://a.example/p')
    expect(endpoints[0]).toMatchObject({
      name: 'item',
      path: '/items/:id',
      url: 'https://a.example/p/items/:id',
      method: 'PUT',
      methods: ['PUT', 'GET'],
    })
    expect(Object.keys(endpoints[1]!)).not.toContain('path')
    expect(Object.keys(endpoints[1]!)).not.toContain('methods')
    const { paths } = openapi(shown, 'https://a.example')
    const item = paths['/items/{id}'] as Record<string, { operationId: string; parameters: object[] }>
    expect(item.put).toHaveProperty('requestBody')
    expect(item.get).not.toHaveProperty('requestBody')
    expect([item.put!.operationId, item.get!.operationId]).toEqual(['item', 'item.get'])
    expect(item.get!.parameters[0]).toMatchObject({ name: 'id', in: 'path', required: true })
  })
})

describe('a path that was sent', () => {
  it.each([
    ['/items/a%2fb', 'slash'],
    ['/items/a%5Cb', 'slash'],
    ['/items/a\\b', 'character'],
    ['/items/a b', 'character'],
    ['/items/é', 'character'],
    ['/items/a#b', 'character'],
    ['/items/%', 'no percent-encoding'],
    ['/items/%zz', 'no percent-encoding'],
    ['/items/%ff', 'UTF-8'],
    ['/items/%c0%af', 'UTF-8'],
    ['/items/%00', 'control'],
    ['/items/a%0d%0ab', 'control'],
    ['/items/%61', 'percent-encoded'],
    ['/items/%2e%2e', 'percent-encoded'],
    ['/items/%7E', 'percent-encoded'],
    ['/items//a', 'empty'],
    ['/items/..', '. or ..'],
    ['/items/../a', '. or ..'],
    ['/./items', '. or ..'],
  ])('is refused where it has two readings: %s', (path, why) => {
    expect(pathProblem(path)).toContain(why)
  })

  it('is refused where it is longer than a quote can repeat', () => {
    expect(pathProblem(`/items/${'a'.repeat(4_089)}`)).toBeUndefined()
    expect(pathProblem(`/items/${'a'.repeat(4_090)}`)).toBe('has more than 4096 characters')
  })

  it.each([
    '/items/a%20b',
    '/items/%C3%A9',
    '/items/a%252fb',
    '/items/a@b:c',
    '/items/...',
    '/items/a.b',
    '/i/%25',
  ])('has one reading: %s', path => expect(pathProblem(path)).toBeUndefined())

  it('is made of parameters, each of which stays in its place', () => {
    expect(pathWith('/items/:id', { id: 'a b' })).toBe('/items/a%20b')
    expect(pathWith('/files/*rest', { rest: 'a/b c' })).toBe('/files/a/b%20c')
    expect(pathProblem(pathWith('/items/:id', { id: 'a/b' })!)).toContain('slash')
    expect(pathProblem(pathWith('/items/:id', { id: '..' })!)).toContain('. or ..')
    expect(pathWith('/items/:id', {})).toBeUndefined()
    expect(pathWith('/items/:id', { id: '' })).toBeUndefined()
    expect(pathWith('/items/:id', { id: 7 })).toBeUndefined()
    expect(pathWith('/items/:constructor', {})).toBeUndefined()
  })
})
