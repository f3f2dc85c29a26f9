/** A reply that ends a step of the dialogue with a refusal: code, enhanced code (RFC 3463), and one clause with a way out. */
export class SmtpReply extends Error {
  readonly responseCode: number;

  constructor(code: number, enhanced: string, text: string, because?: unknown) {
    super(`${enhanced} ${text}`, because === undefined ? undefined : { cause: because });
    this.responseCode = code;
  }
}

/** What the client may not know: the cause is in the log. */
export const temporaryTrouble = (because?: unknown): SmtpReply =>
  new SmtpReply(451, '4.3.0', 'Temporary local problem; nothing was accepted, send it again later', because);
