const LENGTH_MAX = 2_048

/** Whether a value is a public web address: absolute, http or https, without a password, in printable ASCII. */
export function isWebUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > LENGTH_MAX || !/^[\x21-\x7e]+$/.test(value)) return false
  if (!URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

/** Whether a stranger's text can be encoded for a URL: `encodeURIComponent` throws where half of a character stands in it. */
export function fitsUrl(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}
