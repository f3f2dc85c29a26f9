/** Every operation of the contract and the function that answers it; the program does not start when one is missing. */
import type { KeyHandler, OpenHandler } from '../operation.ts';
import { apiKeys } from './api-keys.ts';
import { attachmentFiles, attachments } from './attachments.ts';
import { dns } from './dns.ts';
import { domainClaims } from './domain-claims.ts';
import { domains } from './domains.ts';
import { checksItsOwnBody, emails, sendsEmail } from './emails.ts';
import { logs } from './logs.ts';
import { metrics } from './metrics.ts';
import { operations } from './operations.ts';
import { sharePages, shares } from './shares.ts';
import { suppressions } from './suppressions.ts';
import { teams } from './teams.ts';
import { storesBodies, templates } from './templates.ts';
import { usage } from './usage.ts';
import { webhooks } from './webhooks.ts';

export { checksItsOwnBody };

export const withKey: Readonly<Record<string, KeyHandler>> = {
  ...apiKeys,
  ...attachments,
  ...dns,
  ...domainClaims,
  ...domains,
  ...emails,
  ...logs,
  ...metrics,
  ...shares,
  ...suppressions,
  ...teams,
  ...templates,
  ...usage,
  ...webhooks,
};

export const withoutKey: Readonly<Record<string, OpenHandler>> = { ...attachmentFiles, ...operations, ...sharePages };

/** Bodies and attachments of email travel in these, so they may be as large as an email. */
export const holdsEmail: ReadonlySet<string> = new Set([...sendsEmail, ...storesBodies]);
