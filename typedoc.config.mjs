/** How `npm run docs` makes docs/api out of the comments in src: one page a public door. */
import { Converter, PageEvent, ReflectionKind, RendererEvent } from 'typedoc'

const PACKAGE = '@svc/sdk'

const FOOTER = `

***

Made by \`npm run docs\` from the comments in \`src\`. What each code of an error means, and its cure: [errors](../guides/errors.md).
`

/** By module: what it passes on and another page describes. */
const passedOn = new Map()

/** One line a page for all of it, instead of an entry each that says "see there". */
function gatherReferences({ project }) {
  for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
    const references = module.children.filter(child => child.isReference())
    passedOn.set(
      module,
      references.map(reference => reference.getTargetReflectionDeep()),
    )
    for (const reference of references) project.removeReflection(reference)
  }
}

const isHidden = ({ package: from, reflection, typeArguments }) =>
  (from === PACKAGE && reflection === undefined) || typeArguments?.some(isHidden)

/** What a class or an interface has from one that is not public is its own, as far as a reader can tell. */
function ownWhatIsInherited({ project }) {
  for (const reflection of Object.values(project.reflections)) {
    for (const link of ['inheritedFrom', 'overwrites', 'implementationOf']) {
      if (reflection[link]?.reflection === undefined) delete reflection[link]
    }
    const { typeHierarchy } = reflection
    if (typeHierarchy === undefined) continue
    typeHierarchy.types = typeHierarchy.types.filter(type => !isHidden(type))
    if (typeHierarchy.types.length === 0) reflection.typeHierarchy = typeHierarchy.next
  }
}

/** Pages are named by file, and titled by what an import says. The root comes first, whose file is met second. */
function nameByImport({ project }) {
  for (const module of project.getChildrenByKind(ReflectionKind.Module))
    module.name = module.name === 'index' ? PACKAGE : `${PACKAGE}/${module.name}`
  for (const { children } of project.groups) children.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** What a page has, before it; where codes and generator are found, after it. */
function frame(page, router) {
  const { model } = page
  const links = reflections =>
    reflections.map(each => `[${each.name}](${router.relativeUrl(model, each)})`).join(', ')
  const lines =
    model.getChildrenByKind(ReflectionKind.All & ~ReflectionKind.Module).length === 0
      ? []
      : model.groups.map(({ title, children }) => `**${title}**: ${links(children)}\n`)
  const others = passedOn.get(model) ?? []
  if (others.length > 0)
    lines.push(
      `**Passed on from [${others[0].parent.name}](${router.relativeUrl(model, others[0].parent)})**: ${links(others)}\n`,
    )
  const at = page.contents.search(/^## /m)
  page.contents =
    page.contents.slice(0, at) +
    lines.map(line => `${line}\n`).join('') +
    page.contents.slice(at).trimEnd() +
    FOOTER
}

/** @type {import('typedoc').TypeDocOptions & import('typedoc-plugin-markdown').PluginOptions} */
export default {
  plugin: [
    'typedoc-plugin-markdown',
    app => {
      app.converter.on(Converter.EVENT_RESOLVE_BEGIN, gatherReferences)
      app.converter.on(Converter.EVENT_RESOLVE_END, ownWhatIsInherited, -1_000)
      app.renderer.on(RendererEvent.BEGIN, nameByImport)
      app.renderer.on(PageEvent.END, page => frame(page, app.renderer.router))
    },
  ],
  // The client's door before the one that passes all of it on: a name is described where it is met first.
  entryPoints: [
    ...['src/client.ts', 'src/index.ts', 'src/facilitator.ts', 'src/redis.ts', 'src/sandbox.ts'],
    'src/testing.ts',
  ],
  sortEntryPoints: false,
  name: 'API reference',
  out: 'docs/api',
  router: 'module',
  readme: 'none',
  // Lines and commits would make every edit of a file an edit of its page.
  disableSources: true,
  // `npm run build` has done it.
  skipErrorChecking: true,
  excludeExternals: true,
  groupOrder: [
    'Functions',
    'Classes',
    'Interfaces',
    'Type Aliases',
    'Variables',
    'Constructors',
    'Properties',
    'Accessors',
    'Methods',
  ],
  hideBreadcrumbs: true,
  hidePageHeader: true,
  indexFormat: 'table',
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  propertyMembersFormat: 'table',
  tableColumnSettings: { hideDefaults: true, hideInherited: true, hideOverrides: true, hideModifiers: true },
  // The literal types behind the machines, and what takes them apart: docs/machines draws them.
  intentionallyNotExported: [
    'FinalOf',
    'ChargeDrawing',
    'ClaimDrawing',
    'PaymentDrawing',
    'ShutdownDrawing',
    'SubscriptionDrawing',
  ],
  requiredToBeDocumented: ['Class', 'Interface', 'TypeAlias', 'Function', 'Variable', 'Accessor'],
  sort: ['source-order'],
  validation: { notExported: true, invalidLink: true, notDocumented: true },
  treatWarningsAsErrors: true,
}
