/** Round trips a request, counted. */
import { inMarket } from '../market.mjs'
import { measure } from '../process.mjs'
import { markdown } from '../table.mjs'

export function trips(bench) {
  return inMarket(bench, async market => {
    const { url: redisUrl } = await market.redis()
    return measure('trips', { ...market.place, redisUrl })
  })
}

export function tripsTableOf([{ plain, limited }]) {
  const heads = ['', 'waits for', 'sent without waiting', 'waits for, with a rate limit']
  const lines = plain.map(({ name, waited, told }, at) => [
    name,
    ...[waited, told, limited[at].waited].map(listed),
  ])
  return markdown(heads, lines)
}

function listed(names) {
  return names.length === 0 ? '0' : `${names.length}: ${names.join(', ')}`
}
