/**
 * Styles Graphviz' output: colours by the meaning of a state, in light and dark mode, without any script. The drawing has a
 * ground of its own: a page may be dark where the reader's system is light. Labels are drawn above all lines, with an edge of that
 * ground, so that no line crosses their letters.
 */

const STYLE = `<style>
.graph > polygon { fill: #fff; stroke: none }
text { fill: #1f2328; stroke: none }
.label text { paint-order: stroke; stroke: #fff; stroke-width: 4px; stroke-linejoin: round }
.state path, .state polygon { fill: #eef2ff; stroke: #4f5bd5 }
.final path, .final polygon { fill: #f6f8fa; stroke: #8c959f }
.yes path { fill: #dafbe1; stroke: #1a7f37 }
.earlier path { fill: #ddf4ff; stroke: #0969da }
.maybe path { fill: #fff8c5; stroke: #9a6700 }
.start ellipse { fill: #57606a; stroke: #57606a }
.edge path { stroke: #57606a } .edge polygon { fill: #57606a; stroke: #57606a }
@media (prefers-color-scheme: dark) {
  .graph > polygon { fill: #0d1117 }
  text { fill: #e6edf3 } .label text { stroke: #0d1117 }
  .state path { fill: #1c2150; stroke: #8b95ff } .final path { fill: #1b2028; stroke: #6e7681 }
  .yes path { fill: #12351d; stroke: #3fb950 } .earlier path { fill: #0c2d4d; stroke: #58a6ff }
  .maybe path { fill: #3b2e08; stroke: #d29922 }
  .edge path, .start ellipse { stroke: #8b949e } .edge polygon, .start ellipse { fill: #8b949e; stroke: #8b949e }
}
</style>`

const EDGE = /<g id="edge\d+"[\s\S]*?<\/g>/g
const LABEL = /<text [\s\S]*?<\/text>\n?/g

export function dressed(svg: string, title: string): string {
  const body = svg
    .slice(svg.indexOf('<svg'))
    .replace(/<!--[\s\S]*?-->\n?/g, '')
    // Remove the titles: node names are internal, and a tooltip would show nothing that is not drawn.
    .replace(/<title>[^<]*<\/title>\n?/g, '')
  const labels: string[] = []
  const lines = body.replace(EDGE, edge =>
    edge.replace(LABEL, label => {
      labels.push(label)
      return ''
    }),
  )
  return lines
    .replace(/>/, `>\n<title>${title}</title>\n${STYLE}`)
    .replace(/<\/g>\s*<\/svg>/, `<g class="label">\n${labels.join('')}</g>\n</g>\n</svg>`)
}
