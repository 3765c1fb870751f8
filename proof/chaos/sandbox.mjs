/** The chain and the facilitator, in a process of their own that nobody kills: the truth that everything is held against. */
import { startSandbox } from '../../dist/src/sandbox.js'

const { url, seller } = await startSandbox(JSON.parse(process.argv[2]))
console.log(JSON.stringify({ url, payTo: seller.address }))
