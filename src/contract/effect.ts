/**
 * The effects of operations on mail and data, which decide the limits and the approvals of an app. They are ordered by
 * severity: if several apply to one call, the last of them counts.
 *
 * - `reads`: changes nothing.
 * - `changes`: changes data of the team, and sends no mail.
 * - `alters_mail`: writes text that other mail contains, such as a signature, a fallback or a draft.
 * - `sends`: sends mail to the recipients in the call, which are counted when it is accepted.
 * - `starts_mail`: may send mail to people who are not in the call, through an automation, a confirmation or a link.
 * - `sends_broadcast`: sends mail to a segment.
 */
export type Effect = 'reads' | 'changes' | 'alters_mail' | 'sends' | 'starts_mail' | 'sends_broadcast';

/** Effects of an operation that depend on its body, or on who wrote what it changes. */
export interface EffectRules {
  usually: Effect;
  /** The effect of a body that has the field: the key is `field` or `field=value`. */
  with?: Readonly<Record<string, Effect>>;
  /** The effect of a body that has this field and no other. */
  alone?: Readonly<Record<string, Effect>>;
  /** The effect if the app is the only writer of what is changed. */
  own?: Effect;
}
