/** What the door has to say. */
export type Verdict =
  | { kind: 'taken'; id: string }
  /** The domain in From has published that such mail is to be refused. */
  | { kind: 'refused'; domain: string | undefined }
  | { kind: 'deferred' }
  /** It is no report, and nothing else is taken where it was sent to. */
  | { kind: 'unwanted' };
