import { markdown } from '../table.mjs'

/** The minute that the issue of growth is judged from, and the one from which all that is kept has its full size. */
const EARLY = 2
const FULL = 8
/** The samples of two minutes make one column: a single one is the machine's mood. */
const SPAN = 2

export function soakTableOf({ names, rates, samples }) {
  const last = samples.at(-1).minute
  const columns = [EARLY, FULL, last].filter(minute => minute <= last)
  const cells = read =>
    columns.map(minute =>
      mean(
        samples.filter(sample => sample.minute > minute - SPAN && sample.minute <= minute),
        read,
      ),
    )
  const lines = names.flatMap((name, which) => {
    const line = (title, read, digits) => [
      title,
      ...cells(({ stores }) => read(stores[which])).map(value => value.toFixed(digits)),
    ]
    return [
      [`**on ${name}, ${rates[which]} requests a second**`],
      line('resident memory, MB', ({ rss }) => rss / 1e6, 0),
      line('heap in use, MB', ({ heapUsed }) => heapUsed / 1e6, 0),
      line('event loop late, p99, ms', ({ loopP99Ms }) => loopP99Ms, 1),
      line('latency p50, ms', ({ p50Ms }) => p50Ms, 1),
      line('latency p99, ms', ({ p99Ms }) => p99Ms, 1),
    ]
  })
  const redis = [
    ['**Redis itself**'],
    ['keys', ...cells(({ redis }) => redis.keys).map(keys => Math.round(keys).toLocaleString('en-US'))],
    ['memory, MB', ...cells(({ redis }) => redis.bytes / 1e6).map(bytes => bytes.toFixed(0))],
  ]
  const heads = ['', ...columns.map(minute => `minutes ${Math.max(minute - SPAN, 0)} – ${minute}`)]
  return markdown(heads, [...lines, ...redis])
}

function mean(samples, read) {
  return samples.reduce((sum, sample) => sum + read(sample), 0) / samples.length
}
