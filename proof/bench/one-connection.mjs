import { connect } from 'node:net'
import { isWhole } from './load.mjs'

/** One keep-alive connection to a server. Both functions resolve when the answer is over, to the milliseconds until what they are named for. */
export async function openTo({ url }) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setNoDelay(true).setEncoding('latin1')
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  let fail = () => {}
  socket.on('error', error => fail(error))
  socket.on('close', () => fail(new Error('the connection closed before its answer')))
  const exchange = (request, hasCome, expects = '200') =>
    new Promise((resolve, reject) => {
      const start = performance.now()
      let kept = ''
      let ms
      const onData = chunk => {
        kept += chunk
        if (kept.slice(9, 12) !== expects) return reject(new Error(`not answered:\n${kept}`))
        if (hasCome(kept)) ms ??= performance.now() - start
        if (!isWhole(kept)) return
        socket.off('data', onData)
        resolve(ms)
      }
      socket.on('data', onData)
      fail = reject
      socket.write(request)
    })
  return {
    /** A server closes a connection that waited too long. */
    get isOpen() {
      return socket.readyState === 'open'
    },
    first: request => exchange(request, text => text.includes('data: ')),
    whole: (request, expects) => exchange(request, isWhole, expects),
    close: () => socket.destroy(),
  }
}
