/**
 * The verbs of the API as typed functions that know no transport: a caller who was let in, a call that keeps the
 * contract, an answer. HTTP is one adapter over them. The compiler asks for every operation of the contract.
 */
import { accounts, approvals, deviceLogins, invitations, mfa, oauth, sessions, sso } from './identity.ts';
import { ai } from './ai.ts';
import { apiKeys, audit, logs, members, teams, usage } from './team.ts';
import { attachments, emails, inboundRules, metrics, receivedEmails, shares, suppressions } from './emails.ts';
import { automations, customEvents } from './automations.ts';
import { billing } from './billing.ts';
import { broadcasts } from './broadcasts.ts';
import { certificates, findings, queue, system } from './system.ts';
import { contactImports, contactProperties, contacts, segments, topics } from './audience.ts';
import { dns, domainClaims, domains } from './domains.ts';
import { images, templates } from './templates.ts';
import { inboxDrafts, inboxThreads, inboxes } from './inbox.ts';
import type { Operations } from './operation.ts';
import { playground } from './playground.ts';
import { webhooks } from './webhooks.ts';

export { checksItsOwnBody } from './emails.ts';
export { Answered, type OperationCtx, type OperationCtxFor, type Operations, type Services } from './operation.ts';

export const operations: Operations = {
  ...accounts,
  ...ai,
  ...apiKeys,
  ...approvals,
  ...attachments,
  ...audit,
  ...automations,
  ...billing,
  ...broadcasts,
  ...certificates,
  ...contactImports,
  ...contactProperties,
  ...contacts,
  ...customEvents,
  ...deviceLogins,
  ...dns,
  ...domainClaims,
  ...domains,
  ...emails,
  ...findings,
  ...images,
  ...inboundRules,
  ...inboxDrafts,
  ...inboxThreads,
  ...inboxes,
  ...invitations,
  ...logs,
  ...members,
  ...metrics,
  ...mfa,
  ...oauth,
  ...playground,
  ...queue,
  ...receivedEmails,
  ...segments,
  ...sessions,
  ...shares,
  ...sso,
  ...suppressions,
  ...system,
  ...teams,
  ...templates,
  ...topics,
  ...usage,
  ...webhooks,
};
