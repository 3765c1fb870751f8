/** What Cloudflare's tool does with a Worker before it runs: one file for workerd, and the configuration that names it. */
import { writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { basename, join } from 'node:path'
import { build, type Plugin } from 'esbuild'

export interface Worker {
  readonly folder: string
  /** The Worker's source, in that folder. */
  readonly entry: string
  readonly env: Readonly<Record<string, string>>
  /** A class of the Worker of which there are Durable Objects, and the name under which the Worker knows them. */
  readonly objects?: { readonly className: string; readonly binding: string }
}

/** `node:v8`, which Koa asks for, came between 10 and 25 March 2026; `node:http` on 15 August 2025. */
const COMPATIBILITY_DATE = '2026-04-01'

/** The file to give `workerd serve`. */
export async function workerdConfig({ folder, entry, env, objects }: Worker): Promise<string> {
  const name = basename(entry, '.mjs')
  await build({
    absWorkingDir: folder,
    entryPoints: [entry],
    outfile: join(folder, `${name}.bundle.js`),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*', 'cloudflare:*'],
    plugins: [nodeModules],
    // CommonJS packages such as Koa call `require` for Node's modules.
    banner: {
      js: `import { createRequire as requireOf } from 'node:module'; const require = requireOf('/worker.js')`,
    },
    logLevel: 'warning',
  })
  const text = ([key, value]: [string, string]) => `(name = "${key}", text = "${value}")`
  const bindings = Object.entries(env).map(text)
  if (objects !== undefined)
    bindings.push(`(name = "${objects.binding}", durableObjectNamespace = "${objects.className}")`)
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "${name}.bundle.js")],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  compatibilityFlags = ["nodejs_compat", "enable_request_signal"],
  bindings = [${bindings.join(', ')}],
  ${objects === undefined ? '' : `durableObjectNamespaces = [(className = "${objects.className}", uniqueKey = "one")], durableObjectStorage = (inMemory = void),`}
);
`
  const file = join(folder, `${name}.capnp`)
  await writeFile(file, config)
  return file
}

/** Node's modules by their short names, as packages that are older than `node:` import them. */
const nodeModules: Plugin = {
  name: 'node-modules',
  setup({ onResolve }) {
    onResolve({ filter: /^[a-z0-9_/]+$/ }, ({ path }) =>
      builtinModules.includes(path) ? { path: `node:${path}`, external: true } : undefined,
    )
  },
}
