/**
 * Declares the objects of the API once: their columns and fields, how they are listed and shown, and what can be done
 * to them. The command line and the console are built from it. It is only data: it calls nothing and prints nothing.
 */
export { ai } from './ai.ts';
export { apiKeys } from './api-keys.ts';
export { approvals } from './approvals.ts';
export { audit, operatorAudit } from './audit.ts';
export { automationRuns, automations } from './automations.ts';
export { attachments, receivedAttachments } from './attachments.ts';
export { billing, billingPlans, invoices } from './billing.ts';
export { breakers } from './breakers.ts';
export { broadcastExclusions, broadcastLinks, broadcastRecipients, broadcastReviews } from './broadcast-reports.ts';
export { broadcastInWords, resumeIt } from './broadcast-words.ts';
export { broadcasts } from './broadcasts.ts';
export { certificates } from './certificates.ts';
export { contactProperties } from './contact-properties.ts';
export { contactImports, importInWords, previewInWords, type ImportPreview } from './contact-imports.ts';
export { contactActivity, contacts } from './contacts.ts';
export { customEvents } from './custom-events.ts';
export { columnsOfChanges, dns } from './dns.ts';
export { domainClaims } from './domain-claims.ts';
export { domainReports } from './domain-reports.ts';
export { domains } from './domains.ts';
export { egress } from './egress.ts';
export { emailAttempts, emailEvents, emails } from './emails.ts';
export type {
  Action,
  Body,
  Current,
  Destruction,
  Detail,
  Family,
  Field,
  Flag,
  Key,
  Kind,
  Line,
  Lines,
  List,
  Parts,
  Report,
  Syntax,
  Tone,
} from './family.ts';
export { explainFlag, toOptionName } from './flag.ts';
export type { Named } from './named.ts';
export { grouped, inWords, readWords, readFieldValue } from './field-value.ts';
export { readPart } from './columns.ts';
export { findings, operatorFindings, toneOfFinding } from './findings.ts';
export { forms } from './forms.ts';
export { images } from './images.ts';
export { inboundRules } from './inbound-rules.ts';
export { inboxDrafts } from './inbox-drafts.ts';
export { inboxEmails } from './inbox-emails.ts';
export { inboxSearch, inboxThreads } from './inbox-threads.ts';
export { answeringInWords, pausedInWords, stateOfThread } from './inbox-words.ts';
export { inboxChannels, inboxes } from './inboxes.ts';
export { invitations } from './invitations.ts';
export { logs } from './logs.ts';
export { providers } from './providers.ts';
export { queue, queueHolds, toneOfDelivery } from './queue.ts';
export { receivedEmails } from './received-emails.ts';
export { buildTotals } from './metrics.ts';
export { members } from './members.ts';
export { oauthClients, oauthGrants } from './oauth.ts';
export { health } from './system.ts';
export {
  domainReputation,
  formatBlocklists,
  formatCauses,
  formatTrend,
  nameSource,
  NO_MAIL,
  reputation,
  toneOfReputation,
  toneOfTrend,
  type ReputationEntry,
} from './reputation.ts';
export { senderRules } from './sender-rules.ts';
export { contactSegments, segmentContacts, segments } from './segments.ts';
export { account, sessions } from './sessions.ts';
export { shares } from './shares.ts';
export { sso } from './sso.ts';
export { suppressions } from './suppressions.ts';
export { ownTeams, teams } from './teams.ts';
export { templates } from './templates.ts';
export { contactTopics, topics } from './topics.ts';
export { usage, usageInWords } from './usage.ts';
export { isFailing, parkedWebhookEvents, webhookAttempts, webhookEvents, webhooks } from './webhooks.ts';
