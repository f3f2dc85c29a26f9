/** A reply that refuses a step of the dialogue: code, enhanced code (RFC 3463), and one clause with a way out. */
export class SmtpReply extends Error {
  readonly responseCode: number;

  constructor(code: number, enhanced: string, text: string, because?: unknown) {
    super(`${enhanced} ${text}`, because === undefined ? undefined : { cause: because });
    this.responseCode = code;
  }
}

/** For errors that the client must not see: the cause is in the log. */
export const temporaryTrouble = (because?: unknown): SmtpReply =>
  new SmtpReply(451, '4.3.0', 'Temporary local problem; nothing was accepted, send it again later', because);
