/** Edits of the Lua scripts that no test can notice, by the reason why they change nothing. */
const BY_REASON: Readonly<Record<string, readonly string[]>> = {
  'The same states list both events, and the drawing leads them to the same state.': [
    "open: if lists(claim, '[orphaned -> completed]') then",
    "open: if lists(claim, '[orphaned -> found]') then",
    "open: if lists(claim, '[orphaned -> dead]') then",
    "open: move(claim, '[orphaned -> renewed]')",
    "open: local event = claim and '[reopened -> renewed]' or 'opened'",
    "record: local claimReady = not claim or lists(claim, '[recorded -> served]')",
    "record: local claimReady = not claim or lists(claim, '[recorded -> reopened]')",
    "record: local paymentReady = not payment or lists(payment, '[recorded -> opened]')",
    "renew: return record and record.token == token and lists(record, '[renewed -> released]')",
    "renew: if lists(record, '[recorded -> lapsed]') then redis.call('PEXPIRE', record.name, leaseMs + 60000) ",
    "close: local CLOSING_EVENTS = {['complete']={['claim']={'[completed -> found]','served'},['payment']={'completed','released'}},['forfeit'",
    "close: 'complete']={['claim']={'completed','served'},['payment']={'[completed -> found]','released'}},['forfeit']={['claim']={'forfeited'},['paymen",
    "close: ayment']={'completed','released'}},['forfeit']={['claim']={'[forfeited -> released]'},['payment']={'completed','released'}},['release']={['clai",
    "close: eased'}},['forfeit']={['claim']={'forfeited'},['payment']={'[completed -> found]','released'}},['release']={['claim']={'released'},['payment",
    "close: ayment']={'completed','released'}},['release']={['claim']={'[released -> forfeited]'},['payment']={'released'}}}",
    "close: return not lists(claim, '[orphaned -> completed]') or redis.call('HGET', claim.name, 'recordedBy') == token",
    "close: return not lists(claim, '[orphaned -> found]') or redis.call('HGET', claim.name, 'recordedBy') == token",
    "close: return not lists(claim, '[orphaned -> dead]') or redis.call('HGET', claim.name, 'recordedBy') == token",
    "close: if not answered and not answer then how = '[release -> forfeit]' end",
    "resolve: if not lists(claim, '[orphaned -> completed]') then",
    "resolve: if not lists(claim, '[orphaned -> found]') then",
    "resolve: if not lists(claim, '[orphaned -> dead]') then",
    "resolve: local decides = recorded and lists(recorded, '[found -> completed]')",
    "resolve: move(claim, '[found -> completed]')",
    "resolve: move(claim, '[released -> forfeited]')",
    "prelude: if payment.token == token and lists(payment, '[opened -> recorded]') then return 'opened' end",
  ],
  'It leads from settling to settling; it is written because a move is an event of the drawing.': [
    "open: [move(claim, 'orphaned') -> ]",
  ],
  'A claim that lapsed lists what one at work lists; its lease is compared by itself. A payment is the same in both.':
    [
      "prelude: if nowMs >= record.leaseEndsMs and lists(record, '[lapsed -> opened]') then move(record, 'lapsed') end",
      "prelude: if nowMs >= record.leaseEndsMs and lists(record, '[lapsed -> recorded]') then move(record, 'lapsed') end",
    ],
  'A payment of ours that lapsed is free for everybody, so for us.': [
    "prelude: if payment.token == token and lists(payment, '[opened -> lapsed]') then return 'opened' end",
  ],
  'State and token are written together: where one is missing, so is the other.': [
    'prelude: if not stored[[1 -> 2]] then return nil end',
  ],
  'There is no key number 0.': [
    'prelude: for at = [1 -> 0], #KEYS do key[ARGV[1]:sub(at, at)] = KEYS[at] end',
  ],
  'Without a claim the payment is renewed twice, to the same end.': [
    'renew: for _, record in ipairs({ claim or payment, [claim -> payment] and payment }) do',
  ],
  'No entry counts from the first two milliseconds of 1970.': [
    "ledger: al known = tonumber(redis.call('ZSCORE', entries, name) or '[0 -> 1]')",
  ],
  'Two are read where the first is used.': [
    "attach: ) > 100000 then spend(redis.call('ZRANGE', due[network], 0, [0 -> 1])[1]) end",
  ],
  'Postponed to the round that it is due at already.': [
    "postpone: if known and tonumber(known) <[ -> =] tonumber(ARGV[4]) then redis.call('ZADD', queue, ARGV[4], e",
  ],
  'Nobody reads the result of this move, only the sum beside it.': [
    'release: return answer([1 -> 0])',
    'release: return answer([1 -> 2])',
    'postpone: return answer([1 -> 0])',
    'postpone: return answer([1 -> 2])',
    "settle: is.call('HEXISTS', payments, entry) == 0 then return answer([0 -> 1]) end",
    'settle: return answer([1 -> 0])',
    'settle: return answer([1 -> 2])',
  ],
}

/** The reason by the edit. */
export const SURVIVORS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(BY_REASON).flatMap(([reason, edits]) => edits.map(edit => [edit, reason])),
)
