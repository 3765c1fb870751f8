/** A buyer in a process of its own, from the built package, that lives for a few calls. Speaks JSON lines on stdout. */
import { SvcClient } from '../../dist/src/client.js'
import { redisStores } from '../../dist/src/redis.js'

const { url, calls, redisUrl, diesSending = false, ...options } = JSON.parse(process.argv[2])
const stores = redisStores(redisUrl, { commandTimeoutMs: 20_000 })
const fetchImpl = (target, init) => {
  // The payment is signed, and has not left.
  if (diesSending && init.headers['PAYMENT-SIGNATURE']) process.kill(process.pid, 'SIGKILL')
  return fetch(target, init)
}
const client = new SvcClient({ ...options, fetchImpl, ledger: stores.spend })
for (let call = 0; call < calls; call++) {
  const outcome = await client.call(url, {}).then(
    ({ status, charged }) => (charged === undefined ? String(status) : `${status} ${charged}`),
    error => error.code,
  )
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
}
await stores.close()
process.exit(0)
