/** Splits text of any language into whole sentences, in linear time. */

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Intl.Segmenter takes time by the square of its input: 2 s for 300 kB, 40 ms in windows of this many characters. */
const WINDOW_CHARS = 4_000

/** Ends that only look like a sentence's: titles, initials, Latin abbreviations. Unicode's rules break after them. */
const ABBREVIATION =
  /(?:^|[\s("'“‘])(?:\p{Lu}|(?:\p{L}\.)+\p{L}|Dr|Mrs?|Ms|Prof|St|Sr|Jr|vs|etc|cf|al|approx|Fig|No)\.$/u

/** Trimmed, white space collapsed, in order. Line breaks within a paragraph are wrapping; an empty line ends a sentence. */
export function sentencesOf(text: string): string[] {
  return text
    .split(/\n\s*\n/)
    .map(paragraph => paragraph.replace(/\s+/g, ' ').trim())
    .flatMap(paragraph => joinAbbreviated(segments(paragraph)))
}

function segments(paragraph: string): string[] {
  const found: string[] = []
  for (let start = 0; start < paragraph.length; ) {
    const parts = [...segmenter.segment(paragraph.slice(start, start + WINDOW_CHARS))].map(
      part => part.segment,
    )
    const isLast = start + WINDOW_CHARS >= paragraph.length
    // The window may have cut its last sentence in two; the next one begins with it.
    const whole = isLast || parts.length === 1 ? parts : parts.slice(0, -1)
    for (const part of whole) {
      found.push(part)
      start += part.length
    }
  }
  return found
}

function joinAbbreviated(parts: readonly string[]): string[] {
  const sentences: string[] = []
  let open = ''
  for (const part of parts) {
    open += part
    if (ABBREVIATION.test(part.trimEnd())) continue
    sentences.push(open.trim())
    open = ''
  }
  if (open.trim()) sentences.push(open.trim())
  return sentences.filter(Boolean)
}
