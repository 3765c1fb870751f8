/** Looks for the first violation within so many calls; says where it was in one line of JSON. */
import { episode } from './episode.js'

/** @example node hunt.mjs 100000 random- */
const [callsMax, rows = ''] = [Number(process.argv[2]), process.argv[3]]
let calls = 0
for (let seed = 1; calls < callsMax; seed++) {
  const ended = await episode({ seed: `${rows}${seed}` })
  calls += ended.calls
  const violation = ended.violations[0]
  if (!violation) continue
  console.log(JSON.stringify({ seed, calls, ...violation }))
  break
}
