/** Copies a template and makes it a project, with its own name, on this copy of the SDK. */
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { SvcError } from '../src/domain/index.js'
import { PACKAGE_FOLDER, typeScriptFlags } from './package.js'

export const TEMPLATES = ['basic', 'llm', 'oracle'] as const
export type Template = (typeof TEMPLATES)[number]

export interface Project {
  readonly name: string
  /** The absolute path. */
  readonly folder: string
  readonly template: Template
  /** Whether this Node runs it as it stands. Otherwise `npm run dev` builds it first. */
  readonly runsTypeScript: boolean
}

/** The name in every template: a template is a complete program, and the tests run it. */
const TEMPLATE_NAME = 'my-agent'
/** Where the template has `svc dev --sandbox`. */
const BUILT_FIRST = 'npm run build && svc dev dist/src/index.js --sandbox'
/** npm leaves `.gitignore` out of packages, so templates store it without the dot. */
const GITIGNORE = 'gitignore'

/** @throws SvcError `directory_not_empty` */
export async function projectFrom(template: Template, place: string): Promise<Project> {
  const folder = resolve(place)
  const name = nameFrom(basename(folder))
  const runsTypeScript = typeScriptFlags() !== undefined
  await checkEmpty(folder)
  await mkdir(folder, { recursive: true })
  await cp(join(PACKAGE_FOLDER, 'templates', template), folder, { recursive: true, filter: isSource })
  await rename(join(folder, GITIGNORE), join(folder, `.${GITIGNORE}`))
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (file.isFile())
      await rewrite(join(file.parentPath, file.name), text => text.replaceAll(TEMPLATE_NAME, name))
  }
  await rewrite(join(folder, 'package.json'), manifest => fitting(manifest, runsTypeScript))
  return { name, folder, template, runsTypeScript }
}

/** A name that is valid as a handle and as a package name: 3 to 40 lowercase letters, digits and hyphens. */
export function nameFrom(folder: string): string {
  const plain = folder
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-|-$/g, '')
  return plain.length >= 3 ? plain : `agent-${plain}`.replace(/-$/, '')
}

async function checkEmpty(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  const found = (await readdir(folder).catch(() => ['a file'])).filter(name => name !== '.git')
  if (found.length === 0) return
  throw new SvcError(`${relative('', folder) || 'This folder'} is not empty`, 'directory_not_empty')
}

/**
 * Depends on the SDK by path, because no registry has it yet: the project runs on the copy that made it. npx keeps packages in a
 * cache that npm may empty, so from there the template's own version stays.
 */
export function fitting(manifest: string, runsTypeScript: boolean, sdkFolder = PACKAGE_FOLDER): string {
  const project = JSON.parse(manifest) as Record<'dependencies' | 'scripts', Record<string, string>>
  if (!/[\\/]_npx[\\/]/.test(sdkFolder))
    project.dependencies['@svc/sdk'] = `file:${sdkFolder.replace(/[\\/]$/, '')}`
  if (!runsTypeScript) project.scripts.dev = BUILT_FIRST
  return `${JSON.stringify(project, undefined, 2)}\n`
}

/** A template that was run in its own folder leaves these behind. */
function isSource(path: string): boolean {
  return !/[\\/]templates[\\/][^\\/]+[\\/](node_modules|dist|package-lock\.json)$/.test(path)
}

async function rewrite(path: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(path, 'utf8')
  const changed = change(text)
  if (changed !== text) await writeFile(path, changed)
}
