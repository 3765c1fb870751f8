/**
 * Load on a server, or on several: keep-alive connections that each write a prepared request, wait for its answer and write the next.
 * Written on bare sockets, because what generates the load shares the machine with what is measured: per request it
 * costs a fraction of what a general HTTP client does, and every request may be another one.
 */
import { connect } from 'node:net'

/** To each process. */
export const CONNECTIONS = 32

/** The bytes of a POST. */
export function post(url, path, body, headers = {}) {
  const { host } = new URL(url)
  const text = JSON.stringify(body)
  const lines = Object.entries({
    Host: host,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${text}`)
}

/**
 * Sends requests until `seconds` are over, or `next` has no more.
 *
 * @param urls where to: connections are spread over them in turn
 * @param next the bytes of the next request, `undefined` when there is none left
 * @param expects the status that each answer must have; any other ends the run
 * @returns answers, seconds, and the share of them in which this process was busy
 */
export async function load(urls, next, { seconds, expects }) {
  const idle = performance.eventLoopUtilization()
  const start = performance.now()
  const until = start + seconds * 1000
  const send = () => (performance.now() < until ? next() : undefined)
  const counts = await Promise.all(
    Array.from({ length: CONNECTIONS * urls.length }, (_, at) => {
      const { hostname, port } = new URL(urls[at % urls.length])
      return converse(connect(Number(port), hostname), send, expects)
    }),
  )
  const answers = counts.reduce((sum, count) => sum + count, 0)
  if (answers === 0) throw new Error(`${urls[0]} was sent nothing`)
  return {
    answers,
    seconds: (performance.now() - start) / 1000,
    busy: performance.eventLoopUtilization(idle).utilization,
  }
}

/** One connection's turn-taking; resolves to the number of answers. */
function converse(socket, send, expects) {
  return new Promise((resolve, reject) => {
    let answers = 0
    let kept = ''
    const write = () => {
      const request = send()
      if (request === undefined) socket.end(() => resolve(answers))
      else socket.write(request)
    }
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.once('connect', write)
    socket.on('data', chunk => {
      kept += chunk
      if (!isWhole(kept)) return
      const status = Number(kept.slice(9, 12))
      if (status !== expects) {
        socket.destroy()
        return reject(new Error(`answered ${status} where ${expects} was due:\n${kept.slice(0, 2000)}`))
      }
      answers++
      kept = ''
      write()
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error(`connection closed after ${answers} answers`)))
  })
}

/** Whether the text ends an answer. */
export function isWhole(text) {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= headEnd + 4 + Number(length)
}
