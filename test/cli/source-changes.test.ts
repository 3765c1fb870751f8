import { join } from 'node:path'
import { expect, it } from 'vitest'
import { signatureOf } from '../../cli/dev/module-hooks.js'
import { sourceChanges } from '../../cli/dev/source-changes.js'
import { closing } from '../support/closing.js'
import { projectFolder } from './project-folder.js'

it('notices a source that was changed in its place after its import, and before that was reported', async () => {
  const at = projectFolder({ 'agent.mjs': '', 'word.mjs': 'export default "old"' })
  closing({ close: () => at.remove() })
  const word = join(at.path, 'word.mjs')
  const changes = closing(await sourceChanges(join(at.path, 'agent.mjs')))
  const imported = signatureOf(word)
  at.write('word.mjs', 'export default "new", longer')
  changes.add(word, imported)
  expect(await changes.next()).toBeUndefined()
})
