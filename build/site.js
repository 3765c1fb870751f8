/** Of the site of documents: on the page of hosts, the sections under one heading are tabs. Without scripts, all are shown. */
const groups = []

for (const heading of document.querySelectorAll('h2#price-a-route-the-gate, h2#mount-an-agent-the-handler')) {
  const tabs = new Map()
  const list = document.createElement('div')
  list.className = 'site-tabs'
  list.role = 'tablist'
  list.ariaLabel = heading.textContent
  for (let at = heading.nextElementSibling, panel; at && at.tagName !== 'H2'; ) {
    const next = at.nextElementSibling
    if (at.tagName === 'H3') {
      const name = at.textContent.trim()
      const tab = document.createElement('button')
      tab.role = 'tab'
      tab.textContent = name
      tab.onclick = () => choose(name)
      list.append(tab)
      panel = document.createElement('section')
      panel.role = 'tabpanel'
      panel.ariaLabel = name
      at.before(panel)
      tabs.set(name, { tab, panel })
    }
    panel?.append(at)
    at = next
  }
  const [[first, { panel }]] = tabs
  panel.before(list)
  list.onkeydown = ({ key }) => {
    const all = [...list.children]
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key]
    if (step) all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus()
  }
  groups.push(tabs)
  show(tabs, first)
}

/** In each group that has it: who reads of Koa's gate wants Koa's handler. */
function choose(name) {
  for (const tabs of groups) if (tabs.has(name)) show(tabs, name)
}

function show(tabs, chosen) {
  for (const [name, { tab, panel }] of tabs) {
    tab.ariaSelected = String(name === chosen)
    panel.hidden = name !== chosen
  }
}

/** A link to a section opens its tab. */
function follow() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  const panel = target?.closest('[role=tabpanel]')
  if (!panel) return
  choose(panel.ariaLabel)
  target.scrollIntoView()
}
addEventListener('hashchange', follow)
follow()
