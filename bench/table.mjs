/** Medians, ratios, Markdown. */

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * @param rows of `{title, unit, lessIsMore, contenders: [{name, rounds, cpuUs, bar}]}`, ours first
 * @returns one Markdown table; a contender's ratio is ours against it, above 1 where ours is the better
 */
export function tableOf(rows) {
  return [
    '| | median | of rounds | CPU each | ours against it | by CPU | bar | |',
    '|---|--:|--:|--:|--:|--:|--:|---|',
    ...rows.flatMap(linesOf),
  ].join('\n')
}

function linesOf({ title, unit, lessIsMore, contenders }) {
  const [ours, ...others] = contenders
  const lines = [cells(`**${title}**`), cells(ours.name, ...figures(ours, unit))]
  for (const other of others) {
    const [over, under] = lessIsMore ? [other, ours] : [ours, other]
    const ratio = median(over.rounds) / median(under.rounds)
    const paired = over.rounds.map((value, round) => value / under.rounds[round])
    const { bar } = other
    lines.push(
      cells(
        other.name,
        ...figures(other, unit),
        `${times(ratio)} (${spread(paired, times)})`,
        other.cpuUs ? times(median(other.cpuUs) / median(ours.cpuUs)) : '',
        bar === undefined ? '' : `≥ ${bar}`,
        bar === undefined ? '' : ratio >= bar ? 'met' : 'MISSED',
      ),
    )
  }
  return lines
}

function figures({ rounds, cpuUs }, unit) {
  return [
    `${number(median(rounds))} ${unit}`,
    spread(rounds, number),
    cpuUs === undefined ? '' : `${number(median(cpuUs))} µs`,
  ]
}

function cells(...values) {
  return `| ${Array.from({ length: 8 }, (_, at) => values[at] ?? '').join(' | ')} |`
}

function spread(values, print) {
  return `${print(Math.min(...values))} – ${print(Math.max(...values))}`
}

function number(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)
}

function times(value) {
  return value >= 10 ? value.toFixed(0) : value.toFixed(2)
}
