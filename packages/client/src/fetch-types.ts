/** The platform's fetch, which this package's has the signature of. */
export type Fetch = typeof globalThis.fetch;
export type FetchInput = Parameters<Fetch>[0];
export type FetchInit = NonNullable<Parameters<Fetch>[1]>;
