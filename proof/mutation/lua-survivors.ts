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
    "close: return not lists(claim, '[orphaned -> completed]') or read(claim, 'recordedBy')[1] == token",
    "close: return not lists(claim, '[orphaned -> found]') or read(claim, 'recordedBy')[1] == token",
    "close: return not lists(claim, '[orphaned -> dead]') or read(claim, 'recordedBy')[1] == token",
    "resolve: if not lists(claim, '[orphaned -> completed]') then",
    "resolve: if not lists(claim, '[orphaned -> found]') then",
    "resolve: if not lists(claim, '[orphaned -> dead]') then",
    "resolve: local decides = recorded and lists(recorded, '[found -> completed]')",
    "resolve: move(claim, '[found -> completed]')",
    "resolve: move(claim, '[released -> forfeited]')",
    "prelude: if payment.token == token and lists(payment, '[opened -> recorded]') then return 'opened' end",
    "open: if lists(claim, '[recorded -> served]') then return payment.token == claim.token end",
    "open: if lists(claim, '[recorded -> reopened]') then return payment.token == claim.token end",
    "close: local CLOSING_EVENTS = {['complete']={['claim']={'[completed -> orphaned]','served'},['payment']={'completed','released'}},['forfeit'",
    "close: local CLOSING_EVENTS = {['complete']={['claim']={'[completed -> dead]','served'},['payment']={'completed','released'}},['forfeit'",
    "close: local isFree = not named or (lists(named, '[recorded -> served]') and named.leaseEndsMs <= nowMs)",
    "close: local isFree = not named or (lists(named, '[recorded -> reopened]') and named.leaseEndsMs <= nowMs)",
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
    'units: if not stored or not stored[[1 -> 2]] then return nil end',
  ],
  'What this call has recorded is settling or completed, and only the first lists either event.': [
    "record: if claim and lists(claim, '[completed -> released]') then redis.call('HSET', claim.name, 'answer', ARGV[7]) en",
    "record: if claim and lists(claim, '[completed -> forfeited]') then redis.call('HSET', claim.name, 'answer', ARGV[7]) en",
    "record: if claim and lists(claim, '[completed -> renewed]') then redis.call('HSET', claim.name, 'answer', ARGV[7]) en",
    "record: if claim and lists(claim, '[completed -> orphaned]') then redis.call('HSET', claim.name, 'answer', ARGV[7]) en",
    "record: if claim and lists(claim, '[completed -> found]') then redis.call('HSET', claim.name, 'answer', ARGV[7]) en",
    "record: if claim and lists(claim, '[completed -> dead]') then redis.call('HSET', claim.name, 'answer', ARGV[7]) en",
  ],
  'What is stored as a string is completed; the move is written because it is an event of the drawing.': [
    "resolve: [move(claim, 'found') -> ]",
    "resolve: move(claim, '[found -> renewed]')",
    "resolve: move(claim, '[found -> orphaned]')",
    "resolve: move(claim, '[found -> dead]')",
  ],
  'It only saves a command: there is nothing to delete, or the same life is set again.': [
    "tasks: if redis.call('PTTL', key) <[ -> =] lifeMs then redis.call('PEXPIRE', key, lifeMs) end",
    "takeTask: if not isCompleted and redis.call('PTTL', name) <[ -> =] lifeMs then",
    'prelude: ng = drawing, name = name, state = drawing.initial, isNew = [true -> false] }',
    "prelude: if [not record.isNew -> true] then redis.call('HDEL', record.name, 'answer', unpack(FIELD",
    "units: if [#units.lapsed > 0 -> true] then redis.call('ZREMRANGEBYSCORE', key.v, '-inf', nowMs) e",
    'units: if [units and nowMs + lifeMs < units.endsAtMs -> false] then',
    'units: if units and nowMs + lifeMs <[ -> =] units.endsAtMs then',
    "units: if #units.lapsed >[ -> =] 0 then redis.call('ZREMRANGEBYSCORE', key.v, '-inf', nowMs)",
    "units: if unitsMs <[ -> =] lifeMs then redis.call('PEXPIRE', key.u, lifeMs) end",
    "units: if [redis.call('PTTL', key.v) < lifeMs -> true] then redis.call('PEXPIRE', key.v, lifeMs) end",
    "units: if redis.call('PTTL', key.v) <[ -> =] lifeMs then redis.call('PEXPIRE', key.v, lifeMs) end",
  ],
  'Only WAIT sees the write: test/contracts/redis-replicated.test.ts.': [
    'open: [if key.u then writeAgain(claim.name) end -> ]',
    'open: if [key.u -> true] then writeAgain(claim.name) end',
    'open: if [key.u -> false] then writeAgain(claim.name) end',
    'close: [writeAgain(claim.name) -> ]',
    'sell: [writeAgain(key.u) -> ]',
  ],
  'Sums count by their differences alone, and the condition in the loop decides.': [
    'prelude: local total = (tonumber(newest[2]) or [0 -> 1]) + bytes + 1024',
    'prelude: while total >[ -> =] 4194304 do',
  ],
  'Lua counts from 1, and reads a place 0 as that.': [
    "windows: local leaseEndsMs = fields[at]:sub([1 -> 0], 2) == 't:' and tonumber(fields[at + 1]) or 0",
    "prelude: local place = key.k:sub([1 -> 0], -#'kept' - 1) .. 'claim:'",
  ],
  'A name comes with its score.': [
    "prelude: redis.call('PEXPIRE', key.k, retentionMs, newest[[1 -> 2]] and 'GT' or 'NX')",
  ],
  'No caller is called true.': [
    'prelude: edBy == claim.token, answer, txId, wasAdopted and caller or [false -> true] }',
  ],
  'Claim and payment of one call move together, and with the payment of another call both ways refuse.': [
    "open: if lists([claim -> payment], 'recorded') then return payment.token == claim.token end",
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
  'It only saves a walk over the calls at work, which finds the same.': [
    'windows: [if window.reserved == 0 or nowMs < window.lapsesMs then return end -> ]',
    'windows: if [window.reserved == 0 or nowMs < window.lapsesMs -> false] then return end',
    'windows: if window.reserved == 0 [or -> and] nowMs < window.lapsesMs then return end',
    "windows: [redis.call('HSET', name, 'reserved', window.reserved, 'lapsesMs', window.lapsesMs) -> ]",
  ],
  'The first look at a sold window counts its calls at work anew.': [
    "sellWindow: expiresAtMs', expiresAtMs, 'unused', callsLeft, 'reserved', [0 -> 1], 'lapsesMs', 0)",
    "sellWindow: xpiresAtMs, 'unused', callsLeft, 'reserved', 0, 'lapsesMs', [0 -> 1])",
    "sellWindow: endpoint, 'expiresAtMs', expiresAtMs, 'unused', callsLeft, '[reserved -> lapsesMs]', 0, 'lapsesMs', 0)",
  ],
  'No lease ends in the first milliseconds of 1970.': [
    'windows: elseif leaseEndsMs > [0 -> 1] then',
    "takeOfWindow: if tonumber(redis.call('HGET', name, token) or 0) > [0 -> 1] then return { 'taken', callsLeft } end",
  ],
  'Only whether it is there is read.': [
    "endTask: redis.call('HSET', name, 'isCompleted', [1 -> 0])",
    "endTask: redis.call('HSET', name, 'isCompleted', [1 -> 2])",
  ],
  'Only its length is read.': ["prelude: local place = key.k:sub(1, -#'[kept -> full]' - 1) .. 'claim:'"],
  'What lives for no time is deleted at once.': ['sell: elseif nowMs <[ -> =] endsAtMs then'],
  'Two are read where the first is used.': [
    "prelude: local oldest = redis.call('ZRANGE', key.k, 0, [0 -> 1], 'WITHSCORES')",
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
