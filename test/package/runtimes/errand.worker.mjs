import { errands } from './errands.mjs'

export default {
  fetch: async (_, env) => Response.json({ done: await errands[env.ERRAND](env) }),
}
