/** Bodies of library schemas, spelled out: zod and arktype infer these with `strict` alone. Compiled, never run. */

import { defineEndpoint } from '@svc/sdk'
import { type } from 'arktype'
import { z } from 'zod'

export const zod = defineEndpoint({
  name: 'zod',
  price: '$0.01',
  input: z.object({ text: z.string().transform(text => text.length), times: z.coerce.number().default(2) }),
  handler({ body }) {
    const output: { text: number; times: number } = body
    // @ts-expect-error: it is no text any more
    const text: string = body.text
    return { output, text }
  },
})

export const arktype = defineEndpoint({
  name: 'arktype',
  price: ({ body }) => `$${body.times ?? 1}`,
  input: type({ text: 'string', times: 'number = 2' }),
  output: type({ text: 'string' }),
  handler({ body }) {
    const output: { text: string; times: number } = body
    // @ts-expect-error: the schema has no such property
    return { text: output.text, missing: body.missing }
  },
})

export const coerced = defineEndpoint({
  name: 'coerced',
  price: '$0.01',
  // The answer is what the schema reads: text, of which it makes a number.
  output: z.object({ length: z.string().transform(Number) }),
  handler: () => ({ length: '3' }),
})

export const wrong = defineEndpoint({
  name: 'wrong',
  price: '$0.01',
  output: z.object({ length: z.string().transform(Number) }),
  // @ts-expect-error: the schema reads text
  handler: () => ({ length: 3 }),
})
