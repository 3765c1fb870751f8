/** The code of the README and of everything under docs, block by block. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../cli/project-folder.js'

export interface CodeBlock {
  readonly file: string
  /** Of its first line of code. */
  readonly line: number
  readonly language: string
  readonly code: string
}

/** What the blocks take for granted: the reader's own. */
export const TAKEN_FOR_GRANTED = `
declare const agent: import('@svc/sdk').AgentDef
declare const identityApp: number
declare const reputationApp: number
declare const validationApp: number
declare const pool: unknown
declare const client: import('@svc/sdk').SvcClient
declare const knownAddress: string
declare const text: string
declare const texts: readonly string[]
declare const url: string
declare function postgresChargeStore(pool: unknown): import('@svc/sdk').ChargeStore
`

const FENCED = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm

export function codeBlocks(): CodeBlock[] {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map(file =>
    join('docs', file),
  )
  return ['README.md', ...docs.sort()].filter(file => file.endsWith('.md')).flatMap(blocksOf)
}

function blocksOf(file: string): CodeBlock[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(FENCED)].map(({ index, 1: indent, 2: language, 3: code }) => ({
    file,
    line: text.slice(0, index).split('\n').length + 1,
    language: language!,
    code: code!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }))
}
