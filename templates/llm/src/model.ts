/** The model behind the agent: whichever the environment names. */
import { offlineModel } from './offline-model.ts'
import { openAiModel } from './openai-model.ts'

export interface CompletionRequest {
  readonly prompt: string
  readonly tokens: number
  /** Aborted when the caller has gone or the time is up: whatever was made by then cannot be sold. */
  readonly signal: AbortSignal
}

export interface Model {
  readonly name: string
  complete(request: CompletionRequest): Promise<string>
}

/**
 * `MODEL_URL` is the base of an OpenAI-compatible interface, such as `http://localhost:11434/v1`; `MODEL_NAME` and
 * `MODEL_KEY` go with it. The built-in model stands in on a sandbox only: nobody should pay for it.
 */
export function modelFrom(env: NodeJS.ProcessEnv): Model {
  const { MODEL_URL: url, MODEL_NAME: name, MODEL_KEY: key, SVC_SANDBOX: sandbox } = env
  if (url) return openAiModel({ url, name: name || 'default', key: key || undefined })
  if (sandbox) return offlineModel
  throw new Error('Set MODEL_URL to an OpenAI-compatible interface; only a sandbox gets the built-in model.')
}
