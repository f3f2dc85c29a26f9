import type { AnswerOf } from '../client/index.ts';

/** What is wrong with an installation on this machine, as its data folder says. */
export interface MachineLook {
  data: string;
  nodes: AnswerOf<'getOperatorFindings'>['nodes'];
  findings: AnswerOf<'getOperatorFindings'>['findings'];
  problems: string[];
  /** Why it was not looked at, and what it takes. */
  notAsked: string[];
}

/** The installation on this machine, which needs no key to be looked at. */
export interface Machine {
  data: string;
  /** Where its server listens, or would. */
  url: string | undefined;
  /** Only after everything else: as root, the process is the account of the service from here on. */
  look(): Promise<MachineLook>;
}

/** Finds it; the command line hands in what knows data folders, because these commands touch none. */
export type FindMachine = (env: Readonly<Record<string, string | undefined>>) => Promise<Machine | undefined>;
