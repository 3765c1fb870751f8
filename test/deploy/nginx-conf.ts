/** `deploy/nginx.conf`, as far as tests ask: the values of a directive, wherever it stands. */
import { readFileSync } from 'node:fs'

const text = readFileSync(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8').replace(
  /^\s*#.*$/gm,
  '',
)

export const nginxConf = {
  text,
  all: (directive: string): string[] =>
    [...text.matchAll(new RegExp(`^\\s*${directive} ([^;{]*);`, 'gm'))].map(([, value]) => value!),
  one(directive: string): string {
    const [value, ...others] = this.all(directive)
    if (value === undefined || others.length > 0)
      throw new Error(`${directive} stands there ${others.length + 1} times, or not at all`)
    return value
  },
}
