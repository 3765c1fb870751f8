/** Checks that a Redis keeps what it has acknowledged. It reads INFO, because managed servers often refuse CONFIG. */
import type { Connection } from './connection.js'

const SETTINGS = [
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

/** One warning for each setting that endangers stored records. A setting that INFO leaves out is not checked. */
export async function durabilityWarnings(
  connection: Connection,
  waitReplicas = 0,
): Promise<readonly string[]> {
  const info = await connection.send(redis => redis.info())
  const reported = (field: string) => new RegExp(`^${field}:(\\S*)`, 'm').exec(info)?.[1]
  const warnings = SETTINGS.flatMap(({ field, wanted, otherwise }) => {
    const is = reported(field)
    return is === undefined || is === wanted ? [] : [`Redis says ${field} ${is}, not ${wanted}: ${otherwise}`]
  })
  const replicas = Number(reported('connected_slaves') ?? waitReplicas)
  if (replicas >= waitReplicas) return warnings
  const lacking = `Redis says connected_slaves ${replicas}, and waitReplicas is ${waitReplicas}`
  return [...warnings, `${lacking}: paid calls will be refused`]
}
