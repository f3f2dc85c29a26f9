import { isoTime } from '../../../platform/clock/index.ts';
import { invalidField } from '../../../platform/refusal/index.ts';
import { parseIsoTime } from '../../../protocol/iso-time/index.ts';
import { NO_LIMITS, type GrantLimits } from '../../../tenancy/access/index.ts';

/** As callers name them. */
export interface LimitsAsked {
  read_only?: boolean;
  emails_per_day?: number | null;
  recipients?: GrantLimits['recipients'];
  approval?: GrantLimits['approval'];
  expires_at?: string | null;
}

/** What an app is kept to, and when that ends with the grant itself. */
export interface Limited {
  limits: GrantLimits;
  expiresAt: number | null;
}

export const UNLIMITED: Limited = { limits: NO_LIMITS, expiresAt: null };

export const EMAILS_MAX = 1_000_000;

/** What is left out stays as it was. */
export function changedLimits({ limits, expiresAt }: Limited, asked: LimitsAsked, now: number): Limited {
  const { emails_per_day: emailsPerDay = limits.emailsPerDay } = asked;
  if (emailsPerDay !== null && (!Number.isInteger(emailsPerDay) || emailsPerDay < 1 || emailsPerDay > EMAILS_MAX)) {
    throw invalidField('emails_per_day', `emails_per_day must be a whole number from 1 to ${EMAILS_MAX}.`);
  }
  return {
    limits: {
      readOnly: asked.read_only ?? limits.readOnly,
      emailsPerDay,
      recipients: asked.recipients ?? limits.recipients,
      approval: asked.approval ?? limits.approval,
    },
    expiresAt: asked.expires_at === undefined ? expiresAt : readEnd(asked.expires_at, now),
  };
}

function readEnd(text: string | null, now: number): number | null {
  if (text === null) return null;
  const time = parseIsoTime(text);
  if (time?.hasOffset && time.ms > now) return time.ms;
  const example = isoTime(now + 7 * 24 * 3_600_000);
  throw invalidField('expires_at', `expires_at must be an ISO 8601 time to come, with an offset, such as ${example}.`);
}

/** For the column `limits`; null where there is none. */
export const storedLimits = (limits: GrantLimits): string | null => {
  const text = JSON.stringify(limits);
  return text === JSON.stringify(NO_LIMITS) ? null : text;
};

export const readStored = (text: string | null): GrantLimits =>
  text === null ? NO_LIMITS : { ...NO_LIMITS, ...(JSON.parse(text) as Partial<GrantLimits>) };

export const presentLimits = ({ limits, expiresAt }: Limited) => ({
  read_only: limits.readOnly,
  emails_per_day: limits.emailsPerDay,
  recipients: limits.recipients,
  approval: limits.approval,
  expires_at: expiresAt === null ? null : isoTime(expiresAt),
});
