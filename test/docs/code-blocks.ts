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
declare const Bun: {
  serve(options: { port: number | string; fetch(request: Request): Promise<Response> }): {
    requestIP(request: Request): { address: string } | null
    stop(): Promise<void>
  }
}
declare const Deno: {
  serve(
    options: { port: number; onListen(): void },
    handler: (request: Request, info: { remoteAddr: { hostname: string } }) => Promise<Response>,
  ): { shutdown(): Promise<void> }
}
declare module 'cloudflare:workers' {
  class DurableObject {}
}
`

/** What a reader has beside what the package brings: a test runner, the libraries of schemas, the apps that host an agent. */
export const TYPED_PACKAGES = [
  ...['vitest', 'zod', 'valibot', 'arktype'],
  ...['hono', '@hono/node-server', 'fastify', '@koa/router', 'axios'],
] as const

/** What a reader calls other agents with: each name, and the folder that has it here. */
export const OFFICIAL_CLIENTS = {
  '@a2a-js/sdk': 'a2a-js-1',
  '@anthropic-ai/sdk': '@anthropic-ai/sdk',
  '@modelcontextprotocol/client': '@modelcontextprotocol/client',
  '@x402/avm': '@x402/avm',
  '@x402/core': '@x402/core',
  '@x402/fetch': '@x402/fetch',
  algosdk: 'algosdk',
  openai: 'openai',
} as const

/** Their types are packages of their own, which `typeRoots` finds where these are not. */
export const UNTYPED_PACKAGES = ['express', 'koa', 'koa-mount'] as const

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
