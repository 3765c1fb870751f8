/** The types of bodies by their schemas, with and without `strict`. Compiled by `types.test.ts`, never run. */

import { type BodyOf, defineAgent, defineEndpoint, serve } from '@svc/sdk'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { z } from 'zod'
import * as mini from 'zod/mini'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Fails to compile where the types are not the same. */
const same = <A, B>(..._: Same<A, B> extends true ? [] : [never]) => {}

export const json = defineEndpoint({
  name: 'json',
  input: {
    type: 'object',
    required: ['text'],
    // Nothing fills in the default, and the type says so.
    properties: { text: { type: 'string' }, times: { type: 'integer', default: 2 } },
    additionalProperties: false,
  },
  price: ({ body: { text = '' } }) => (text.length > 100 ? '$0.02' : '$0.01'),
  handler({ body }) {
    same<typeof body, { text: string; times?: number }>()
    // @ts-expect-error: the schema has no such property
    return body.missing
  },
})

const ofZod = z.object({
  text: z.string().transform(text => text.length),
  times: z.coerce.number().default(2),
})

export const zod = defineEndpoint({
  name: 'zod',
  input: ofZod,
  price({ body }) {
    // @ts-expect-error: it is no text any more
    body.text?.toUpperCase()
    return `$${body.times ?? 1}`
  },
  output: z.array(z.string()),
  handler({ body }) {
    same<typeof body, z.output<typeof ofZod>>()
    // @ts-expect-error: the schema has no such property
    return body.missing
  },
})

const ofValibot = v.object({
  text: v.pipe(
    v.string(),
    v.transform(text => text.length),
  ),
  times: v.optional(v.number(), 2),
})

export const valibot = defineEndpoint({
  name: 'valibot',
  price: '$0.01',
  input: toStandardJsonSchema(ofValibot),
  handler: ({ body }) => same<typeof body, v.InferOutput<typeof ofValibot>>(),
})

export const described = defineEndpoint({
  name: 'described',
  price: '$0.01',
  input: { schema: ofValibot, jsonSchema: { type: 'object' } },
  handler: ({ body }) => same<typeof body, v.InferOutput<typeof ofValibot>>(),
})

const ofMini = mini.object({ n: mini.number() })

export const zodMini = defineEndpoint({
  name: 'mini',
  price: '$0.01',
  input: { schema: ofMini, jsonSchema: { type: 'object' } },
  handler: ({ body }) => same<typeof body, z.output<typeof ofMini>>(),
})

export const none = defineEndpoint({
  name: 'none',
  price: '$0.01',
  handler: ({ body }) => same<typeof body, unknown>(),
})

same<BodyOf<undefined>, unknown>()

serve(
  defineAgent({
    name: 'Agent',
    handle: 'agent',
    description: 'Compiles.',
    payTo: process.env.PAY_TO,
    network: process.env.NETWORK,
    endpoints: [json, zod, valibot, described, zodMini, none],
  }),
  { payTo: process.env.PAY_TO, network: process.env.NETWORK },
)
