import type { Advice } from './advice.ts';

/** A fault of the address, the key or the file they stand in. */
export class CredentialsFault extends Error {
  /** What was typed cannot be one; otherwise it is one that does not do. */
  readonly isMisuse: boolean;

  readonly advice: Advice | undefined;

  constructor(message: string, { isMisuse = false, advice }: { isMisuse?: boolean; advice?: Advice } = {}) {
    super(message);
    this.isMisuse = isMisuse;
    this.advice = advice;
  }
}
