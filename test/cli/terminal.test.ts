/** The command line in a terminal: what moves, what Ctrl-C does. Through `script`, which every Debian has. */
import { spawn } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { honest, marketForFile } from '../client/market.js'
import { FETCH_TIMEOUT_MS, NODE_20, NODE_24, nodeBinary } from './nodes.js'
import { agentSource, projectFolder } from './project-folder.js'
import { hear, inTerminal, MAIN, svc } from './run.js'

const CTRL_C = '\x03'
const SPINNER = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/

const market = marketForFile()
const nodes: Record<string, string> = {}
beforeAll(async () => {
  for (const version of [NODE_20, NODE_24]) nodes[version] = await nodeBinary(version)
}, FETCH_TIMEOUT_MS)

describe.each([NODE_20, NODE_24])('in a terminal, on Node %s', version => {
  it('svc dev --sandbox: the pasted lines pay, and one Ctrl-C ends everything cleanly', async () => {
    const project = projectFolder({ 'src/index.js': agentSource('typed') })
    try {
      const child = inTerminal(['dev', '--sandbox'], { PORT: '0' }, nodes[version]!, project.path)
      const heard = hear(child)
      const [shown] = await heard.until(/Paste this[\s\S]*Ctrl-C stops it\./)
      const [, sandbox] = /export SVC_SANDBOX=(\S+)/.exec(shown)!
      const [, mnemonic] = /export SVC_MNEMONIC='([^']+)'/.exec(shown)!
      const [, pasted] = /svc (call [^\r\n]+)/.exec(shown)!
      const bought = spawn('sh', ['-c', `'${nodes[version]}' '${MAIN}' ${pasted}`], {
        env: { SVC_SANDBOX: sandbox, SVC_MNEMONIC: mnemonic },
      })
      const answer = hear(bought)
      expect(await answer.ended).toBe(0)
      expect(answer.text).toContain('"word":"typed"')

      child.stdin!.write(CTRL_C)
      expect(await heard.ended).toBe(0)
      await expect(fetch(`${sandbox}/sandbox`)).rejects.toThrow()
    } finally {
      project.remove()
    }
  })

  it('svc call: something moves while a slow seller works, and none of it is in the way', async () => {
    const { address, mnemonic } = market.sandbox.accounts(`terminal ${version}`)
    let letGo = () => {}
    const shown = new Promise<void>(resolve => {
      letGo = resolve
    })
    const seller = await market.seller(async (seen, shop) => {
      if (seen.payment) await shown
      return honest(seen, shop)
    })
    const before = market.sandbox.balance(address).usdc!
    const env = { SVC_SANDBOX: market.sandbox.url, SVC_MNEMONIC: mnemonic }
    const child = inTerminal(['call', seller.url, '--max-price', '1'], env, nodes[version]!)
    const heard = hear(child)
    await heard.until(SPINNER)
    letGo()
    expect(await heard.ended).toBe(0)
    const afterwards = heard.text.split('\u001b[2K').at(-1)!
    expect(afterwards).toMatch(/^price +\$0\.01\r\n/)
    expect(afterwards).toContain('{\r\n  "done": true\r\n}\r\n')
    expect(heard.text).not.toContain(mnemonic)
    expect(before - market.sandbox.balance(address).usdc!).toBe(10_000n)
  })

  it('svc sandbox: Ctrl-C ends it cleanly', async () => {
    const child = inTerminal(['sandbox', '--port', '0'], {}, nodes[version]!)
    const heard = hear(child)
    await heard.until(/Ctrl-C stops it\./)
    child.stdin!.write(CTRL_C)
    expect(await heard.ended).toBe(0)
  })
})

it('in a pipe nothing moves and nothing is coloured', async () => {
  const { mnemonic } = market.sandbox.accounts('pipe')
  const seller = await market.seller(honest)
  const env = { SVC_SANDBOX: market.sandbox.url, SVC_MNEMONIC: mnemonic, TERM: 'xterm', FORCE_COLOR: '1' }
  const { stdout, stderr } = await svc(['call', seller.url, '--max-price', '1'], env)
  expect(stdout + stderr).not.toContain('\u001b')
})
