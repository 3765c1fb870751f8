import { defineEndpoint } from '../../../src/index.js'
import { MAX_CHARS_DEFAULT, MAX_CHARS_MAX, MAX_CHARS_MIN, summarize } from '../summarize.js'

export const summarizeEndpoint = defineEndpoint({
  name: 'summarize',
  description: 'Condenses text into its most telling sentences, whole and in order',
  price: '$0.01',
  tags: ['text'],
  input: {
    type: 'object',
    examples: [
      {
        text: 'The harbour closes on Friday. It rained. The harbour wall can no longer be repaired.',
        max: 80,
      },
    ],
    required: ['text'],
    properties: {
      text: { type: 'string', minLength: 1, description: 'What to condense' },
      max: {
        type: 'number',
        minimum: MAX_CHARS_MIN,
        maximum: MAX_CHARS_MAX,
        default: MAX_CHARS_DEFAULT,
        description: 'Length of the summary in characters, at most',
      },
    },
  },
  output: {
    type: 'object',
    required: ['summary', 'chars'],
    properties: {
      summary: { type: 'string', description: 'Sentences of the text, unchanged' },
      chars: { type: 'integer', minimum: 0, description: 'Length of the summary' },
    },
  },
  handler: ({ body }) => {
    const summary = summarize(body.text, body.max)
    return { summary, chars: summary.length }
  },
})
