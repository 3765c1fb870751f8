import type { Stage } from './stage.js'

export interface Question {
  readonly name: string
  /** What the peer told, masked. A question may tell several replies, and what follows from them. */
  readonly ask: (stage: Stage) => Promise<unknown>
}

export function question(name: string, ask: Question['ask']): Question {
  return { name, ask }
}
