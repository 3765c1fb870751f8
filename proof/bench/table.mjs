/** Medians, ratios, Markdown. */

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** A Markdown table: names to the left, figures to the right; short lines are filled up. */
export function markdown(heads, lines) {
  const cells = values => `| ${heads.map((_, at) => values[at] ?? '').join(' | ')} |`
  const rule = heads.map((head, at) => (at === 0 || head === '' ? '---' : '--:')).join('|')
  return [cells(heads), `|${rule}|`, ...lines.map(cells)].join('\n')
}

/**
 * @param rows of `{title, unit, lessIsMore, contenders: [{name, rounds, cpuUs, bar, cpuBar}]}`, ours first
 * @returns one Markdown table; a contender's ratio is ours against it, above 1 where ours is the better
 */
export function tableOf(rows) {
  const heads = ['', 'median', 'of rounds', 'CPU each', 'ours against it', 'by CPU', 'bar', '']
  return markdown(heads, rows.flatMap(linesOf))
}

function linesOf({ title, unit, lessIsMore, contenders }) {
  const [ours, ...others] = contenders
  const lines = [[`**${title}**`], [ours.name, ...figures(ours, unit)]]
  for (const other of others) {
    const { ratio, spread } = lessIsMore ? against(other, ours) : against(ours, other)
    const byCpu = other.cpuUs && median(other.cpuUs) / median(ours.cpuUs)
    const { bar, cpuBar } = other
    lines.push([
      other.name,
      ...figures(other, unit),
      `${times(ratio)} (${spread})`,
      byCpu ? times(byCpu) : '',
      cpuBar ? `≥ ${cpuBar} by CPU` : bar ? `≥ ${bar}` : '',
      cpuBar ? verdict(byCpu, cpuBar) : bar ? verdict(ratio, bar) : '',
    ])
  }
  return lines
}

function verdict(ratio, bar) {
  return ratio >= bar ? 'met' : 'MISSED'
}

export function figures({ rounds, cpuUs }, unit) {
  return [
    `${number(median(rounds))} ${unit}`,
    spread(rounds, number),
    cpuUs === undefined ? '' : `${number(median(cpuUs))} µs`,
  ]
}

/** The median of the rounds' own ratios, and their spread. */
export function against(over, under) {
  const paired = over.rounds.map((value, round) => value / under.rounds[round])
  return { ratio: median(paired), spread: spread(paired, times) }
}

export function spread(values, print) {
  return `${print(Math.min(...values))} – ${print(Math.max(...values))}`
}

export function number(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)
}

export function times(value) {
  return value >= 10 ? value.toFixed(0) : value.toFixed(2)
}
