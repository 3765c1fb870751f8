/** npm's `prepublishOnly`, and a step of the release workflow: refuses a package that does not say where it comes from. */
import { readFileSync } from 'node:fs'

const given = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const missing = ['repository', 'homepage', 'bugs'].filter(name => {
  const { url = given[name] } = Object(given[name])
  return typeof url !== 'string' || !/^(git\+)?https:\/\/./.test(url)
})
if (missing.length > 0) {
  console.error(
    `Not released: package.json has no https address as ${missing.join(', ')}. Users find the sources, the documents and where to report by them.`,
  )
  process.exit(1)
}
