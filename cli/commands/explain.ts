/** `svc explain`: what a code means, and what to do. */
import type { Command } from 'commander'
import { codeNear, wordsOf } from '../error-codes.js'
import { print } from '../output.js'

export function explainCommand(program: Command): void {
  program
    .command('explain')
    .description('say what the code of an error means, and what to do')
    .argument('<code>', 'such as settlement_unknown')
    .action((code: string, _flags, command: Command) => {
      const words = wordsOf(code)
      if (words.length === 0) {
        const near = codeNear(code)
        const hint = near === undefined ? '' : `. Did you mean ${near}?`
        command.error(`error: '${code}' is no code of svc or of its servers${hint}`)
      }
      for (const line of words) print(line)
    })
}
