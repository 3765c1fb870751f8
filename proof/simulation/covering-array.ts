/**
 * A covering array of strength two: rows of values in which each pair of values of two factors meets, but for the pairs that cannot
 * exist. Each row is begun with a pair that has not met, and filled with the values that bring most others (AETG: Cohen et al., 1997).
 */
export type Table = Readonly<Record<string, readonly string[]>>
export type Row = Readonly<Record<string, string>>
/** Two values that meet, as `factor=value`. */
export type Pair = readonly [string, string]

/** The same, whichever value comes first. */
export function pairName(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`
}

export function pairsOfRow(row: Row): string[] {
  const values = Object.entries(row).map(([factor, value]) => `${factor}=${value}`)
  return values.flatMap((one, at) => values.slice(at + 1).map(other => pairName(one, other)))
}

/** All pairs of the table by their names, each as a row of two values, without those that cannot exist. */
export function pairsOf(table: Table, cannot: readonly Pair[]): Map<string, Row> {
  const factors = Object.entries(table)
  const all = factors.flatMap(([one, values], at) =>
    factors
      .slice(at + 1)
      .flatMap(([other, others]) =>
        values.flatMap(value => others.map(second => ({ [one]: value, [other]: second }))),
      ),
  )
  const refused = new Set(cannot.map(([one, other]) => pairName(one, other)))
  const named = all.map(row => [pairsOfRow(row)[0]!, row] as const)
  return new Map(named.filter(([name]) => !refused.has(name)))
}

/** The same rows for the same table. @throws where a pair can stand in no row */
export function coveringArray(table: Table, cannot: readonly Pair[]): readonly Row[] {
  const possible = pairsOf(table, cannot)
  const left = new Map(possible)
  const rows: Row[] = []
  for (const [pair, begun] of possible) {
    if (!left.has(pair)) continue
    const row = filled(table, begun, { possible, left })
    if (!row) throw new Error(`no row can have ${pair}`)
    rows.push(row)
    for (const met of pairsOfRow(row)) left.delete(met)
  }
  return rows
}

interface Pairs {
  readonly possible: ReadonlyMap<string, Row>
  readonly left: ReadonlyMap<string, Row>
}

function filled(table: Table, begun: Row, pairs: Pairs): Row | undefined {
  const row = complete(
    table,
    Object.keys(table).filter(factor => !(factor in begun)),
    begun,
    pairs,
  )
  // In the table's order.
  return row && Object.fromEntries(Object.keys(table).map(factor => [factor, row[factor]!]))
}

/** Takes a value back where no value of a later factor fits it. */
function complete(table: Table, factors: readonly string[], row: Row, pairs: Pairs): Row | undefined {
  const [factor, ...others] = factors
  if (factor === undefined) return row
  const chosen = Object.entries(row).map(([name, value]) => `${name}=${value}`)
  const ranked = table[factor]!.map(value => {
    const met = chosen.map(each => pairName(each, `${factor}=${value}`))
    return {
      value,
      fits: met.every(each => pairs.possible.has(each)),
      brings: met.filter(each => pairs.left.has(each)).length,
    }
  })
    .filter(({ fits }) => fits)
    .sort((one, other) => other.brings - one.brings)
  for (const { value } of ranked) {
    const whole = complete(table, others, { ...row, [factor]: value }, pairs)
    if (whole) return whole
  }
  return undefined
}
