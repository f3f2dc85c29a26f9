/** What the command line itself found wrong before or after the API was asked: one line each, no stack. */
export class CliFault extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
