/** The text of a string, a number or a boolean. Anything else has none: an object of a stranger's may throw where it is made text. */
export function primitiveText(value: unknown): string | undefined {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined
}
