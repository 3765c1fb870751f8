/** Asks for an agent's health, one request after the other, in a process of its own. When told to stop it says what it heard. */
const [url] = process.argv.slice(2)
const statuses = []
process.once('message', () => {
  process.send(statuses)
  process.disconnect()
})
while (process.connected) statuses.push((await fetch(`${url}/health`)).status)
