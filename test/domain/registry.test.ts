/** The registry's boxes, decoded from committed vectors, and how they are searched. */
import { readFileSync } from 'node:fs'
import { domainToASCII } from 'node:url'
import { describe, expect, it } from 'vitest'
import { cardUrlOf, hostOf, matching, type RegisteredAgent } from '../../src/domain/registered-agent.js'
import {
  AGENT_BOXES,
  addressBox,
  agentBox,
  domainBox,
  idInBoxName,
  readAgent,
  readAgentId,
  readScore,
  scoreBox,
} from '../../src/registry/encode-boxes.js'

interface Box {
  readonly nameBase64: string
  readonly valueBase64: string
  readonly decoded: Readonly<Record<string, number | string>>
}
const vectors: { boxes: Box[]; publicChainExample: Box } = JSON.parse(
  readFileSync(new URL('../vectors/registry.json', import.meta.url), 'utf8'),
)
const boxes = [...vectors.boxes, vectors.publicChainExample]
const prefixed = (prefix: string) =>
  boxes
    .map(box => ({
      ...box,
      name: Buffer.from(box.nameBase64, 'base64'),
      value: Buffer.from(box.valueBase64, 'base64'),
    }))
    .filter(({ name }) => name.subarray(0, 3).toString() === prefix)

const agents = prefixed('ag_').map(({ value }) => readAgent(value)!)

describe('boxes', () => {
  it('of agents are read as the vectors say', () => {
    expect(agents).toHaveLength(4)
    for (const { name, value, decoded } of prefixed('ag_')) {
      const agent = readAgent(value)!
      expect(agent).toEqual({
        agentId: BigInt(decoded.agent_id!),
        domain: decoded.agent_domain,
        address: decoded.agent_address,
        registeredAt: decoded.registered_at,
        updatedAt: decoded.updated_at,
      })
      expect(Buffer.from(agentBox(agent.agentId))).toEqual(name)
      expect(idInBoxName(name, AGENT_BOXES)).toBe(agent.agentId)
    }
  })

  it('of scores are read as the vectors say', () => {
    expect(prefixed('sc_')).toHaveLength(2)
    for (const { name, value, decoded } of prefixed('sc_')) {
      const score = readScore(value)!
      expect(score).toEqual({
        agentId: BigInt(decoded.agent_id!),
        jobsPaid: BigInt(decoded.jobs_paid!),
        volumeMicro: BigInt(decoded.volume_micro!),
        validated: BigInt(decoded.validated!),
        disputed: BigInt(decoded.disputed!),
        firstAt: decoded.first_at,
        lastAt: decoded.last_at,
      })
      expect(Buffer.from(scoreBox(score.agentId))).toEqual(name)
    }
  })

  it('of domains and addresses point at their agents', () => {
    for (const { name, value } of [...prefixed('dm_'), ...prefixed('ad_')]) {
      const agentId = readAgentId(value)!
      const agent = agents.find(one => one.agentId === agentId)!
      expect([domainBox(agent.domain), addressBox(agent.address)]).toContainEqual(name)
    }
  })

  it('that hold anything else are not read', () => {
    const value = Buffer.from(vectors.boxes[0]!.valueBase64, 'base64')
    const damaged = Buffer.from(value)
    damaged.writeUInt16BE(59, 8)
    for (const bytes of [
      value.subarray(0, -1),
      Buffer.concat([value, Buffer.alloc(1)]),
      Buffer.alloc(0),
      damaged,
    ]) {
      expect(readAgent(bytes)).toBeUndefined()
    }
    expect(readScore(Buffer.alloc(55))).toBeUndefined()
    expect(readAgentId(Buffer.alloc(9))).toBeUndefined()
    expect(idInBoxName(Buffer.from('ag_short'), AGENT_BOXES)).toBeUndefined()
  })

  it('with names that no box can have are not asked for', () => {
    expect(domainBox('x'.repeat(62))).toBeUndefined()
    expect(domainBox('')).toBeUndefined()
    expect(addressBox('A'.repeat(58))).toBeUndefined()
  })
})

describe('search', () => {
  const ids = (found: readonly RegisteredAgent[]) => found.map(({ agentId }) => Number(agentId))
  const all = agents.slice(0, 3)

  it('finds everybody for a blank, up to the limit', () => {
    expect(ids(matching(all, '  ', 25))).toEqual([1, 2, 258])
    expect(ids(matching(all, '', 2))).toEqual([1, 2])
  })
  it('finds an exact id first, and domains with these digits after it', () => {
    const two = { ...all[0]!, agentId: 9n, domain: '2.example' }
    expect(ids(matching([two, ...all], '2', 25))).toEqual([2, 9])
  })
  it('finds an address in any case, and parts of domains', () => {
    expect(ids(matching(all, all[1]!.address.toLowerCase(), 25))).toEqual([2])
    expect(ids(matching(all, 'AGENT.', 25))).toEqual([1])
    expect(ids(matching(all, 'nowhere', 25))).toEqual([])
  })
})

describe('a card’s URL', () => {
  it('is made of a host and nothing else', () => {
    expect(cardUrlOf('agent.example')).toBe('https://agent.example/.well-known/agent.json')
    expect(cardUrlOf('ünïcode.example')).toBe('https://ünïcode.example/.well-known/agent.json')
    expect(hostOf('ünïcode.example')).toBe(domainToASCII('ünïcode.example'))
    const nowhere = ['', 'a/b', 'a?b', 'a#b', 'user@a', 'a b', 'a\\b', 'https://a', 'a:b', '\u0000']
    for (const domain of nowhere) expect(cardUrlOf(domain), domain).toBeNull()
  })
})
