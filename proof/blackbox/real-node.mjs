/**
 * A real node in place of the sandbox, at the paths of the sandbox: the node under /v2, a facilitator beside it that can fail, a faucet, and
 * the seller's transfers. The node is private and says that it is testnet; the account of the 25 words has ALGO and the USDC of testnet.
 */
import { createServer } from 'node:http'
import algosdk from 'algosdk'
import { serveFacilitator } from '../../dist/src/facilitator/serve-facilitator.js'
import { createFacilitator } from '../../dist/src/facilitator.js'

const { algodUrl, algodToken } = JSON.parse(process.argv[2])
const USDC = 10458941
const { origin, port } = new URL(algodUrl)
const algod = new algosdk.Algodv2(algodToken, origin, port)
const funder = algosdk.mnemonicToSecretKey(process.env.BLACKBOX_MNEMONIC)
const seller = algosdk.generateAccount()
const sponsor = algosdk.generateAccount()
const payTo = String(seller.addr)

const params = async () => ({ ...(await algod.getTransactionParams().do()), flatFee: true, fee: 1_000 })

/** One group, signed by each sender in turn. */
async function send(txns, keys) {
  if (txns.length > 1) algosdk.assignGroupID(txns)
  const { txid } = await algod.sendRawTransaction(txns.map((txn, at) => txn.signTxn(keys[at]))).do()
  await algosdk.waitForConfirmation(algod, txid, 20)
}

async function give(address, microAlgos) {
  const suggestedParams = await params()
  return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    ...{ sender: funder.addr, receiver: address, amount: microAlgos, suggestedParams },
    note: crypto.getRandomValues(new Uint8Array(8)),
  })
}

/** Gives ALGO, opts in, and gives USDC. */
async function fund({ addr, sk }, microAlgos, usdc) {
  const suggestedParams = await params()
  const transfer = (sender, amount) =>
    algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...{ sender, receiver: addr, amount, assetIndex: USDC, suggestedParams },
    })
  const txns = [await give(addr, microAlgos), transfer(addr, 0), transfer(funder.addr, usdc)]
  await send(txns, [funder.sk, sk, funder.sk])
}

const transfers = []
let seen = Number((await algod.status().do()).lastRound)

/** Reads each block of the node, as an indexer does. */
async function follow() {
  const { lastRound } = await algod.statusAfterBlock(seen).do()
  for (; seen < Number(lastRound); seen++) {
    const { block } = await algod.block(seen + 1).do()
    for (const { signedTxn, hasGenesisID } of block.payset) {
      const { txn } = signedTxn.signedTxn
      const { receiver, amount = 0n, assetIndex } = txn.assetTransfer ?? {}
      if (String(receiver) !== payTo || Number(assetIndex) !== USDC || amount === 0n) continue
      // A block leaves out what is the same in all its transactions.
      txn.genesisHash = block.header.genesisHash
      if (hasGenesisID) txn.genesisID = block.header.genesisID
      transfers.push({
        id: txn.txID(),
        'asset-transfer-transaction': { amount: Number(amount), receiver: payTo },
      })
    }
  }
}
const following = async () => {
  for (;;) await follow().catch(error => console.error(error))
}

await fund(seller, 1_000_000, 0)
await send([await give(sponsor.addr, 1_000_000_000)], [funder.sk])
const facilitator = createFacilitator({
  ...{ network: 'testnet', algodUrl, algodToken, payTo: 'anyone', feePerDayMax: 100_000_000 },
  sponsor: { mnemonic: algosdk.secretKeyToMnemonic(sponsor.sk) },
})
const served = await serveFacilitator(facilitator, {
  ...{ port: 0, host: '127.0.0.1' },
  options: { perMinute: 1_000_000 },
})
following()

const faults = new Map()

async function passOn(request, body, base, headers) {
  const { method, url } = request
  const type = request.headers['content-type']
  const asked = { method, headers: { ...headers, ...(type && { 'content-type': type }) } }
  const answer = await fetch(base + url, { ...asked, ...(body.length > 0 && { body }) })
  return [answer.status, answer.headers.get('content-type'), Buffer.from(await answer.arrayBuffer())]
}

/** Answers as the facilitator, unless it is to fail. What the sandbox can do besides is passed on. */
async function asFacilitator(request, response, body) {
  const fault = faults.get(request.url.slice(1))
  if (fault === 'hang') return undefined
  if (fault === 'reset' || fault === 'die-before') return void response.destroy()
  if (fault === '500') return [500, 'text/plain', 'broken']
  const answer = await passOn(request, body, served.url)
  if (fault === 'die-after') return void response.destroy()
  return fault === 'error-after' ? [500, 'text/plain', 'broken'] : answer
}

const json = value => [200, 'application/json', JSON.stringify(value)]

async function answerTo(request, response, body) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  if (pathname === '/sandbox/fund') {
    const { secretKey, microAlgos, usdc } = JSON.parse(body)
    const sk = new Uint8Array(Buffer.from(secretKey, 'base64'))
    await fund({ addr: JSON.parse(body).address, sk }, microAlgos, Number(usdc))
    return json({})
  }
  if (pathname === '/sandbox/faults') {
    if (request.method === 'DELETE') faults.delete(searchParams.get('stage'))
    else faults.set(JSON.parse(body).stage, JSON.parse(body).behaviour)
    return json({})
  }
  if (pathname === `/v2/accounts/${payTo}/transactions`) {
    const { lastRound } = await algod.status().do()
    while (seen < Number(lastRound)) await new Promise(resolve => setTimeout(resolve, 50))
    return json({ transactions: transfers })
  }
  if (pathname.startsWith('/v2/')) return passOn(request, body, algodUrl, { 'x-algo-api-token': algodToken })
  return asFacilitator(request, response, body)
}

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    const answer = await answerTo(request, response, Buffer.concat(chunks))
    if (answer === undefined) return
    response.writeHead(answer[0], { 'content-type': answer[1] ?? 'application/octet-stream' }).end(answer[2])
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}`, payTo })),
)
