/** The beginning of a text, for what is kept longer than the text. The copy matters: V8's `slice` keeps the whole text in memory. */
export function cutText(text: string, lengthMax: number): string {
  return JSON.parse(JSON.stringify(text.slice(0, lengthMax)))
}
