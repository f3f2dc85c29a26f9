import type { AnswerOf } from '../client/index.ts';

/** What is wrong with an installation on this machine, as its data folder says. */
export interface MachineLook {
  data: string;
  nodes: AnswerOf<'getOperatorFindings'>['nodes'];
  findings: AnswerOf<'getOperatorFindings'>['findings'];
  /** What was looked at outside: by the server, or where none runs by this command. */
  checks: AnswerOf<'getOperatorFindings'>['checks'];
  problems: string[];
  /** Why it was not looked at, and what it takes. */
  notAsked: string[];
}

/** The installation on this machine, which needs no key to be looked at. */
export interface Machine {
  data: string;
  /** Where its server listens, or would; undefined where nobody knows. */
  url: string | undefined;
  /** Why that is not known to who may look. */
  whyNoUrl?: string;
  /** Its data folder is for root and the account of its service. */
  mayLook: boolean;
  /** The server that runs here, and a pass by which it is asked as an operator for a minute. */
  running(): { url: string; pass: string } | undefined;
  /** Only after everything else: as root, the process is the account of the service from here on. Where its server was asked to examine it and does not, the look does. */
  look(isUnanswered: boolean): Promise<MachineLook>;
}

/** What was typed; a path that is whole. */
export interface NamedMachine {
  data?: string | undefined;
  config?: string | undefined;
}

/** Finds it; the command line hands in what knows data folders, because these commands touch none. */
export type FindMachine = (
  env: Readonly<Record<string, string | undefined>>,
  named: NamedMachine,
) => Promise<Machine | undefined>;
