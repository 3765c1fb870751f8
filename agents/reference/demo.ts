/** `npm run demo`: one paid call from the first question to the receipt, offline, in a second. */
import { bold, dim } from './paint.js'
import { openStage } from './stage.js'
import { walk } from './walk.js'

console.log(bold('One paid call'), dim('on a sandbox: real HTTP, transactions and signatures; play money'))
const stage = await openStage({ port: 0, handleSignals: false })
try {
  await walk(stage)
} finally {
  await stage.stop()
}
console.log(`\n${dim('npm start keeps the agent up, for calls of your own.')}`)
