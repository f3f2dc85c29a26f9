import type { Command } from 'commander';
import type { AnswerOf } from '../client/index.ts';

/** The faults of an installation on this machine, according to its data folder. */
export interface MachineState {
  data: string;
  nodes: AnswerOf<'getOperatorFindings'>['nodes'];
  findings: AnswerOf<'getOperatorFindings'>['findings'];
  /** The external checks, run by the server, or by this command if no server runs. */
  checks: AnswerOf<'getOperatorFindings'>['checks'];
  problems: string[];
  /** Lists each check that was not made, with the reason and what it takes to make it. */
  notAsked: string[];
}

/** The installation on this machine, which can be examined without a key. */
export interface Machine {
  data: string;
  /** The address where its server listens, or would; undefined if it is unknown. */
  url: string | undefined;
  /** The reason why the address is unknown although the folder can be read. */
  whyNoUrl?: string;
  /** False if the data folder is readable only by root and the account of its service. */
  mayLook: boolean;
  /** The command that starts the service of the installation; undefined for a folder without a service. */
  startCommand: string | undefined;
  /** Returns whether the settings ask for a certificate that the server makes itself. */
  isSelfSigned(): boolean;
  /** Returns whether an address leads to the server of this machine, also under another name than its own. */
  isServedAt(url: string): boolean;
  /** Returns the server that runs here, and a pass that authenticates an operator for a minute. */
  running(): { url: string; pass: string } | undefined;
  /**
   * Examines what no server has just examined. Call it last: from here on a process of root runs as the account of the
   * service.
   */
  readState(examination: Examination): Promise<MachineState>;
}

/** Result of asking the server of the machine to examine it: done, refused, or no server runs. */
export type Examination = 'done' | 'refused' | 'no server';

/** The typed data folder; an absolute path. */
export interface NamedMachine {
  data?: string | undefined;
  config?: string | undefined;
}

/** Finds the installation; passed in by the program, because these commands do not touch data folders. */
export type FindMachine = (
  env: Readonly<Record<string, string | undefined>>,
  named: NamedMachine,
) => Promise<Machine | undefined>;

const finders = new WeakMap<Command, FindMachine>();

/** Stores the function that finds the installation, for the commands of a program. */
export const keepMachineFinder = (program: Command, find: FindMachine): void => void finders.set(program, find);

/** Returns the function that `keepMachineFinder` stored for the program of a command. */
export const getMachineFinder = (command: Command): FindMachine | undefined =>
  command.parent ? getMachineFinder(command.parent) : finders.get(command);
