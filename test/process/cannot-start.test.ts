/** A program that cannot start says why on one line, without a stack: what is wrong, and the line of its own that it comes from. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, expect, it } from 'vitest'
import { agentSource, projectFolder } from '../cli/project-folder.js'
import { type Ended, ended, hear } from '../cli/run.js'

const PAY_TO = 'HOAUXBIQXBFMV462675FJHAVEX4KYWRJWYZPFXMEDU7PGDMZOHOUGEYXSM'
const NOBODY = 'http://127.0.0.1:1'

const project = projectFolder(
  {
    'agent.js': agentSource('hello'),
    'misspelt.js': agentSource('hello').replace('onReady', 'onRaedy'),
    'caught.js': `
process.on('uncaughtException', ({ code }) => { console.log('caught', code) })
${agentSource('hello')}`.replace('import {', "import process from 'node:process'\nimport {"),
    'elsewhere.js': agentSource('hello').replace('onReady: () => {}', `facilitatorUrl: '${NOBODY}'`),
  },
  true,
)
afterAll(() => project.remove())

function node(file: string, env: Record<string, string> = {}) {
  const paid = { SVC_PAY_TO: PAY_TO, SVC_NETWORK: 'testnet', PORT: '0', ...env }
  return spawn(process.execPath, [file], { cwd: project.path, env: paid })
}

const run = (file: string, env?: Record<string, string>): Promise<Ended> => ended(node(file, env))

it('without an address to pay to', async () => {
  const { code, stderr } = await run('agent.js', { SVC_PAY_TO: '' })
  expect(stderr).toMatch(/^payTo is missing: [^\n]+ \(invalid_address, at file:[^\n]+agent\.js:\d+:\d+\)\n$/)
  expect(code).toBe(1)
})

it('with a misspelt option', async () => {
  const { stderr } = await run('misspelt.js')
  expect(stderr).toMatch(
    /^unknown option 'onRaedy'\. Did you mean 'onReady'\? \(invalid_options, at [^\n]+\)\n$/,
  )
})

it('on a port that is taken', async () => {
  const taken = createServer().listen(0)
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const { code, stderr } = await run('agent.js', { PORT: String(port) })
  taken.close()
  expect(stderr).toMatch(new RegExp(`^Port ${port} is in use: name another [^\\n]+ \\(EADDRINUSE\\)\\n$`))
  expect(code).toBe(1)
})

it('and leaves its end to a program that handles such errors', async () => {
  expect(await run('caught.js', { SVC_PAY_TO: '' })).toEqual({
    code: 0,
    stdout: 'caught invalid_address\n',
    stderr: '',
  })
})

it('a facilitator that does not answer is one line, and on /health', async () => {
  const agent = node('elsewhere.js')
  const { until, ended: gone } = hear(agent)
  const [, port] = await until(/listening on port (\d+)/)
  await until(new RegExp(`^Facilitator ${NOBODY}: [^\\n]*ECONNREFUSED[^\\n]* not charged$`, 'm'))
  const health = await (await fetch(`http://127.0.0.1:${port}/health`)).json()
  expect(health).toMatchObject({
    facilitators: [{ url: NOBODY, answered: false, lastError: expect.stringContaining('ECONNREFUSED') }],
  })
  agent.kill()
  await gone
})
