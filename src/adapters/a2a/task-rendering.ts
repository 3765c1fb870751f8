/** A task in the shape of either generation of A2A. */
import type { Clock } from '../../ports/clock.js'
import type { Random } from '../../ports/random.js'

export interface TaskContext {
  readonly skill: string
  /** The task that this message belongs to; `undefined` where the message is a task of its own. */
  readonly taskId?: string
  readonly contextId: string | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'uuid'>
}

/** A part holds one of these: text, data, or bytes. */
export type Part =
  | { readonly text: string }
  | { readonly data: object }
  | { readonly base64: string; readonly mediaType: string }

export interface TaskContent {
  readonly state: 'completed' | 'failed' | 'input-required'
  readonly said: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly parts?: readonly Part[]
}

export type RenderTask = typeof task03 | typeof task10

/** For `message/send` (0.3). */
export function task03({ state, said, metadata, parts }: TaskContent, context: TaskContext) {
  const { id, contextId, timestamp } = named(context)
  const message = { kind: 'message', messageId: context.random.uuid(), role: 'agent', taskId: id, contextId }
  const status = {
    state,
    timestamp,
    message: { ...message, parts: [{ kind: 'text', text: said }], metadata },
  }
  return { kind: 'task', id, contextId, status, ...artifacts(parts?.map(part03), context) }
}

/** For `SendMessage` (1.0). */
export function task10({ state, said, metadata, parts }: TaskContent, context: TaskContext) {
  const { id, contextId, timestamp } = named(context)
  const message = { messageId: context.random.uuid(), role: 'ROLE_AGENT', taskId: id, contextId }
  const status = {
    state: `TASK_STATE_${state.replace('-', '_').toUpperCase()}`,
    timestamp,
    message: { ...message, parts: [{ text: said }], metadata },
  }
  return { task: { id, contextId, status, ...artifacts(parts?.map(part10), context) } }
}

/** The two names of the one method, and the shape of the task that each expects. */
export const TASK_BY_METHOD: ReadonlyMap<string, RenderTask> = new Map<string, RenderTask>([
  ['message/send', task03],
  ['SendMessage', task10],
])

function named({ clock, random, taskId = random.uuid(), contextId = random.uuid() }: TaskContext) {
  return { id: taskId, contextId, timestamp: new Date(clock.now()).toISOString() }
}

function artifacts(parts: readonly object[] | undefined, { random, skill }: TaskContext) {
  return parts && { artifacts: [{ artifactId: random.uuid(), name: skill, parts }] }
}

function part03(part: Part) {
  if ('text' in part) return { kind: 'text', ...part }
  if ('data' in part) return { kind: 'data', ...part }
  return { kind: 'file', file: { bytes: part.base64, mimeType: part.mediaType } }
}

function part10(part: Part) {
  if ('text' in part) return part
  if ('data' in part) return { ...part, mediaType: 'application/json' }
  return { raw: part.base64, mediaType: part.mediaType }
}
