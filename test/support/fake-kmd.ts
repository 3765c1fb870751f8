/** A kmd with one wallet, for the test that is running: its REST as go-algorand documents it, for the five questions that are asked. */
import { mnemonicToSecretKey } from 'algosdk'
import { listen } from './listen.js'

export interface FakeKmd {
  readonly url: string
  /** The paths that were asked for, in order. */
  readonly asked: readonly string[]
}

const HANDLE = 'the handle'

export async function fakeKmd(
  mnemonics: readonly string[],
  { token = 'a'.repeat(64), wallet = 'unencrypted-default-wallet' } = {},
): Promise<FakeKmd> {
  const keys = new Map(mnemonics.map(mnemonicToSecretKey).map(({ addr, sk }) => [addr.toString(), sk]))
  const asked: string[] = []

  function answer(path: string, body: Record<string, string>): object | undefined {
    const isOpen = body.wallet_handle_token === HANDLE
    if (path === '/v1/wallets') return { wallets: [{ id: 'w1', name: wallet, driver_name: 'sqlite' }] }
    if (path === '/v1/wallet/init' && body.wallet_id === 'w1' && body.wallet_password === '')
      return { wallet_handle_token: HANDLE }
    if (path === '/v1/key/list' && isOpen) return { addresses: [...keys.keys()] }
    const key = keys.get(String(body.address))
    if (path === '/v1/key/export' && isOpen && body.wallet_password === '' && key)
      return { private_key: Buffer.from(key).toString('base64') }
    return path === '/v1/wallet/release' && isOpen ? {} : undefined
  }

  const url = await listen(async (request, response) => {
    const path = request.url!
    asked.push(path)
    let text = ''
    for await (const chunk of request) text += chunk
    const isKnown = request.headers['x-kmd-api-token'] === token
    const found = isKnown ? answer(path, text === '' ? {} : JSON.parse(text)) : undefined
    const refusal = { error: true, message: isKnown ? 'no such thing' : 'invalid API token' }
    response.writeHead(found ? 200 : 400, { 'content-type': 'application/json' })
    response.end(JSON.stringify(found ?? refusal))
  })
  return { url, asked }
}
