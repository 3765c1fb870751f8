/** What the README says of the default facilitator, and of what holds without any option. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { OPTIONS } from '../../src/app/server/options/server-options.js'
import { DEFAULT_FACILITATOR, SvcClient } from '../../src/index.js'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

it.each(['README.md', 'docs/guides/facilitator.md'])(
  '%s names the facilitator that is used without an option',
  path => {
    expect(read(path)).toContain(DEFAULT_FACILITATOR)
  },
)

it('the options that a promise needs are options, and are off without being given', () => {
  const [, table = ''] = /## Without any option\n([\s\S]+?)\n## /.exec(read('README.md'))!
  const needed = table.split('\n').flatMap(row => row.split('|')[2]?.match(/(?<=`)[a-zA-Z]+(?=`|:)/g) ?? [])
  expect(needed).toEqual(['confirm', 'stores', 'idempotency', 'maxPrice', 'maxPerDay'])
  const [confirm, stores, idempotency, ...caps] = needed as (keyof typeof OPTIONS)[]
  const given = [confirm!, stores!, idempotency!].map(name => OPTIONS[name](undefined as never, name))
  expect(given).toEqual(['facilitator', undefined, undefined])
  // An option that the client does not have would be refused.
  for (const cap of caps) new SvcClient({ network: 'testnet', [cap]: '$1' })
})
