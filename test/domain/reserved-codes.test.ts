/** The codes that a handler may not choose are those that this server says of calls. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isReservedCode } from '../../src/app/charge/handler-failure.js'
import { OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { ROOT } from '../cli/project-folder.js'

const free = (codes: readonly string[]) => codes.filter(code => !isReservedCode(code))

it('are all that a final state says, but for a failed handler’s own', () => {
  expect(free(Object.values(OUTCOMES).map(({ code }) => code))).toEqual(['handler_error'])
})

it('are all that the charge says in place of a final state’s', () => {
  const folder = join(ROOT, 'src/app/charge')
  const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => readFileSync(join(folder, file), 'utf8'))
  const codes = texts.flatMap(text =>
    [...text.matchAll(/\b(?:code: |answerCode\(|problemOf\(|refused\()'([a-z_]+)'/g)].map(
      ([, code]) => code!,
    ),
  )
  expect(codes).toContain('store_unavailable')
  expect(free(codes)).toEqual([])
})

it('leave a handler words of its own', () => {
  const own = [
    'no_such_city',
    'not_found',
    'model_failed',
    'out_of_stock',
    'paymentless',
    'no_payment_plan',
    'invalid_address',
    '',
  ]
  expect(own.filter(isReservedCode)).toEqual([])
})
