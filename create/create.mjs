#!/usr/bin/env node
/** `npm init @svc my-agent -- --template llm` is `svc init my-agent --template llm`, without an installation before. */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const manifest = createRequire(import.meta.url).resolve('@svc/sdk/package.json')
const svc = join(dirname(manifest), 'dist/cli/main.js')
const { status, signal } = spawnSync(process.execPath, [svc, 'init', ...process.argv.slice(2)], {
  stdio: 'inherit',
})
if (signal) process.kill(process.pid, signal)
process.exitCode = status ?? 1
