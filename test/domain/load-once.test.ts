import { expect, it, vi } from 'vitest'
import { loadOnce } from '../../src/domain/load-once.js'

it('loads once for all uses, and again after a failure', async () => {
  const load = vi.fn(async () => load.mock.calls.length)
  const used = loadOnce(load)
  expect(used.used).toBe(undefined)
  expect(load).not.toHaveBeenCalled()
  expect(await Promise.all([used(), used()])).toEqual([1, 1])
  expect(await used()).toBe(1)
  expect(await used.used).toBe(1)
  load.mockRejectedValueOnce(new Error('too many open files'))
  const again = loadOnce(load)
  await expect(again()).rejects.toThrow('too many open files')
  expect(await again()).toBe(3)
})
