import type { Sandbox } from '../../src/sandbox.js'
import { listen } from './listen.js'

/** A sandbox's node, and the paths that it was asked. */
export async function countingNode({ algodUrl }: Sandbox) {
  const asked: string[] = []
  const url = await listen(async ({ url = '', method = '' }, response) => {
    asked.push(url)
    const answer = await fetch(algodUrl + url, { method })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  return {
    url,
    /** How often it was asked about a payment. */
    payments: () => asked.filter(path => path.includes('/transactions/pending/')).length,
    asked,
  }
}
