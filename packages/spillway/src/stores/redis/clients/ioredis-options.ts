import { ASK_WITHIN_MS, CONNECT_WITHIN_MS } from "./own-connection.ts";

/** Read of a client, never written. */
export type Options = Readonly<Record<string, unknown>>;

/**
 * Never again what is not known to have failed, never later than the caller waits: a limiter's call is worth nothing then.
 * Connections are made when a call or a probe needs one; a timer of the driver would keep an idle process up.
 */
const SAFE_OPTIONS: Options = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: null,
  reconnectOnError: null,
  connectTimeout: CONNECT_WITHIN_MS,
  disconnectTimeout: 100,
  // Both drop replies that are late but good.
  commandTimeout: undefined,
  socketTimeout: undefined,
  enableAutoPipelining: false,
  // A server that is loading says so on each call, sooner than the driver's check would end.
  enableReadyCheck: false,
  stringNumbers: false,
  himportFieldsets: undefined,
};

/** Sentinels are asked afresh for each connection; the check of the role keeps away from a primary that was. */
const SAFE_SENTINEL_OPTIONS: Options = {
  ...SAFE_OPTIONS,
  enableReadyCheck: true,
  maxLoadingRetryTime: ASK_WITHIN_MS,
  connectTimeout: ASK_WITHIN_MS,
  sentinelCommandTimeout: ASK_WITHIN_MS,
  sentinelRetryStrategy: null,
  failoverDetector: false,
};

/**
 * A call may wait for the connection to its node, which is given up after one try; so nothing waits for long, and nothing is
 * sent twice but what a node answered with "ask there".
 */
const SAFE_CLUSTER_OPTIONS: Options = {
  lazyConnect: true,
  enableOfflineQueue: true,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  // Of a slot that is half moved, a node answers "try again" to calls for several keys, and has run nothing. The driver would
  // wait for longer than any caller does, and the node would seem to be silent.
  retryDelayOnTryAgain: 5,
  maxRedirections: 4,
  clusterRetryStrategy: null,
  clusterNodeRetryStrategy: null,
  slotsRefreshTimeout: ASK_WITHIN_MS,
  slotsRefreshInterval: undefined,
  enableAutoPipelining: false,
  enableReadyCheck: false,
  shardedSubscribers: false,
  himportFieldsets: undefined,
};

/** What a duplicate of a standalone or Sentinel client is made with. */
export function safeOptions(given: Options): Options {
  return Array.isArray(given.sentinels) ? SAFE_SENTINEL_OPTIONS : SAFE_OPTIONS;
}

/** What a duplicate of a Cluster client is made with. */
export function safeClusterOptions({ redisOptions }: Options): Options {
  const nodes = { ...(redisOptions as Options | undefined), ...SAFE_OPTIONS, connectTimeout: ASK_WITHIN_MS };
  return { ...SAFE_CLUSTER_OPTIONS, redisOptions: nodes };
}

/** Which options of a standalone or Sentinel client break which promise. */
export function unsafeOptions(given: Options): string[] {
  const { enableOfflineQueue, maxRetriesPerRequest, autoResendUnfulfilledCommands } = given;
  const lost =
    autoResendUnfulfilledCommands === false ? "never fails" : "is sent again on the next connection, and charged twice";
  return [
    ...(enableOfflineQueue === false ? [] : [OFFLINE_QUEUE]),
    ...(maxRetriesPerRequest === 0 ? [] : [`maxRetriesPerRequest is not 0: a call whose reply was lost ${lost}`]),
    ...unsafeTimeouts(given),
  ];
}

/** Which options of a Cluster client break which promise. */
export function unsafeClusterOptions(given: Options): string[] {
  return [
    ...(given.enableOfflineQueue === false ? [] : [OFFLINE_QUEUE]),
    ...(given.retryDelayOnFailover === 0
      ? []
      : ["retryDelayOnFailover is not 0: a call whose reply was lost is sent again, and charged twice"]),
    ...unsafeTimeouts((given.redisOptions ?? {}) as Options),
  ];
}

const OFFLINE_QUEUE = "enableOfflineQueue is on: calls made while Redis is away are charged later";

function unsafeTimeouts(given: Options): string[] {
  return ["commandTimeout", "socketTimeout"]
    .filter((name) => given[name] !== undefined && given[name] !== null)
    .map((name) => `${name} is set: replies that are late are dropped`);
}
