/** Contenders in processes of their own, so that none shares a heap, a JIT or an event loop with another. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { isAbsolute } from 'node:path'

/** `--tuned` starts every contender as docs/guides/go-to-production.md advises for Node 20. */
const NODE_OPTIONS = process.argv.includes('--tuned') ? ['--max-semi-space-size=64'] : []

/** Starts `contenders/<file>.mjs`, or the file of this path, and waits for the first thing it says. */
function spawn(file, config, execArgv) {
  const path = isAbsolute(file) ? file : new URL(`contenders/${file}.mjs`, import.meta.url)
  const child = fork(path, [JSON.stringify(config)], {
    execArgv: [...NODE_OPTIONS, ...execArgv],
    env: { ...process.env, NODE_ENV: 'production' },
    // Standard output is for the table alone.
    stdio: ['ignore', process.stderr, process.stderr, 'ipc'],
  })
  const exited = once(child, 'exit')
  const died = exited.then(([code, signal]) => {
    throw new Error(`contender ${file} ended: ${signal ?? code}`)
  })
  died.catch(() => {})
  const said = () => Promise.race([once(child, 'message').then(([message]) => message), died])
  return { child, exited, said }
}

/** A server or a client; resolves when it is ready. */
export async function start(file, config, execArgv = []) {
  const { child, exited, said } = spawn(file, config, execArgv)
  const { url } = await said()
  /** Resolves to its answer. */
  const tell = async message => {
    const answer = said()
    child.send(message)
    return answer
  }
  return {
    url,
    urls: [url],
    pid: child.pid,
    tell,
    /** Microseconds of CPU used so far, by all of its threads. */
    async cpuUs() {
      const { user, system } = (await tell('used')).cpu
      return user + system
    },
    /** Its time, CPU and memory since it began. */
    taken: async () => (await tell('used')).taken,
    /** Its memory, and how late its event loop was since the last sample. */
    sample: async () => (await tell('sample')).sample,
    async stop() {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}

/** Several servers as one: what is sent is spread over them, and names the first as its host, as behind a proxy. */
export function together(servers) {
  return {
    url: servers[0].url,
    urls: servers.map(({ url }) => url),
    async cpuUs() {
      const used = await Promise.all(servers.map(server => server.cpuUs()))
      return used.reduce((sum, us) => sum + us)
    },
  }
}

/** A measurement that needs no load; resolves to what it found. */
export async function measure(file, config) {
  const { exited, said } = spawn(file, config, [])
  const found = await said()
  await exited
  return found
}
