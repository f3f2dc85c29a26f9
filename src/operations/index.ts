/**
 * The verbs of the API as typed functions that know no transport: a caller who was let in, a call that keeps the
 * contract, an answer. HTTP is one adapter over them. The compiler asks for every operation of the contract.
 */
import { accounts } from './accounts.ts';
import { ai } from './ai.ts';
import { apiKeys } from './api-keys.ts';
import { approvals } from './approvals.ts';
import { attachments } from './attachments.ts';
import { audit } from './audit.ts';
import { automations } from './automations.ts';
import { billing } from './billing.ts';
import { broadcasts } from './broadcasts.ts';
import { certificates } from './certificates.ts';
import { contactImports } from './contact-imports.ts';
import { contactProperties } from './contact-properties.ts';
import { contacts } from './contacts.ts';
import { customEvents } from './custom-events.ts';
import { deviceLogins } from './device-logins.ts';
import { dns } from './dns.ts';
import { domainClaims } from './domain-claims.ts';
import { domains } from './domains.ts';
import { emails } from './emails.ts';
import { findings } from './findings.ts';
import { images } from './images.ts';
import { inboundRules } from './inbound-rules.ts';
import { inboxDrafts } from './inbox-drafts.ts';
import { inboxThreads } from './inbox-threads.ts';
import { inboxes } from './inboxes.ts';
import { invitations } from './invitations.ts';
import { logs } from './logs.ts';
import { members } from './members.ts';
import { metrics } from './metrics.ts';
import { mfa } from './mfa.ts';
import { oauth } from './oauth.ts';
import type { Operations } from './operation.ts';
import { playground } from './playground.ts';
import { queue } from './queue.ts';
import { receivedEmails } from './received-emails.ts';
import { segments } from './segments.ts';
import { sessions } from './sessions.ts';
import { shares } from './shares.ts';
import { sso } from './sso.ts';
import { suppressions } from './suppressions.ts';
import { system } from './system.ts';
import { teams } from './teams.ts';
import { templates } from './templates.ts';
import { topics } from './topics.ts';
import { usage } from './usage.ts';
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
