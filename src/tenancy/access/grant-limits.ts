import type { Effect } from '../../contract/index.ts';
import { refuse, Refusal } from '../../platform/refusal.ts';

/** Limits of an app in addition to its scopes. */
export interface GrantLimits {
  readOnly: boolean;
  /** Recipients from midnight to midnight, UTC. */
  emailsPerDay: number | null;
  recipients: 'any' | 'own_domains';
  approval: 'none' | 'broadcasts' | 'sends' | 'changes';
  /**
   * With approval of broadcasts, the number of recipients from midnight to midnight, UTC, that need no approval: a batch,
   * or a loop of single sends or of calls that start mail, can reach as many as a broadcast.
   */
  approvalAbove: number;
}

export const APPROVAL_ABOVE = 100;

export const NO_LIMITS: GrantLimits = {
  readOnly: false,
  emailsPerDay: null,
  recipients: 'any',
  approval: 'none',
  approvalAbove: APPROVAL_ABOVE,
};

/** `waits`: a person has to approve first. */
export type Admission = 'may' | 'waits' | Refusal;

/**
 * Decides whether an app may do something with this effect. The recipients and the number of emails are checked again
 * when mail is accepted.
 */
export function decideAdmission(limits: GrantLimits, effect: Effect): Admission {
  if (effect === 'reads') return 'may';
  if (limits.readOnly) return beyond('read_only', 'it has read-only access');
  if (needsApproval(limits, effect)) return 'waits';
  const why = UNFORESEEN[effect];
  if (why === undefined) return 'may';
  if (limits.recipients === 'own_domains') return beyond('recipients', why);
  return limits.emailsPerDay === null ? 'may' : beyond('emails_per_day', why);
}

/**
 * Reasons why the recipient and email limits cannot be checked for a call, which names neither recipients nor their
 * number; an effect without a reason can be checked.
 */
const UNFORESEEN: Readonly<Partial<Record<Effect, string>>> = {
  alters_mail: 'this changes content of other mail',
  starts_mail: 'this may send mail to recipients that it does not name',
  starts_mailing: 'this may send mail to recipients that it does not name',
  sends_broadcast: 'this may send mail to recipients that it does not name',
};

function needsApproval({ approval }: GrantLimits, effect: Effect): boolean {
  switch (approval) {
    case 'none':
      return false;
    case 'broadcasts':
      // Text in the mail of others reaches everybody whom they send to.
      return effect === 'sends_broadcast' || effect === 'starts_mailing' || effect === 'alters_mail';
    case 'sends':
      return effect !== 'changes';
    case 'changes':
      return true;
  }
}

/**
 * Reports whether a call with this effect counts as one recipient towards `approvalAbove`. Mail that it starts is sent
 * later by a job, which no longer knows the app.
 */
export const countsAsRecipient = ({ approval }: GrantLimits, effect: Effect): boolean =>
  approval === 'broadcasts' && effect === 'starts_mail';

/** Refuses mail that a person has to approve first; the listener holds the call that sends it instead. */
export class BeyondUnapproved extends Refusal {
  constructor(max: number) {
    super('invalid_permission', {
      say: `This app is limited by approval_above of its grant: beyond ${max} recipients a day, a person has to approve what it sends.`,
    });
  }
}

/** Returns the refusal, with the name of the limit in the contract and who may change it. */
export const beyond = (limit: 'read_only' | 'recipients' | 'emails_per_day', why: string): Refusal =>
  refuse('invalid_permission', {
    say: `This app is limited by ${limit} of its grant: ${why}. The person who authorized it, or an admin of the team, can change the limit.`,
  });
