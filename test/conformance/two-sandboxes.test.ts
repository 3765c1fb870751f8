/** The questions of `npm run conformance`: that all of them can be asked, that a difference is seen, and that the command starts. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Peer } from '../../proof/conformance/peer.js'
import { questions } from '../../proof/conformance/questions/all.js'
import { reasonFor, reasons } from '../../proof/conformance/reasons.js'
import { answers, compare } from '../../proof/conformance/run.js'
import { sandboxPeer } from '../../proof/conformance/sandbox-peer.js'
import { tableOf } from '../../proof/conformance/table.js'
import { ROOT } from '../cli/project-folder.js'
import recorded from '../vectors/algod-answers.json' with { type: 'json' }

async function betweenSandboxes(change: (peer: Peer) => Peer = peer => peer, only?: string) {
  const [one, other] = [await sandboxPeer(), await sandboxPeer('another sandbox')]
  try {
    return await compare(one, change(other), { seed: 'two sandboxes', only })
  } finally {
    await one.close()
    await other.close()
  }
}

describe('the questions', () => {
  it('are 200 or more, each with its own name', () => {
    const names = questions.map(({ name }) => name)
    expect(names.length).toBeGreaterThanOrEqual(200)
    expect(new Set(names).size).toBe(names.length)
  })

  it('can all be asked, and two sandboxes answer them alike', async () => {
    const { asked, differences } = await betweenSandboxes()
    expect(asked).toBe(questions.length)
    expect(differences).toEqual([])
  })

  it('are answered as the real node answered them, but where there is a reason', async () => {
    const peer = await sandboxPeer()
    const told = await answers(peer, questions, recorded.seed)
    await peer.close()
    const node = recorded.answers as Readonly<Record<string, unknown>>
    expect(Object.keys(node)).toEqual(questions.map(({ name }) => name))
    for (const [at, { name }] of questions.entries()) {
      if (reasonFor(name) === undefined) expect([name, told[at]]).toEqual([name, node[name]])
      // A reason that is not needed any more is a line that nobody needs.
      else expect([name, told[at]]).not.toEqual([name, node[name]])
    }
  })

  it('tell a field that differs', async () => {
    const changed = (peer: Peer): Peer => ({
      ...peer,
      async ask(asked) {
        const told = await peer.ask(asked)
        const text = Buffer.from(told.body).toString()
        return { ...told, body: Buffer.from(text.replace('"fee":', '"price":')) }
      },
    })
    const { differences } = await betweenSandboxes(changed, 'GET /v2/transactions/params')
    expect(differences).toMatchObject([{ question: 'GET /v2/transactions/params', reason: undefined }])
    const table = tableOf({
      peer: 'another sandbox',
      isInDevelopment: false,
      asked: 1,
      answered: new Map(),
      differences,
    })
    expect(table).toContain('| GET /v2/transactions/params | body.fee: 0 | body.price: 0 | **no reason** |')
  })

  it('with a reason to differ are questions that are asked', () => {
    for (const [pattern] of reasons) {
      expect(
        questions.some(({ name }) => pattern.test(name)),
        String(pattern),
      ).toBe(true)
    }
    expect(reasonFor('GET /v2/status')).toBeUndefined()
  })
})

it('the command starts, and says nothing differs between two sandboxes', async () => {
  const args = ['proof/conformance/run.mjs', '--only', 'an account']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT })
  expect(stdout).toMatch(/^\d+ questions to the sandbox and to another sandbox: 0 differences/)
})
