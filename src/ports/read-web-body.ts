import { concatBytes } from '../domain/bytes.js'

/**
 * Reads the whole body of a web request or response.
 *
 * @returns its bytes, or `undefined` if there are more than `bytesMax`. The rest is not read, and the connection ends.
 */
export async function readWebBody(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  if (body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  // Not `for await`: Safari's streams cannot be iterated.
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return concatBytes(chunks)
    length += value.length
    if (length > bytesMax) {
      // A failure to cancel changes nothing.
      reader.cancel().catch(() => {})
      return undefined
    }
    chunks.push(value)
  }
}
