import { listOfAdvice, type Advice, type Advices } from '../client/index.ts';
import { EXIT, type Ending } from './exit-codes.ts';

/** What the command line itself found wrong before or after the API was asked: one line each, no stack. */
export class CliFault extends Error {
  readonly exitCode: number;

  readonly advice: readonly Advice[];

  constructor(message: string, ending: Ending = 'failed', advice?: Advices) {
    super(message);
    this.advice = listOfAdvice(advice);
    this.exitCode = EXIT[ending];
  }
}
