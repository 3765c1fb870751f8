import { expect } from 'vitest'
import { SvcError } from '../../src/domain/errors.js'

/** Expects a definition to be refused with this code, in words that a person can act on. */
export function refusedWith(code: string, define: () => unknown, words: RegExp = /./): void {
  let thrown: unknown
  try {
    define()
  } catch (cause) {
    thrown = cause
  }
  expect(thrown).toBeInstanceOf(SvcError)
  expect(thrown).toMatchObject({ code, message: expect.stringMatching(words) })
}
