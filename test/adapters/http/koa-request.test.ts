/** Whether an answer counts as arrived, by what the socket of a host says of itself. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { callerOf } from '../../../src/adapters/http/koa-request.js'

it.each([
  ['was written', { writableFinished: true, errored: null }, true],
  ['was written to a socket that knows no errors', { writableFinished: true, errored: undefined }, true],
  [
    'waited on a connection that was reset',
    { writableFinished: true, errored: new Error('ECONNRESET') },
    false,
  ],
  ['was not written', { writableFinished: false, errored: null }, false],
])('an answer that %s', (_, { writableFinished, errored }, arrived) => {
  const response = Object.assign(new EventEmitter(), {
    destroyed: false,
    writableFinished,
    req: { socket: { destroyed: false, errored } },
  })
  const heard: boolean[] = []
  callerOf(response as unknown as ServerResponse).onEnd(end => heard.push(end))
  response.emit('close')
  expect(heard).toEqual([arrived])
})

it('a caller of a host without sockets, such as one of functions, is there, and has what was written', () => {
  const response = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: true, req: {} })
  const caller = callerOf(response as unknown as ServerResponse)
  const heard: boolean[] = []
  caller.onEnd(end => heard.push(end))
  expect(caller.gone()).toBe(false)
  response.emit('close')
  expect(heard).toEqual([true])
})
