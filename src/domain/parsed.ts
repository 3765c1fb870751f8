/** Something that a request may carry: absent, read by the transport, or malformed. */
export type Parsed<T> =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed'; readonly why: string }
  | { readonly kind: 'read'; readonly value: T }
