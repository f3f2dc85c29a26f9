/** Thrown before anything was started; `faults` has one line for each thing to correct. */
export class ConfigFault extends Error {
  override readonly name = 'ConfigFault';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
    super(`The configuration has ${count}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}
