/**
 * How indexes show a seller's service: the fields `serviceName`, `tags` and `iconUrl` of a quote's `resource`. The bounds are
 * those of `@x402/extensions` 2.26. Indexes leave out what does not fit, and `@x402/core`'s schema refuses the whole quote.
 */
import { shown } from './errors.js'
import { isWebUrl } from './web-url.js'

/** The fields that every quote of an agent has. */
export interface ServiceMetadata {
  readonly serviceName?: string
  readonly iconUrl?: string
}

export const TAGS_MAX = 5
const LABEL = /^[\x20-\x7e]{1,32}$/

/** Checked; `name` is the agent's, which is the service's too where it fits. */
export function serviceMetadata(
  { serviceName, iconUrl }: { readonly serviceName?: unknown; readonly iconUrl?: unknown },
  name: string,
  refuse: (why: string) => never,
): ServiceMetadata {
  if (serviceName !== undefined && !isLabel(serviceName))
    return refuse(`serviceName is 1 to 32 printable ASCII characters, not ${shown(serviceName)}`)
  if (iconUrl !== undefined && !isWebUrl(iconUrl))
    return refuse(
      `iconUrl is an absolute http or https URL of at most 2048 characters, not ${shown(iconUrl)}`,
    )
  return quotedService({ serviceName: serviceName ?? (isLabel(name) ? name : undefined), iconUrl })
}

export function quotedService({
  serviceName,
  iconUrl,
}: {
  readonly [Field in keyof ServiceMetadata]: string | undefined
}): ServiceMetadata {
  return { ...(serviceName !== undefined && { serviceName }), ...(iconUrl !== undefined && { iconUrl }) }
}

/** What indexes take for a name or a tag. */
export function isLabel(value: unknown): value is string {
  return typeof value === 'string' && LABEL.test(value)
}

/** The tags that indexes show: the first five that fit, each once, whatever its case. */
export function quotedTags(tags: readonly string[]): readonly string[] {
  const byCase = new Map<string, string>()
  for (const tag of tags) {
    const key = tag.toLowerCase()
    if (byCase.size < TAGS_MAX && isLabel(tag) && !byCase.has(key)) byCase.set(key, tag)
  }
  return [...byCase.values()]
}
