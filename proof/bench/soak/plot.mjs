/** The run as a picture: a strip for each figure, a line for each store. */
const WIDTH = 760
const STRIP = { top: 34, height: 110, gap: 44, left: 60, right: 16 }
const COLOURS = ['#3b6fb6', '#c2571a']

const STRIPS = [
  { title: 'resident memory, MB', read: ({ rss }) => rss / 1e6 },
  { title: 'event loop late, p99, ms', read: ({ loopP99Ms }) => loopP99Ms },
  { title: 'latency p50, ms', read: ({ p50Ms }) => p50Ms },
  { title: 'latency p99, ms', read: ({ p99Ms }) => p99Ms },
]

export function plotOf({ names, rates, samples }) {
  const height = STRIP.top + STRIPS.length * (STRIP.height + STRIP.gap)
  const last = samples.at(-1).minute
  const x = minute => STRIP.left + (minute / last) * (WIDTH - STRIP.left - STRIP.right)
  const legend = names.map((name, which) =>
    text(STRIP.left + which * 260, 18, `${name}, ${rates[which]} requests a second`, COLOURS[which]),
  )
  const strips = STRIPS.flatMap((strip, at) => {
    const top = STRIP.top + 20 + at * (STRIP.height + STRIP.gap)
    return stripOf(strip, samples, names, x, top, last)
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    '<title>Memory, lateness of the event loop and latency over the minutes of a soak</title>',
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...legend,
    ...strips,
    '</svg>',
    '',
  ].join('\n')
}

function stripOf({ title, read }, samples, names, x, top, last) {
  const highest = niceAbove(Math.max(...samples.flatMap(({ stores }) => stores.map(read))))
  const y = value => top + STRIP.height - (value / highest) * STRIP.height
  const levels = [0, highest / 2, highest].flatMap(level => [
    `<line x1="${STRIP.left}" x2="${WIDTH - STRIP.right}" y1="${y(level)}" y2="${y(level)}" stroke="#ddd"/>`,
    text(STRIP.left - 6, y(level) + 4, String(level), '#555', 'end'),
  ])
  const minutes = [0, last / 2, last].map(minute =>
    text(
      x(minute),
      top + STRIP.height + 16,
      `${minute} min`,
      '#555',
      minute === 0 ? 'start' : minute === last ? 'end' : 'middle',
    ),
  )
  const lines = names.map((_, which) => {
    const points = samples.map(
      ({ minute, stores }) => `${x(minute).toFixed(1)},${y(read(stores[which])).toFixed(1)}`,
    )
    return `<polyline fill="none" stroke="${COLOURS[which]}" stroke-width="1.5" points="${points.join(' ')}"/>`
  })
  return [text(STRIP.left, top - 8, title, '#222'), ...levels, ...minutes, ...lines]
}

function text(x, y, words, fill, anchor = 'start') {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${fill}" text-anchor="${anchor}">${words}</text>`
}

/** 1, 2 or 5 times a power of ten. */
function niceAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].find(step => step * power >= value) * power
}
