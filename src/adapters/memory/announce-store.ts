/** The memory of one process can outlive it: a tool beside the program, such as `svc dev`, takes the records, and gives them to the next. */
import { channel } from 'node:diagnostics_channel'

/** A store that was made. Its records can be cloned. */
export interface MadeStore<Records = unknown> {
  readonly name: string
  records(): Records
  restore(records: Records): void
}

const storeMade = channel('svc.memory.made')

export function announceStore<Records>(store: MadeStore<Records>): void {
  storeMade.publish(store)
}
