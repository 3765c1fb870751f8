/** Results of tools, in MCP's format. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { AnswerContent } from '../../domain/handler-answer.js'
import { isRecord } from '../../domain/x402.js'

/** An object as text and as structured content: some clients drop the first, others the second. */
export function objectResult(value: Readonly<Record<string, unknown>>): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(value, undefined, 2) }],
    structuredContent: { ...value },
  }
}

export function errorResult(
  code: string,
  message: string,
  fields?: Readonly<Record<string, unknown>>,
): CallToolResult {
  return { ...objectResult({ error: { code, message, ...fields } }), isError: true }
}

export function contentResult(content: AnswerContent): CallToolResult {
  switch (content.kind) {
    case 'json': {
      const { value, text } = content
      return {
        content: [{ type: 'text', text: typeof value === 'string' ? value : text }],
        ...(isRecord(value) && { structuredContent: value }),
      }
    }
    case 'text':
      return { content: [{ type: 'text', text: content.text }] }
    case 'bytes':
      return { content: [bytesBlock(content)] }
  }
}

function bytesBlock({ base64, mediaType }: Extract<AnswerContent, { kind: 'bytes' }>) {
  const [family] = mediaType.split('/', 1)
  if (family === 'image' || family === 'audio')
    return { type: family, data: base64, mimeType: mediaType } as const
  const resource = { uri: 'urn:svc:answer', blob: base64, mimeType: mediaType }
  return { type: 'resource', resource } as const
}
