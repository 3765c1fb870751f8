/** Contenders in processes of their own, so that none shares a heap, a JIT or an event loop with another. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'

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

const CPU_GROUPS = '/sys/fs/cgroup/cpu'
/** Short, so that what is limited stands still for less than a caller notices. */
const PERIOD_US = 10_000

/** Gives a process this share of a core, as a small machine would, by a group below the one of this process. Linux, as root, cgroup v1. */
export function limitCpu(pid, cores) {
  const [, own] = /^\d+:(?:\w+,)*cpu(?:,\w+)*:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))
  const group = join(CPU_GROUPS, own, `svc-bench-${pid}`)
  mkdirSync(group)
  const set = (file, value) => writeFileSync(join(group, file), String(value))
  set('cpu.cfs_period_us', PERIOD_US)
  set('cpu.cfs_quota_us', Math.round(cores * PERIOD_US))
  set('cgroup.procs', pid)
  return () => rmdirSync(group)
}

/** A measurement that needs no load; resolves to what it found. */
export async function measure(file, config) {
  const { exited, said } = spawn(file, config, [])
  const found = await said()
  await exited
  return found
}
