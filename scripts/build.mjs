import { runNode } from "./run-node.mjs";
import { say } from "./say.mjs";

/** Compiles every package that changed since the last time. */
export async function build() {
  const startedAt = performance.now();
  const code = await runNode(["node_modules/typescript/bin/tsc", "-b"], { quiet: true });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (code !== 0) say(`The packages do not compile (tsc -b, ${seconds} s).`);
  else if (Number(seconds) >= 1) say(`Compiled the packages in ${seconds} s.`);
  return code;
}
