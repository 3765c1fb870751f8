/** Whether a Redis is set up to keep what it acknowledged. INFO, because managed servers often refuse CONFIG. */
import type { Connection } from './connection.js'

const KEEPS = [
  {
    field: 'maxmemory_policy',
    wanted: 'noeviction',
    otherwise: 'a server short of memory drops claims and payments that guard against double charges',
  },
  {
    field: 'aof_enabled',
    wanted: '1',
    otherwise: 'a restart forgets payments that were taken since the last snapshot',
  },
  {
    field: 'role',
    wanted: 'master',
    otherwise: 'a replica takes no writes: every paid call will be refused',
  },
] as const

/** What is wrong with the server, a sentence each; nothing where it is fit. Fields that it does not tell are not judged. */
export async function postureOf(connection: Connection, waitReplicas = 0): Promise<readonly string[]> {
  const info = await connection.send(redis => redis.info())
  const told = (field: string) => new RegExp(`^${field}:(\\S*)`, 'm').exec(info)?.[1]
  const warnings = KEEPS.flatMap(({ field, wanted, otherwise }) => {
    const is = told(field)
    return is === undefined || is === wanted ? [] : [`Redis says ${field} ${is}, not ${wanted}: ${otherwise}`]
  })
  const replicas = Number(told('connected_slaves') ?? waitReplicas)
  if (replicas >= waitReplicas) return warnings
  const lacking = `Redis says connected_slaves ${replicas}, and waitReplicas is ${waitReplicas}`
  return [...warnings, `${lacking}: paid calls will be refused`]
}
