/** A fault of the address, the key or the file they stand in; the message says what to do. */
export class CredentialsFault extends Error {
  /** What was typed cannot be one; otherwise it is one that does not do. */
  readonly isMisuse: boolean;

  constructor(message: string, { isMisuse = false }: { isMisuse?: boolean } = {}) {
    super(message);
    this.isMisuse = isMisuse;
  }
}
