/** A list whose items carry their own links. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { LinkedList, ListItem } from '../../src/domain/linked-list.js'

it('keeps the order of arrival as a Set does, whatever joins and leaves', () => {
  const moves = fc.array(fc.record({ adds: fc.boolean(), at: fc.nat({ max: 7 }) }), { maxLength: 60 })
  fc.assert(
    fc.property(moves, done => {
      const items = Array.from({ length: 8 }, () => new ListItem())
      const list = new LinkedList<ListItem>()
      const set = new Set<ListItem>()
      for (const { adds, at } of done) {
        const item = items[at]!
        if (adds) {
          list.add(item)
          set.add(item)
        } else {
          list.remove(item)
          set.delete(item)
        }
        expect(list.first).toBe([...set][0])
      }
      const left: ListItem[] = []
      for (let item = list.first; item !== undefined; item = item.after) left.push(item)
      expect(left).toEqual([...set])
    }),
  )
})

it('leaves no links on an item that has left', () => {
  const [first, second, third] = [new ListItem(), new ListItem(), new ListItem()]
  const list = new LinkedList<ListItem>()
  for (const item of [first, second, third]) list.add(item)
  list.remove(second)
  expect([second.before, second.after]).toEqual([undefined, undefined])
  expect(third.before).toBe(first)
})
