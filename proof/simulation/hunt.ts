/** Looks for the first violation within so many calls; says where it was in one line of JSON. */
import { episode } from './episode.js'

const callsMax = Number(process.argv[2])
let calls = 0
for (let seed = 1; calls < callsMax; seed++) {
  const ended = await episode({ seed: String(seed) })
  calls += ended.calls
  const violation = ended.violations[0]
  if (!violation) continue
  console.log(JSON.stringify({ seed, calls, ...violation }))
  break
}
