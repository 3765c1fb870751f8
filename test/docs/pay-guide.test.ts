/** The programs that the guide to `client.fetch` shows, as they are there, against an agent of this test. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { ROOT } from '../cli/project-folder.js'
import { listen } from '../support/listen.js'
import { openSeller, type Seller } from '../support/seller.js'
import { codeBlocks } from './code-blocks.js'

const programs = codeBlocks().filter(({ file }) => file.endsWith('pay-from-what-already-calls.md'))
const run = promisify(execFile)

/** The first program makes the client that the others take. */
const [MADE] = /import \{ SvcClient[\s\S]*?\nconst client = .+\n/.exec(programs[0]!.code)!

let project: string
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'svc-pay-guide-'))
  mkdirSync(join(project, 'node_modules/@svc'), { recursive: true })
  mkdirSync(join(project, 'node_modules/@anthropic-ai'))
  symlinkSync(ROOT, join(project, 'node_modules/@svc/sdk'))
  for (const name of ['axios', 'openai', '@anthropic-ai/sdk'])
    symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

const price = '$0.01'
const count = defineEndpoint({
  name: 'count',
  price,
  handler: ({ body }) => ({ words: (body as { text: string }).text.split(' ').length }),
})
const eventsOf = (...items: readonly object[]) => {
  const text = items.map(
    item => `${'type' in item ? `event: ${item.type}\n` : ''}data: ${JSON.stringify(item)}\n\n`,
  )
  return new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } })
}
const completions = defineEndpoint({
  name: 'completions',
  price,
  stream: true,
  handler: () => eventsOf({ choices: [{ index: 0, delta: { content: 'They sing.' } }] }),
})
const message = { id: 'm1', type: 'message', role: 'assistant', content: [], usage: {} }
const messages = defineEndpoint({
  name: 'messages',
  price,
  stream: true,
  handler: () =>
    eventsOf(
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'They sing.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} },
      { type: 'message_stop' },
    ),
})

const shown = [
  ['a request', 'response.payment', count, '', '200 { words: 3 } 0.01\n'],
  ['OpenAI’s client', "from 'openai'", completions, '/v1/chat', 'They sing.'],
  ['Anthropic’s client', 'anthropic-ai', messages, '/v1', 'They sing.'],
  ['axios', "from 'axios'", count, '', '200 { words: 3 }\n'],
  ['a loop of tools', 'runTools', count, '', 'The tool says {"words":5} spent $0.01\n'],
] as const

/** Calls the first tool that it is given, and says what that told. */
const stubModel = () =>
  listen(async (request, response) => {
    const { messages, tools } = (await json(request)) as {
      messages: { role: string; content: string }[]
      tools: { function: { name: string } }[]
    }
    const [asked, told] = [messages[0]!, messages.find(({ role }) => role === 'tool')]
    const call = { name: tools[0]!.function.name, arguments: JSON.stringify({ text: asked.content }) }
    const message = told
      ? { role: 'assistant', content: `The tool says ${told.content}` }
      : { role: 'assistant', content: null, tool_calls: [{ id: 't1', type: 'function', function: call }] }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
  })

it('they are all that the guide shows', () => {
  expect(programs).toHaveLength(shown.length)
})

it.each(shown)('%s buys what it shows', async (_, mark, endpoint, basePath, output) => {
  const seller: Seller = await openSeller([endpoint], { basePath })
  const { sandbox, url } = seller
  try {
    const [program] = programs.filter(({ code }) => code.includes(mark))
    const made = program === programs[0] ? '' : MADE
    const code = (made + program!.code)
      .replaceAll('https://agent.example', url)
      .replaceAll('https://model.example', await stubModel())
    const { mnemonic } = sandbox.wallet
    const env = {
      PATH: process.env.PATH,
      SVC_SANDBOX: sandbox.url,
      SVC_MNEMONIC: mnemonic,
      OPENAI_API_KEY: 'none',
    }
    const ran = run(process.execPath, ['--input-type=module', '-e', code], { cwd: project, env })
    expect(await ran).toEqual({ stdout: output, stderr: '' })
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(10_000n)
  } finally {
    await seller.close()
    await sandbox.close()
  }
})
