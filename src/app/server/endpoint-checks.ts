/** How an endpoint's schemas check: what callers send, the examples that are published, and what handlers answer. */
import { ajvValidator } from '../../adapters/validation/ajv.js'
import { standardCheck } from '../../adapters/validation/standard-check.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { examplesOf } from '../../domain/example-input.js'
import type { Answer } from '../../domain/handler-answer.js'
import { contentOf } from '../../domain/handler-answer.js'
import type { Checked, InputCheck } from '../../ports/input-validator.js'
import type { Warn } from './settings-from-options.js'

const validator = ajvValidator()

/** `undefined` where every input is accepted. */
export function inputCheck({ input, inputSchema, method, allowSlowInput }: EndpointDef) {
  if (inputSchema !== undefined) return standardCheck(inputSchema.schema)
  if (input === undefined) return undefined
  return validator.compile(input, { coerce: method === 'GET', allowSlow: allowSlowInput })
}

export type ExampleCheck = (example: unknown) => Checked

/**
 * Checks an example at once. A library's schema has published one JSON Schema and checks with another: the example
 * satisfies both, and is shown as it is sent. If the library answers later, the JSON Schema alone decides.
 */
export function exampleCheck(def: EndpointDef): ExampleCheck {
  const { input, inputSchema } = def
  if (input === undefined) return value => ({ value })
  if (inputSchema === undefined)
    return validator.compile(input, { coerce: def.method === 'GET', allowSlow: def.allowSlowInput })
  const published = validator.compile(input, { coerce: false, allowSlow: true })
  const own = standardCheck(inputSchema.schema)
  return example => {
    const fits = published(example)
    if ('invalid' in fits) return fits
    const checked = attempted(own, structuredClone(example))
    return checked instanceof Promise || 'value' in checked ? { value: example } : checked
  }
}

function attempted(check: InputCheck, input: unknown): Checked | Promise<Checked> {
  try {
    const checked = check(input)
    if (checked instanceof Promise) checked.catch(() => {})
    return checked
  } catch {
    return { invalid: { field: '', message: 'The schema threw' } }
  }
}

/** The answers that could be made up and that the published schema describes, best first. */
export function answerExamples({ output }: EndpointDef): readonly unknown[] {
  if (output === undefined) return []
  const published = validator.compile(output, { coerce: false, allowSlow: true })
  return [...examplesOf(output)].filter(example => 'value' in published(example))
}

/** Warns of an answer that its published schema does not describe. It changes nothing about the answer and the charge. */
export function answerCheck(def: EndpointDef, warn: Warn): ((answer: Answer) => void) | undefined {
  const { name, output, outputSchema } = def
  if (output === undefined) return undefined
  const published = validator.compile(output, { coerce: false, allowSlow: true })
  const own = outputSchema && standardCheck(outputSchema.schema)
  const tell = (checked: Checked) => {
    if ('value' in checked) return
    const { field, message } = checked.invalid
    warn(`An answer of endpoint '${name}' does not satisfy its output schema: ${message}`, {
      endpoint: name,
      field,
      schema: output,
    })
  }
  const broke = (err: unknown) =>
    warn(`The output schema of endpoint '${name}' could not check an answer`, { endpoint: name, err })
  return answer => {
    try {
      const content = contentOf(answer)
      if (content.kind !== 'json') return
      const fits = published(content.value)
      const checked = 'invalid' in fits ? fits : (own?.(content.value) ?? fits)
      if (checked instanceof Promise) checked.then(tell).catch(broke)
      else tell(checked)
    } catch (cause) {
      broke(cause)
    }
  }
}
