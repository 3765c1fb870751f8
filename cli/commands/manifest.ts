/** `svc manifest`: prints an agent's manifest. */
import type { ManifestEndpoint } from '../../src/client.js'
import { primitiveText, windowShown } from '../../src/domain/index.js'
import { command } from '../define-command.js'
import { columns, json, print, printable } from '../output.js'

export const manifestCommand = command({
  name: 'manifest',
  says: "print an agent's manifest: its endpoints and their prices",
  takes: [['<url>', "the agent's base URL"]],
  flags: [['--json', 'print the manifest as JSON']],
  help: '\nExample:\n  $ svc manifest https://agent.example',
}).does(async (url, { json: asJson }) => {
  const { SvcClient } = await import('../../src/client.js')
  const manifest = await new SvcClient().discover(url)
  if (asJson) return print(json(manifest, 'indented'))
  const { name, handle, description, version, network, payTo, endpoints } = manifest
  print(
    ...columns([
      ['name', `${name} (${[handle, primitiveText(version)].filter(Boolean).join(' ')})`],
      ['description', description],
      ['network', network],
      ['pay to', payTo],
    ]),
    ...endpoints.flatMap(described),
  )
})

function described({ method, url, price, period, calls, description }: ManifestEndpoint): string[] {
  const head = `${method} ${url}  ${price}${windowShown({ period, calls })}`
  return ['', printable(head), ...(description ? [`  ${printable(description)}`] : [])]
}
