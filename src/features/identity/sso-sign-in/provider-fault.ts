/** What a provider did that ends a sign-in. */
export class ProviderFault extends Error {
  /** `down`: it did not answer, or not in time; `wrong`: it answered what cannot be believed, or not be understood. */
  readonly kind: 'down' | 'wrong';
  /** What a browser brought may be at fault, which anybody can send: it tells nothing of the provider. */
  isOfAnswer = false;
  constructor(kind: 'down' | 'wrong', says: string, because?: unknown) {
    super(says, because === undefined ? undefined : { cause: because });
    this.kind = kind;
  }
}
