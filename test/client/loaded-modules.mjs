// Prints the URL of every module that importing the argument loads: `node loaded-modules.mjs @svc/sdk/client`.
import { register } from 'node:module'
import { isMainThread, MessageChannel } from 'node:worker_threads'

let port

export function initialize(data) {
  port = data.port
}

export async function resolve(name, context, next) {
  const found = await next(name, context)
  port.postMessage(found.url)
  return found
}

if (isMainThread) {
  const { port1, port2 } = new MessageChannel()
  port1.on('message', url => console.log(url)).unref()
  register(import.meta.url, { data: { port: port2 }, transferList: [port2] })
  await import(process.argv[2])
  await new Promise(setImmediate)
}
