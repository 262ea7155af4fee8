/** The parts of a request that the middleware looks at: those of `node:http`, of `node:http2` and of Express fit. */
export interface LimitedRequest {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket?: { readonly remoteAddress?: string | undefined; readonly destroyed?: boolean } | null;
  /** Express: the caller's address by its `trust proxy`. */
  readonly ip?: string | undefined;
  /** Express: the application, for a look at `trust proxy`. */
  readonly app?: unknown;
}

/** The parts of a response that the middleware needs. */
export interface LimitedResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly destroyed?: boolean;
  getHeader(name: string): string | number | readonly string[] | undefined;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): void;
  end(body: string): unknown;
  once(event: "close", listener: () => void): unknown;
  off(event: "close", listener: () => void): unknown;
}

/** Goes on with the request, or to whatever answers errors. */
export type Next = (error?: unknown) => void;

/** Whether a request only asks what a browser may send; it does no work of its own. */
export function isPreflight({ method, headers }: LimitedRequest): boolean {
  if (method !== "OPTIONS") return false;
  return headers.origin !== undefined && headers["access-control-request-method"] !== undefined;
}

/** Whether nobody waits for the response any more. */
export function isGone(request: LimitedRequest, response: LimitedResponse): boolean {
  return response.destroyed === true || request.socket?.destroyed === true;
}
