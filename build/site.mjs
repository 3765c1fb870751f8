/**
 * How `npm run docs:site` makes the site of documents in `site/`: the pages of docs/README.md under its headings, and the API, with one
 * search over both.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { Converter, ReflectionKind, RendererEvent } from 'typedoc'
import api from '../typedoc.config.mjs'
import { kindsOfDocuments, llmsText, ROOT } from './documents-index.mjs'

const kinds = kindsOfDocuments()
const TITLE = /^# (.+)\n+/
const titleOf = file => TITLE.exec(readFileSync(join(ROOT, file), 'utf8'))?.[1].replaceAll('`', '')
const fileByTitle = new Map([...kinds.keys()].map(file => [titleOf(file), file]))
if (fileByTitle.size < kinds.size) throw new Error('two documents have one title, or one has none')

/** Folders of the pages that exported names have. */
const FOLDERS = new Map([
  [ReflectionKind.Class, 'classes'],
  [ReflectionKind.Interface, 'interfaces'],
  [ReflectionKind.Function, 'functions'],
  [ReflectionKind.TypeAlias, 'types'],
  [ReflectionKind.Variable, 'variables'],
])

/** By a link into the generated Markdown, such as `index#agentoptions`: the page of that name. */
const pages = new Map()

function findPages(project) {
  for (const { name, children } of project.getChildrenByKind(ReflectionKind.Module))
    for (const each of children)
      if (FOLDERS.has(each.kind))
        pages.set(`${name}#${each.name.toLowerCase()}`, `${FOLDERS.get(each.kind)}/${name}.${each.name}.html`)
}

/** A page has its heading as its name, and stands under its heading of the index. */
function placeDocuments({ project }) {
  findPages(project)
  for (const page of project.documents) {
    const [first] = page.content
    page.name = TITLE.exec(first.text)[1].replaceAll('`', '')
    const file = fileByTitle.get(page.name)
    page.content = linked(page.content, file, '../')
    page.frontmatter.group = kinds.get(file)
  }
}

/** Links to the generated Markdown lead to the site's own pages of it. What is only in the repository is named, and not linked. */
function linked(content, file, root) {
  const parts = content.map(part => ({ ...part }))
  for (const [at, part] of parts.entries()) {
    if (part.kind !== 'relative-link') continue
    const [path, anchor = ''] = part.text.split('#')
    const target = normalize(join(dirname(file), path))
    if (target === 'docs/README.md') parts[at] = { kind: 'text', text: `${root}index.html` }
    else if (target.startsWith('docs/api/')) {
      const name = basename(target, '.md')
      const page =
        pages.get(`${name}#${anchor}`) ?? (name === 'README' ? 'modules.html' : `modules/${name}.html`)
      parts[at] = { kind: 'text', text: `${root}${page}` }
    } else if (!target.startsWith('docs/') || (target.endsWith('.md') && !kinds.has(target))) {
      const [before, after] = [parts[at - 1], parts[at + 1]]
      before.text = before.text.replace(/!?\[((?:[^[\]]|\[[^\]]*\])*)\]\($/, '$1')
      after.text = after.text.replace(/^\)/, '')
      parts[at] = { kind: 'text', text: '' }
    }
  }
  return parts
}

const MARKDOWN_ONLY = /Format$|^(hide|index|table|parameters)/
const { plugin: _plugin, out: _out, router: _router, ...shared } = api

/** @type {import('typedoc').TypeDocOptions} */
export default {
  ...Object.fromEntries(Object.entries(shared).filter(([name]) => !MARKDOWN_ONLY.test(name))),
  plugin: [
    app => {
      app.converter.on(Converter.EVENT_RESOLVE_BEGIN, placeDocuments, 1_000)
      app.converter.on(
        Converter.EVENT_RESOLVE_END,
        ({ project }) => {
          project.readme = linked(project.readme, 'docs/README.md', '')
        },
        -1_000,
      )
      app.renderer.on(RendererEvent.END, ({ outputDirectory }) => {
        mkdirSync(outputDirectory, { recursive: true })
        const pageOf = path =>
          `documents/${(titleOf(`docs/${path}`) ?? path).replaceAll(/[^\w,.-]/g, '_')}.html`
        writeFileSync(
          join(outputDirectory, 'llms.txt'),
          llmsText(path => (path.startsWith('api/') ? 'modules.html' : pageOf(path))),
        )
      })
    },
  ],
  entryPoints: shared.entryPoints.map(file => join(ROOT, file)),
  name: '@svc/sdk',
  readme: join(ROOT, 'docs/README.md'),
  projectDocuments: [...kinds.keys()].map(file => join(ROOT, file)),
  searchInDocuments: true,
  out: join(ROOT, 'site'),
  customCss: join(ROOT, 'build/site.css'),
  customJs: join(ROOT, 'build/site.js'),
  groupOrder: [...new Set(kinds.values()), 'Modules', ...shared.groupOrder],
  highlightLanguages: ['ts', 'js', 'sh', 'json', 'yaml', 'lua', 'python', 'mermaid'],
  navigation: { includeGroups: true },
  sort: ['documents-first', 'source-order'],
  validation: { notExported: false, invalidLink: false, notDocumented: false, rewrittenLink: false },
  treatWarningsAsErrors: false,
}
