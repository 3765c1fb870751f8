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

/** How wide the page is to scroll, and how wide the selected element is. */
export const widthsOf = (selector: string) => `[
  document.documentElement.scrollWidth,
  document.querySelector('${selector}').getBoundingClientRect().width,
]`

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

export const FAINT_TEXTS = faintTextsOf(
  'h1 *, #live, #totals *, #legend p, #legend li, label, output, .row *, #run h2 *, #run dt, #run dd, .timings th, .timings td',
  50,
)
