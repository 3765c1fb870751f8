/** The built command line in this process, with an environment, streams and an exit code of its own. */
import { EventEmitter } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { startedHere } from '../support/bundled.js'
import type { Ended } from './run.js'

class Kept extends Writable {
  text = ''

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

export async function calledHere(
  main: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Ended> {
  const [stdout, stderr, heard] = [new Kept(), new Kept(), new EventEmitter()]
  const own: Record<PropertyKey, unknown> = {
    argv: [process.execPath, main, ...args],
    env: { ...env },
    exitCode: undefined,
    stdin: new PassThrough(),
    stdout,
    stderr,
    exit() {
      throw new Error('It ends its process: start it in one of its own')
    },
    emitWarning: (said: string, { code }: { code: string }) => stderr.write(`[${code}] Warning: ${said}\n`),
  }
  for (const name of ['on', 'once', 'off', 'emit', 'addListener', 'removeListener', 'listenerCount'] as const)
    own[name] = heard[name].bind(heard)
  const told = new Proxy(process, {
    get(real, name) {
      if (Object.hasOwn(own, name)) return own[name]
      const value = Reflect.get(real, name)
      return typeof value === 'function' ? value.bind(real) : value
    },
    set(_, name, value) {
      own[name] = value
      return true
    },
  })
  await startedHere('dist/cli/main.js', told)
  heard.emit('exit', own.exitCode)
  return { code: (own.exitCode as number | undefined) ?? 0, stdout: stdout.text, stderr: stderr.text }
}
