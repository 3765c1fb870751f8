/** The codes that a program or a command ends with: what each means, what to do, and the exit code of a command that it ends. */
import { ANSWER_CODES, nearest } from '../src/domain/index.js'

export interface ErrorCode {
  readonly code: string
  /** Where nothing was paid. */
  readonly exit: number
  readonly words: string
}

/** A line a code, or several that share their words: `code code exit words`. */
const read = (text: string): readonly ErrorCode[] =>
  [...text.matchAll(/^([a-z_ ]+) (\d) (.+)$/gm)].flatMap(([, codes, exit, words]) =>
    codes!.split(' ').map(code => ({ code, exit: Number(exit), words: words! })),
  )

export const ERROR_CODES = {
  'Definitions and options': read(`
invalid_options 2 An option of serve, SvcClient, one of its calls or another function is wrong or misspelt. The message names it.
invalid_name 1 An endpoint's name is made of lowercase letters, digits, - and /.
duplicate_endpoint 1 Two endpoints have one name.
invalid_price 2 A price is a positive USD amount of at most 6 decimals, such as $0.01.
invalid_timeout 1 An endpoint's timeout is 1000 to 300000 ms.
invalid_endpoint 1 It has no handler, both or neither of price and subscription, a wrong period, method or free path, a schema that does not compile or has no JSON Schema, or an extra that no quote can have.
invalid_agent 1 It has no endpoints, name or description, an unknown network, or a serviceName, iconUrl, merchant or extra that no quote can have.
invalid_handle 1 A handle is 3 to 40 lowercase letters, digits and hyphens.
invalid_address 2 payTo is missing, as where a variable is unset, or is not 58 base32 characters.
invalid_facilitator 1 The URL is invalid, has credentials or is plain http to a public host (advanced.allowHttp accepts the risk); or a facilitator in process is on another network, or without the agent's payTo.
journal_unwritable 1 The file of the option journal cannot be opened and written to.
journal_locked 1 Another process writes to that journal: give each its own. The lock of an ended process expires within 5 s.`),
  'The client': read(`
no_signer 2 The call costs, and there is no key: give mnemonic or secretKey, --wallet or SVC_MNEMONIC.
invalid_key 2 The key is invalid, or the signer signed for another address: give 25 words, or 64 bytes.
signer_timeout 1 The signer took longer than timeoutMs. Call again; people need a longer one.
no_opt_in 1 The account is not opted in to USDC: svc wallet optin.
insufficient_funds 1 The account has less USDC than the call costs: send it some.
price_above_max 3 The quote is above maxPrice, or in svc mcp above the price of the tool. Raise it (svc mcp: the same call again accepts the new price), or do not buy.
daily_cap_reached 3 The call would exceed maxPerDay: wait, or raise it.
reservation_lost 1 The ledger lost the call's reservation, or signing took more than a day. Call again; check the ledger.
unreadable_quote 3 The 402 has no readable quote, or none in USDC on the client's network: check network; else the seller must correct it.
resource_elsewhere 3 The quote is for another origin: with strictResource an error, else a warning. The seller's proxy may change the host.
network_mismatch 1 The node, the quote or the journal is of another network: set network and algodUrl to one.
fee_too_high 1 The node asks for an absurd network fee: use another.
network_error 1 The server did not answer. With detail.txId, a payment was sent: see detail.charged. Without it, try again.
call_failed 1 Any other failure: see the code in detail.body (2,000 characters at most, of a text or large JSON), and detail.charged.
aborted 1 The signal was aborted: see detail.charged.
stream_broken 1 A stream ended early, or no byte came for idleTimeoutMs. Use what came, or ask the seller to make it good: where detail.charged is yes, calling again may pay again.
not_an_event_stream event_too_large 1 The answer of events(), which was paid, has no server-sent events, or one of more than 16 Mi characters: read body.
not_a_balance 1 topUp found another quote than asked for; or an answer without a key, and then detail.charged is yes: ask the seller.
balance_required 3 The endpoint takes a balance only, and none here suffices; the message has the call's price: client.topUp(agentUrl, '$5'), or svc balance.
balance_busy 1 Another process buys a balance there, or another wallet's purchase is in doubt: try again.
balance_file_unusable 1 The file of svc balance cannot be read, written or locked: see its rights.
balance_gone 1 The end of an earlier call with this key is not known, and its balance is gone. It may have been charged: ask the seller.
not_a_subscription 1 subscribe: the endpoint sells single calls; or the answer had no key, and then detail.charged is yes if it was paid. Use call.
invalid_subscription 2 useSubscription got an invalid key or end: give the seller's.
subscription_refused 3 The seller wants payment, although the window of the held key has not ended, or has calls left. Ask the seller, who may have lost it; subscribe buys another, and after dropSubscription calls pay again.
invalid_url 2 The URL is not absolute, not http(s), or has credentials.
invalid_request 2 The body or a header cannot be sent, the quote declares another method, body or query, or sells a balance, whose key a call would lose: the message says which.
invalid_manifest 1 The answer is no manifest: check the URL.`),
  'Warnings of the client': read(`
key_refused 0 The seller refused the window's key at its end, or the end is not known, so this call was paid for.
idempotency_not_offered 0 The seller does not say that it keeps keys: another call with yours may be charged again.
balance_mismatch 0 The receipt, or the balance that was bought, is not what was agreed: ask the seller.
charged_above_max 0 The seller took more of the balance than the call's limit: ask the seller.
top_up_failed 0 The balance could not be topped up. What it had paid for the call.
fewer_calls_than_sold 0 The seller's count of a window is below what its quote sold.
receipt_missing receipt_mismatch 0 It was paid, and the receipt is missing or names another payment. client.receipts is your own record.
body_unreadable 0 The body does not fit its content type, or is JSON of more than 512 levels: data is its text or bytes.`),
  'The command line': read(`
usage 2 An unknown command or flag, or a bad argument: svc <command> --help.
invalid_network 2 SVC_NETWORK is neither mainnet, testnet nor a file that defines a network; the agent names mainnet under SVC_SANDBOX; or the node of svc localnet is public.
entry_not_found 2 svc dev finds no program: name it.
typescript_unsupported 2 TypeScript needs Node 22.6: use that, or build and name the .js file.
port_in_use 1 Another program has the port, or you may not use it: --port or PORT.
module_not_found 1 The agent imports what is not there. svc dev starts it anew when the file comes.
file_unusable 2 A file cannot be opened, read or written.
output_unwritable 1 The disk is full, or the reader of the pipe left; 4 after a payment. The lines before name the payment, and the command that asks for the answer.
wallet_file_unusable sponsor_file_unusable 2 The file cannot be opened, has no 25 words, or others can use it: chmod 600.
tx_not_found 1 Neither node nor indexer has seen it. It may land until its last valid round, 5 minutes for most payments, 50 at most: ask again before you pay again. --last-valid <round> says when it is over.
tx_expired 1 That round is over and nobody has it: it can no longer land, and you may pay again.
tx_pending 1 The node has it, and it has not landed yet.
tx_dropped 1 The node gave it up; through another node it may land until its last valid round.
not_a_payment 1 It landed and moved no USDC: it proves no payment.
rule_broken 1 svc trigger: the agent broke a rule. Report it with the printed lines.
sandbox_unavailable 1 There is no sandbox at SVC_SANDBOX: svc sandbox or svc dev --sandbox.
directory_not_empty file_exists 2 svc init, svc wallet new --out and svc localnet --out overwrite nothing of yours.
kmd_unavailable localnet_refused 1 svc localnet gets no ALGO from kmd (algokit localnet start, or SVC_LOCALNET_MNEMONIC), or LocalNet refused what was sent.
insufficient_algo 1 There is too little ALGO for the opt-in: send what the message says.
not_confirmed 2 svc wallet optin on mainnet wants a yes, or --yes.
optin_refused 1 The opt-in did not land and cannot any more: try again.
optin_unknown 4 The opt-in was sent and may still land: look txId up.
bazaar_unavailable 1 The facilitator's index cannot be read: another --facilitator.
audit_unavailable 1 The agent gives no journal: serve it with audit, and ask from its machine or with the token.
differences_found 1 Journal and chain disagree, as printed.
journal_incomplete 1 Nothing differs, but the journal lost calls, has unreadable lines, or begins after --from: compare it with a backup, and the sums with the chain.
refunds_owed 1 Payments landed and were not answered, or not wholly: send them back.
empty_journal mixed_journal 2 No run in the period, or no first line; more than one payTo or network: audit each by itself.
not_proved 1 A property of the machines does not hold: do not run this copy, and report it.`),
  'Your own facilitator': read(`
invalid_payment_requirements 1 Not to a listed payTo, not in the network's USDC, or below amountMin.
sponsor_budget_exhausted 1 The day's fees would exceed feePerDayMax: raise it, or wait until midnight UTC; or the sponsor is short of ALGO: send it some. Nothing was submitted.
invalid_exact_avm_simulation_failed 1 The node would refuse the payment (money, opt-in, rounds), or it was submitted before.
invalid_exact_avm_settlement_failed 1 The node refused it, or it has landed before (already in ledger: look transaction up).
invalid_exact_avm_confirmation_failed 1 The node took the payment and dropped it.
settlement_pending 1 Submitted, and not landed yet: ask again with the same payment, or look transaction up.
facilitator_closed 1 close() was called, so verify and settle reject. That call submitted nothing.`),
  'The sandbox': read(`
foreign_host 1 The Host is no name of this machine: localhost, 127.0.0.1 or [::1].
foreign_origin 1 A page of another site called the sandbox, or one of another port its control routes.
invalid_sandbox invalid_fault 2 An option or a fault is wrong, as the message says.
invalid_fund invalid_rounds 1 A request to the sandbox's own routes is wrong, as the message says.
sandbox_error 1 The sandbox failed: report it.`),
} as const

const FAILED = 1

export function exitOf(code: string): number {
  const row = Object.values(ERROR_CODES)
    .flat()
    .find(known => known.code === code)
  return row?.exit ?? FAILED
}

const everyCode = () => [...Object.values(ERROR_CODES), ...Object.values(ANSWER_CODES)].flat()

export function wordsOf(code: string): readonly string[] {
  return everyCode()
    .filter(row => row.code === code)
    .map(({ words }) => words)
}

/** The code that a misspelt one is nearest to. */
export function codeNear(given: string): string | undefined {
  const codes = everyCode().map(({ code }) => code)
  return nearest(given, codes)
}
