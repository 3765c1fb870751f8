/** `svc explain`: what a code means, and what to do. */
import { command } from '../define-command.js'
import { codeNear, wordsOf } from '../error-codes.js'
import { print } from '../output.js'

export const explainCommand = command({
  name: 'explain',
  says: 'say what the code of an error means, and what to do',
  takes: [['<code>', 'such as settlement_unknown']],
}).does((code, _flags, command) => {
  const words = wordsOf(code)
  if (words.length === 0) {
    const near = codeNear(code)
    const hint = near === undefined ? '' : `. Did you mean ${near}?`
    command.error(`error: '${code}' is no code of svc or of its servers${hint}`)
  }
  for (const line of words) print(line)
})
