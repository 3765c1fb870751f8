/** Which answers of one turn of the event loop wait for its end. */
import { expect, it } from 'vitest'
import { turns } from '../../../src/adapters/platform/node.js'

const nextTurn = () => new Promise(resolve => setImmediate(resolve))

it('lets the first answer of each turn pass at once', async () => {
  const turnEnd = turns()
  expect(turnEnd()).toBeUndefined()
  await nextTurn()
  expect(turnEnd()).toBeUndefined()
})

it('lets the others wait together until the turn ends', async () => {
  const turnEnd = turns()
  const written: string[] = []
  turnEnd()
  const [second, third] = [turnEnd(), turnEnd()]
  expect(second).toBe(third)
  second!.then(() => written.push('second'))
  await Promise.resolve()
  expect(written).toEqual([])
  await nextTurn()
  expect(written).toEqual(['second'])
})
