export interface Edit {
  readonly file: string
  /** Stands there once. */
  readonly find: string
  readonly replace: string
}

/** @returns the bundle's file */
export function bundled(outfile: string, edits?: readonly Edit[], entry?: string): Promise<string>
