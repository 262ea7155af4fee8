// The shape of what `--json` prints, for those who read it.
export type { DemoDocument, DemoRun } from "./document.ts";
