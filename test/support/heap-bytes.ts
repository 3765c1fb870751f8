import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What is alive on this process's heap, once its garbage is collected. */
export function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
