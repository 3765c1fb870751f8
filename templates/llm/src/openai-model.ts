/** Any server that speaks OpenAI's chat completions: theirs, a proxy, one on this machine. */
import { SvcError } from '@svc/sdk'
import type { Model } from './model.ts'

export interface OpenAiOptions {
  readonly url: string
  readonly name: string
  readonly key: string | undefined
}

export function openAiModel({ url, name, key }: OpenAiOptions): Model {
  const endpoint = `${url.replace(/\/+$/, '')}/chat/completions`
  const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) }
  return {
    name,
    async complete({ prompt, tokens, signal }) {
      const body = { model: name, max_tokens: tokens, messages: [{ role: 'user', content: prompt }] }
      const init = { method: 'POST', headers, body: JSON.stringify(body), signal }
      const response = await fetch(endpoint, init).catch(() => undefined)
      if (!response) throw failed('did not answer')
      // Its words stay here: an error of the model's may name the account behind the key.
      if (!response.ok) throw failed(`answered ${response.status}`)
      const text = textOf(await response.json().catch(() => undefined))
      if (!text) throw failed('answered without text')
      return text
    },
  }
}

function textOf(answer: unknown): string | undefined {
  const { choices } = (answer ?? {}) as { choices?: { message?: { content?: unknown } }[] }
  const content = choices?.[0]?.message?.content
  return typeof content === 'string' ? content : undefined
}

/** Thrown, so that the caller is not charged: an answer with an apology in it would be. */
function failed(how: string): SvcError {
  return new SvcError(`The model ${how}; nothing was charged`, 'model_failed', 502)
}
