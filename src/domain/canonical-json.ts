/**
 * The canonical text of a JSON value: no white space, keys in order of their UTF-16 code units. Equal values have
 * equal texts, whatever program wrote them. The caller limits the depth.
 *
 * @see RFC 8785
 *
 * @throws RangeError for NaN and the infinities, which JSON text cannot express (RFC 8785, section 3.2.2.3)
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError(`${value} is no JSON number`)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`)
  return `{${entries.join(',')}}`
}
