export interface Plant {
  readonly name: string
  readonly says: string
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[]
  /** The case that finds it. */
  readonly in: string
}

export function plant(
  name: string,
  says: string,
  file: string,
  find: string,
  replace: string,
  where?: string,
): Plant

export const PLANTS: readonly Plant[]
