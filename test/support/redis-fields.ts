/** What Redis keeps under a key, whatever its type. */
import type { Redis } from 'ioredis'

const UNPACK = /* lua */ `return cmsgpack.unpack(redis.call('GET', KEYS[1]))`

/** The fields of a record, also where it is a string, as a completed claim is, or the order of what is kept. */
export async function fieldsOf(redis: Redis, key: string): Promise<Record<string, Buffer>> {
  const type = await redis.type(key)
  if (type === 'hash') return redis.hgetallBuffer(key)
  if (type === 'zset') {
    const names = await redis.zrange(key, '0', '-1')
    const scores = await Promise.all(names.map(name => redis.zscore(key, name)))
    return Object.fromEntries(names.map((name, at) => [name, Buffer.from(String(scores[at]))]))
  }
  const packed: unknown = await redis.callBuffer('EVAL', UNPACK, 1, key)
  const [token, bodyHash, isRecordedByToken, answer, txId, caller] = packed as unknown[]
  const final = { state: Buffer.from('completed'), token, bodyHash, answer, txId, caller }
  const kept = Object.entries(isRecordedByToken ? { ...final, recordedBy: token } : final)
  const isText = (entry: [string, unknown]): entry is [string, Buffer] => Buffer.isBuffer(entry[1])
  return Object.fromEntries(kept.filter(isText))
}
