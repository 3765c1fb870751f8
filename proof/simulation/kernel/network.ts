/** How processes ask each other. An answer comes, comes late, or does not; the question may have been acted upon all the same. */
import type { Fate } from './fate.js'
import type { Process } from './process.js'
import type { Timeline } from './timeline.js'

/** How often each thing goes wrong on a link, from 0 to 1. */
export interface LinkFaults {
  /** Nothing arrives, and the asker is told at once. */
  readonly refused: number
  /** Nothing arrives, and nobody is told. */
  readonly lost: number
  /** It is acted upon; the answer never comes, and nobody is told. */
  readonly unheard: number
  /** It is acted upon; the connection is reset before the answer. */
  readonly reset: number
  /** It arrives, or its answer does, after seconds to a minute. */
  readonly late: number
  readonly lateAnswer: number
}

export const NO_FAULTS: LinkFaults = { refused: 0, lost: 0, unheard: 0, reset: 0, late: 0, lateAnswer: 0 }

/** The connection ended without an answer. */
export class ConnectionLost extends Error {}

const LATENCY_MIN_MS = 1
const LATENCY_MAX_MS = 9
const LATE_MIN_MS = 800
const LATE_MAX_MS = 70_000

export class Network {
  constructor(
    readonly timeline: Timeline,
    readonly fate: Fate,
  ) {}

  /**
   * @param place names the link: its moments are numbered.
   * @returns what `serve` answers there, heard here. It never settles where nobody is told: callers have deadlines.
   */
  ask<T>(
    from: Process,
    to: Process,
    place: string,
    faults: LinkFaults,
    serve: () => T | Promise<T>,
  ): Promise<T> {
    const { fate, timeline } = this
    const name = fate.numbered(place)
    const latencyMs = (way: string) =>
      LATENCY_MIN_MS + Math.floor(fate.fractionOf(name + way) * (LATENCY_MAX_MS - LATENCY_MIN_MS + 1))
    const strike = (what: keyof LinkFaults) => fate.strike(`${name}.${what}`, faults[what], timeline.nowMs)
    return new Promise((resolve, reject) => {
      const lose = (why: string) =>
        timeline.after(latencyMs('<'), () => from.deliver(() => reject(new ConnectionLost(why))))
      if (!from.isAlive) return
      if (strike('refused')) return void lose('ECONNREFUSED')
      if (strike('lost')) return
      const delayMs = latencyMs('>') + (strike('late')?.span(LATE_MIN_MS, LATE_MAX_MS) ?? 0)
      timeline.after(delayMs, () => {
        if (!to.isAlive) return void lose('ECONNREFUSED')
        const stopWatching = to.onDeath(() => void lose('ECONNRESET'))
        to.deliver(() => {
          const answer = (tell: () => void) => {
            if (!to.isAlive) return
            stopWatching()
            if (strike('unheard')) return
            if (strike('reset')) return void lose('ECONNRESET')
            const backMs = latencyMs('<') + (strike('lateAnswer')?.span(LATE_MIN_MS, LATE_MAX_MS) ?? 0)
            timeline.after(backMs, () => from.deliver(tell))
          }
          new Promise<T>(begin => begin(serve())).then(
            value => answer(() => resolve(value)),
            error => answer(() => reject(error)),
          )
        })
      })
    })
  }
}
