/** What one experiment is given. */
export interface Lab {
  /** Shorter runs, for a first look and for tests: the marks stay. */
  readonly quick: boolean;
  /** How often a run on the clock of the machine is made; the median counts. */
  readonly rounds: number;
  /** Makes a run repeatable where chance has a part in it. */
  readonly seed: number;
  /** Says how far it is. */
  say(text: string): void;
}

/** One table of an experiment. Numbers are shown with as many decimals as they need up to two. */
export interface LabTable {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** One line of a plot. */
export interface Series {
  readonly name: string;
  /** In order of x. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** A plot of one figure over another. */
export interface LabPlot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly Series[];
  /** A level to compare with. */
  readonly level?: { readonly value: number; readonly label: string };
}

/** What must come out, and whether it did. */
export interface LabMark {
  readonly text: string;
  readonly met: boolean;
  /** Whether something else on the machine had a part in it: a mark that is not met then is neither met nor missed. */
  readonly isUnsure?: boolean;
}

export interface Findings {
  readonly tables: readonly LabTable[];
  readonly plots: readonly LabPlot[];
  readonly marks: readonly LabMark[];
  /** One sentence that sums it up. */
  readonly summary: string;
}

/** One question to this machine, with marks that say what a right implementation shows. */
export interface Experiment {
  /** As the command line spells it. */
  readonly name: string;
  readonly asks: string;
  run(lab: Lab): Promise<Findings>;
}

/** An experiment and what it found. */
export interface Finished {
  readonly name: string;
  readonly asks: string;
  readonly seconds: number;
  readonly findings: Findings;
}

export function isMissed({ met, isUnsure }: LabMark): boolean {
  return !met && isUnsure !== true;
}

/** A mark that a figure must lie between two others, both included. */
export function between(what: string, value: number, least: number, most: number): LabMark {
  const range = most === Number.POSITIVE_INFINITY ? `at least ${shown(least)}` : `${shown(least)} to ${shown(most)}`;
  return { text: `${what}: ${shown(value)} (${range})`, met: value >= least && value <= most };
}

/** A mark that a figure must not pass another. */
export function atMost(what: string, value: number, most: number): LabMark {
  return { text: `${what}: ${shown(value)} (at most ${shown(most)})`, met: value <= most };
}

/** A mark that a figure must reach another. */
export function atLeast(what: string, value: number, least: number): LabMark {
  return between(what, value, least, Number.POSITIVE_INFINITY);
}

/** A figure for people. */
export function shown(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 10 ? 3 : 1 });
}
