/**
 * Condenses text by keeping its most telling sentences, whole and in their order. Extractive and deterministic: it adds
 * no word of its own, so there is nothing in a summary that is not in the text.
 */
import { sentencesOf } from './sentences.js'

export const MAX_CHARS_MIN = 40
export const MAX_CHARS_MAX = 2_000
export const MAX_CHARS_DEFAULT = 400

interface Candidate {
  readonly sentence: string
  readonly at: number
  readonly score: number
}

/** At most `max` characters of whole sentences; where not one fits, as many words of the first as do. */
export function summarize(text: string, max: number = MAX_CHARS_DEFAULT): string {
  const maxChars = Math.floor(max)
  const sentences = sentencesOf(text)
  const all = sentences.join(' ')
  if (all.length <= maxChars) return all
  const candidates = ranked(sentences)
  const telling = fitting(
    candidates.filter(({ score }) => score > 0),
    maxChars,
  )
  const kept = telling.length > 0 ? telling : fitting(candidates, maxChars)
  if (kept.length === 0) return cut(sentences[0]!, maxChars)
  return kept
    .sort((a, b) => a.at - b.at)
    .map(({ sentence }) => sentence)
    .join(' ')
}

function fitting(candidates: readonly Candidate[], maxChars: number): Candidate[] {
  const kept: Candidate[] = []
  let length = -1
  for (const candidate of candidates) {
    const longer = length + 1 + candidate.sentence.length
    if (longer > maxChars) continue
    kept.push(candidate)
    length = longer
  }
  return kept
}

/** Best first. A sentence tells much where its words recur in others; early ones are favoured, and break ties. */
function ranked(sentences: readonly string[]): Candidate[] {
  const words = sentences.map(sentence => new Set(wordsOf(sentence)))
  const occurrences = new Map<string, number>()
  for (const word of words.flatMap(set => [...set])) occurrences.set(word, (occurrences.get(word) ?? 0) + 1)
  const weight = (word: string) => {
    const count = occurrences.get(word)!
    // Nothing for a word that occurs once, and nothing for one that is everywhere, as articles are.
    return (count - 1) * Math.log(sentences.length / count)
  }
  return sentences
    .map((sentence, at) => {
      const total = [...words[at]!].reduce((sum, word) => sum + weight(word), 0)
      // By the root of the length, so that neither long nor short sentences win for being so.
      const telling = total / Math.sqrt(words[at]!.size || 1)
      return { sentence, at, score: telling * (1 + 1 / (1 + at)) }
    })
    .sort((a, b) => b.score - a.score || a.at - b.at)
}

/**
 * Scripts without spaces count by the character; elsewhere words of up to three letters say little. Intl's word segmenter
 * would take minutes for what this does in milliseconds.
 */
const WORD = /\p{Ideographic}|\p{Script=Hiragana}|\p{Script=Katakana}|[\p{L}\p{N}]{4,}/gu

function wordsOf(sentence: string): string[] {
  return sentence.toLowerCase().match(WORD) ?? []
}

const ELLIPSIS = '…'
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Never through a word where there are several, and never through what a reader sees as one character. */
function cut(sentence: string, maxChars: number): string {
  let end = 0
  for (const { index, segment } of graphemes.segment(sentence.slice(0, maxChars + 1))) {
    if (index + segment.length > maxChars - ELLIPSIS.length) break
    end = index + segment.length
  }
  const space = sentence.lastIndexOf(' ', end)
  return sentence.slice(0, space > 0 ? space : end).trimEnd() + ELLIPSIS
}
