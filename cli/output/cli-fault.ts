import { EXIT, type Ending } from './exit-codes.ts';

/** What the command line itself found wrong before or after the API was asked: one line each, no stack. */
export class CliFault extends Error {
  readonly exitCode: number;

  constructor(message: string, ending: Ending = 'failed') {
    super(message);
    this.exitCode = EXIT[ending];
  }
}
