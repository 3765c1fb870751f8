/** Checks by a library's own schema. Its time and its patterns are the library's: none of this folder's bounds apply. */
import type { StandardIssue, StandardResult, StandardSchema } from '../../domain/endpoint-schemas.js'
import { escapePointer } from '../../domain/json.js'
import type { Checked, InputCheck, InvalidInput } from '../../ports/input-validator.js'

/** Libraries quote the value that they refuse, and a stranger's value may be a megabyte. */
const MESSAGE_LENGTH_MAX = 500

/** The check throws, or its promise rejects, where the schema does. */
export function standardCheck(schema: StandardSchema): InputCheck {
  const validate = validateOf(schema)
  return input => {
    const result = validate(input)
    return isPromise(result) ? Promise.resolve(result).then(checkedBy) : checkedBy(result)
  }
}

type Validate = StandardSchema['~standard']['validate']

/**
 * Zod's own `validate` tries at once first. If a refinement is asynchronous, zod tries again and drops the first promise: when
 * that is rejected, nobody catches it, and Node ends the process. So zod is told from the start that it may take its time.
 */
function validateOf(schema: StandardSchema): Validate {
  const { vendor, validate } = schema['~standard']
  if (vendor !== 'zod' || !('safeParseAsync' in schema)) return value => validate(value)
  const zod = schema as unknown as { safeParseAsync(value: unknown): Promise<ZodResult> }
  return async value => {
    const { data, error } = await zod.safeParseAsync(value)
    return error === undefined ? { value: data } : { issues: error.issues }
  }
}

interface ZodResult {
  readonly data?: unknown
  readonly error?: { readonly issues: readonly StandardIssue[] }
}

/** A library may have promises of its own kind. */
function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown }).then === 'function'
}

function checkedBy(result: StandardResult<unknown>): Checked {
  return result.issues ? { invalid: invalidInput(result.issues[0]) } : { value: result.value }
}

/** In the form of {@link InvalidInput} that JSON Schemas give: the field is a JSON pointer. */
function invalidInput({ path = [], message }: Partial<StandardIssue> = {}): InvalidInput {
  const steps = path.map(step => (typeof step === 'object' ? step.key : step))
  const field = steps.map(step => `/${escapePointer(String(step))}`).join('')
  const why = typeof message === 'string' && message !== '' ? message : 'is invalid'
  return { field, message: `${shortened(field) || 'The input'}: ${shortened(why)}` }
}

function shortened(text: string): string {
  return text.length > MESSAGE_LENGTH_MAX ? `${text.slice(0, MESSAGE_LENGTH_MAX)}…` : text
}
