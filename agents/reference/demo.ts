/** `npm run demo`: one paid call from the first question to the receipt, offline, in a second. */
import { startOnSandbox } from './on-sandbox.js'
import { bold, dim } from './paint.js'
import { walk } from './walk.js'

console.log(bold('One paid call'), dim('on a sandbox: real HTTP, transactions and signatures; play money'))
const running = await startOnSandbox({ port: 0, handleSignals: false })
try {
  await walk(running)
} finally {
  await running.stop()
}
console.log(`\n${dim('npm start keeps the agent up, for calls of your own.')}`)
