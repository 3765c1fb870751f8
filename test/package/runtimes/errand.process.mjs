import { errands } from './errands.mjs'

const { env } = process
console.log(JSON.stringify({ done: await errands[env.ERRAND](env) }))
