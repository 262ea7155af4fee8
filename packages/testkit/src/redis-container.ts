import type * as Testcontainers from "testcontainers";
import { withDeadline } from "./with-deadline.ts";

/** A Redis in a container of its own. */
export interface RedisContainer {
  readonly url: string;
  /** Stops and removes the container. */
  stop(): Promise<void>;
}

// Heavy, and an optional peer: whoever has a redis-server never loads it, and need not have it.
const LIBRARY = "testcontainers";
const DEFAULT_IMAGE = "redis:8";
const REDIS_PORT = 6379;
const RUNTIME_WITHIN_MS = 15_000;
const START_WITHIN_MS = 180_000;
const STOP_WITHIN_MS = 30_000;

/** The image to run: `SPILLWAY_REDIS_IMAGE`, or a current Redis. */
export function redisImage(): string {
  return process.env.SPILLWAY_REDIS_IMAGE || DEFAULT_IMAGE;
}

/** Why containers cannot be started here, or undefined when they can. The image may still have to be fetched. */
export async function whyNoContainers(): Promise<string | undefined> {
  try {
    const { getContainerRuntimeClient } = await loadLibrary();
    await withDeadline(getContainerRuntimeClient(), RUNTIME_WITHIN_MS, "a container runtime");
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether an image is on this machine already, so that nothing has to be fetched to run it. */
export async function hasImage(image: string): Promise<boolean> {
  const { getContainerRuntimeClient, ImageName } = await loadLibrary();
  const client = await withDeadline(getContainerRuntimeClient(), RUNTIME_WITHIN_MS, "a container runtime");
  return await client.image.exists(ImageName.fromString(image));
}

/** Starts a Redis without persistence in a container. */
export async function startRedisContainer(image: string = redisImage()): Promise<RedisContainer> {
  const { GenericContainer, Wait } = await loadLibrary();
  const container = new GenericContainer(image)
    .withCommand(["redis-server", "--save", "", "--appendonly", "no"])
    .withExposedPorts(REDIS_PORT)
    .withWaitStrategy(Wait.forLogMessage("Ready to accept connections"));
  const started = await withDeadline(container.start(), START_WITHIN_MS, `a container of ${image}`);
  return {
    url: `redis://${started.getHost()}:${started.getMappedPort(REDIS_PORT)}`,
    async stop() {
      await withDeadline(started.stop(), STOP_WITHIN_MS, `the container of ${image} to stop`);
    },
  };
}

async function loadLibrary(): Promise<typeof Testcontainers> {
  return await import(LIBRARY);
}
