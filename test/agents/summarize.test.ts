import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sentencesOf } from '../../agents/reference/sentences.js'
import { MAX_CHARS_MAX, MAX_CHARS_MIN, summarize } from '../../agents/reference/summarize.js'

const HARBOUR = `The harbour of Kallviken closes on Friday. Fishing boats have used the harbour for two centuries.
It rained in the morning. The council says that the harbour cannot be repaired. My aunt likes tea.
Boats will move to the harbour of Norrsund. The council pays for the move. Nobody was seen on the pier.`

describe('sentences', () => {
  it('are whole, in order, and of any language', () => {
    expect(sentencesOf('One. Two!  Three?\nStill three. “Four.” he said.\n\nfive')).toEqual([
      'One.',
      'Two!',
      'Three?',
      'Still three.',
      '“Four.” he said.',
      'five',
    ])
    expect(sentencesOf('今日は晴れ。明日は雨です。')).toEqual(['今日は晴れ。', '明日は雨です。'])
    expect(sentencesOf('क्या यह ठीक है? हाँ। ठीक है।')).toHaveLength(3)
  })

  it('do not end at a title, an initial or an abbreviation', () => {
    expect(sentencesOf('Dr. Ahn met J. Smith of the U.S. Treasury. It took long.')).toEqual([
      'Dr. Ahn met J. Smith of the U.S. Treasury.',
      'It took long.',
    ])
  })

  it('lose nothing at the windows’ edges', () => {
    const sentences = Array.from({ length: 500 }, (_, n) => `Sentence number ${n} is here.`)
    expect(sentencesOf(sentences.join(' '))).toEqual(sentences)
    const endless = 'word '.repeat(5_000).trim()
    expect(sentencesOf(endless).join(' ').replace(/ +/g, ' ')).toBe(endless)
  })
})

describe('a summary', () => {
  it('is the text itself where that is short enough', () => {
    expect(summarize('One.  Two.')).toBe('One. Two.')
    expect(summarize('')).toBe('')
  })

  it('keeps what recurs and leaves out what does not', () => {
    expect(summarize(HARBOUR, 260)).toBe(
      'The harbour of Kallviken closes on Friday. Fishing boats have used the harbour for two centuries. The council says that the harbour cannot be repaired. Boats will move to the harbour of Norrsund. The council pays for the move.',
    )
  })

  it('begins at the beginning where nothing recurs', () => {
    expect(summarize('First comes this. Second follows that. Thirdly another thing.', 40)).toBe(
      'First comes this. Second follows that.',
    )
  })

  it('cuts a sentence only where not one fits, between words, and says so', () => {
    const long = `${'very '.repeat(30)}long indeed.`
    expect(summarize(long, 40)).toBe(`${'very '.repeat(8).trim()}…`)
    expect(summarize(`${long} Short one.`, 40)).toBe('Short one.')
    expect(summarize('👩‍👩‍👧‍👦'.repeat(20), 40)).toMatch(/^(👩‍👩‍👧‍👦)+…$/u)
  })

  it('of a megabyte takes time in proportion to its length', () => {
    /** By the CPU's time, because a busy machine gives a test little of its own; and the least of three, as caches are shared. */
    const costOf = (sentences: number) => {
      const text = 'The quick brown fox jumps over the lazy dog by the river. '.repeat(sentences)
      const costs = [1, 2, 3].map(() => {
        const begun = process.cpuUsage()
        expect(summarize(text).length).toBeLessThanOrEqual(400)
        const { user, system } = process.cpuUsage(begun)
        return user + system
      })
      return Math.min(...costs)
    }
    const quarter = costOf(4_250)
    // What is quadratic takes sixteen times as long.
    expect(costOf(17_000)).toBeLessThan(10 * quarter)
  })

  it('of anything is short enough, whole sentences of it, in order, and the same each time', () => {
    const word = fc.constantFrom(
      'Boats',
      'harbour',
      'rain',
      'naïve',
      'Straße',
      '船',
      'U.S.',
      'Dr.',
      '3.5',
      'e.g.',
      '🚢',
    )
    const sentence = fc
      .tuple(
        fc.array(word, { minLength: 1, maxLength: 25 }),
        fc.constantFrom('. ', '! ', '? ', '。', '.\n', '\n\n'),
      )
      .map(([words, end]) => words.join(' ') + end)
    const text = fc.oneof(
      fc.array(sentence, { maxLength: 40 }).map(all => all.join('')),
      fc.string({ unit: 'grapheme', maxLength: 400 }),
    )
    fc.assert(
      fc.property(text, fc.integer({ min: MAX_CHARS_MIN, max: MAX_CHARS_MAX }), (given, max) => {
        const summary = summarize(given, max)
        const sentences = sentencesOf(given)
        expect(summary.length).toBeLessThanOrEqual(max)
        expect(summarize(given, max)).toBe(summary)
        if (sentences.some(({ length }) => length <= max)) expect(isMadeOf(summary, sentences)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})

/** Whether the summary is some of the sentences, in order, joined by spaces. */
function isMadeOf(summary: string, sentences: readonly string[]): boolean {
  let rests = new Set([summary])
  for (const sentence of sentences) {
    const shorter = [...rests].filter(rest => rest === sentence || rest.startsWith(`${sentence} `))
    rests = new Set([...rests, ...shorter.map(rest => rest.slice(sentence.length).trimStart())])
  }
  return rests.has('')
}
