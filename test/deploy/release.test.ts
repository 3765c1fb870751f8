/** What the release workflow promises: pinned actions, few rights, and a provenance statement for the tag's own version. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}
interface Job {
  readonly permissions: Readonly<Record<string, string>>
  readonly needs?: string
  readonly steps: readonly Step[]
}

const text = readFileSync('.github/workflows/release.yml', 'utf8')
const workflow = parse(text)
const { test, publish } = workflow.jobs as { readonly test: Job; readonly publish: Job }
const steps = [...test.steps, ...publish.steps]

describe('the release workflow', () => {
  it('names each action by the hash of a commit, with its version beside it', () => {
    const actions = steps.flatMap(({ uses = [] }) => uses)
    expect(actions).toHaveLength(4)
    for (const action of actions) {
      expect(action).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40}$/)
      expect(text).toMatch(new RegExp(`${action} # v\\d+\\.\\d+\\.\\d+\\n`))
    }
  })

  it('publishes with provenance, after the tests, with no right and no secret that it does not need', () => {
    expect(workflow.permissions).toEqual({})
    expect(test.permissions).toEqual({ contents: 'read' })
    expect(publish.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
    expect(publish.needs).toBe('test')
    expect(publish.steps.at(-1)!.run).toMatch(/^npm publish .*--provenance/)
    expect(text).not.toContain('secrets.')
  })

  it('runs no script of a dependency and takes nothing from a cache where it can publish', () => {
    for (const { run } of publish.steps)
      if (run?.startsWith('npm ci')) expect(run).toContain('--ignore-scripts')
    for (const step of steps.filter(({ uses }) => uses?.startsWith('actions/setup-node')))
      expect(step.with).toMatchObject({ 'package-manager-cache': false })
  })
})
