/** What tests ask of a page from within, as text: tests are compiled without a browser's types. */

/** Scrolls the list from end to end; how long a frame took on average, in milliseconds. */
export const FRAME_MS = `(async () => {
  const list = document.getElementById('list')
  const frames = 100
  const began = performance.now()
  for (let at = 1; at <= frames; at++) {
    list.scrollTop = (list.scrollHeight * at) / frames
    await new Promise(requestAnimationFrame)
  }
  return (performance.now() - began) / frames
})()`

/** Texts of less than 11 pixels, as they are on the screen: a drawing that is scaled makes its texts smaller. */
export const SMALL_TEXTS = `[...document.querySelectorAll('body *')]
  .filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== ''))
  .filter(element => element.getClientRects().length > 0)
  .filter(element => {
    const drawing = element.closest('svg')
    const scale = drawing === null ? 1 : drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width
    return parseFloat(getComputedStyle(element).fontSize) * scale < 11
  })
  .map(element => element.outerHTML)`

/** The selectors of the page's style that match nothing now, whatever the pointer and the focus do. */
export const IDLE_SELECTORS = `[...document.styleSheets]
  .flatMap(sheet => [...sheet.cssRules])
  .flatMap(rule => [rule, ...(rule.media ? rule.cssRules : [])])
  .flatMap(rule => (rule.selectorText ?? '').match(/(?:[^,(]|\\([^()]*(?:\\([^()]*\\)[^()]*)*\\))+/g) ?? [])
  .filter(selector => !document.querySelector(selector.replace(/:hover|:focus-visible|::before|::after/g, '') || '*'))`

/** Texts that WCAG AA calls too faint: less than 4.5 to 1 against the nearest ground. `least` texts are there to read. */
export const faintTextsOf = (selector: string, least: number) => `(() => {
  const channels = color => (color.match(/[\\d.]+/g) ?? []).map(Number)
  const luminance = color => {
    const [r, g, b] = channels(color).map(value => {
      const share = value / 255
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const groundOf = element => {
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      if (channels(backgroundColor)[3] !== 0) return backgroundColor
    }
    return 'rgb(255, 255, 255)'
  }
  const seen = [...document.querySelectorAll('${selector}')].filter(
    element => element.textContent !== '' && element.getClientRects().length > 0,
  )
  const ratioOf = element => {
    const [a, b] = [getComputedStyle(element).color, groundOf(element)].map(luminance)
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
  }
  return seen.length < ${least}
    ? ['there is nothing to read']
    : seen.filter(element => ratioOf(element) < 4.5).map(element => element.className + ' ' + element.textContent)
})()`

/** From the first frame on: how much moved on the screen, and what the first tile said in each frame in which it was seen. */
export const WATCH_LOADING = `
  window.loading = { shift: 0, texts: [] }
  new PerformanceObserver(list => {
    for (const { value } of list.getEntries()) window.loading.shift += value
  }).observe({ type: 'layout-shift', buffered: true })
  const look = () => {
    const seen = document.getElementById('income')
    if (seen && getComputedStyle(seen).visibility === 'visible') window.loading.texts.push(seen.innerText)
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
`
/** What {@link WATCH_LOADING} saw until half a second and two frames later. */
export const LOADED = `new Promise(done => setTimeout(done, 500))
  .then(() => new Promise(requestAnimationFrame))
  .then(() => new Promise(requestAnimationFrame))
  .then(() => window.loading)`
