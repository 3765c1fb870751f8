/** Needs no network and no key. It knows nothing, and answers the same to the same. */
import type { Model } from './model.ts'

export const offlineModel: Model = {
  name: 'offline',
  complete({ prompt, tokens }) {
    const words = `You asked: ${prompt} This is the built-in model, which only repeats.`.split(/\s+/)
    return Promise.resolve(words.slice(0, tokens).join(' '))
  },
}
