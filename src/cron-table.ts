import os from 'node:os';
import { type CronJob } from './ports/cron/index.ts';
import {
  closeMonths,
  forgetPaymentEvents,
  noPayments,
  recheckSubscriptions,
  type PaymentProvider,
} from './features/billing/start.ts';
import { forgetConfirmationMails, forgetSignUpAddresses, removeImportFiles } from './features/audience/start.ts';
import { removeOldEnrolments, startDates } from './features/automations/start.ts';
import {
  askRenewalTimes,
  renewCertificates,
  sendNotices,
  type Doctor,
  type Node,
  correctTimes,
  createLogRemoval,
  createRemoval,
  createWebhookRemoval,
  forgetIdempotencyKeys,
  keepInboxes,
  removeOrphanBlobs,
  removeOldAudit,
  type DamageWatch,
} from './features/installation/start.ts';
import { removeDueTeams } from './features/customers/start.ts';
import type { Accept } from './mail/accept/index.ts';
import { evaluateBreakers } from './mail/breakers/index.ts';
import { checkSenderRules, publishConfigured, recheckClaims, sweepDomains } from './mail/domain-dns/index.ts';
import { removeOldReports } from './mail/domain-reports/index.ts';
import { releaseDeferred } from './mail/queue/index.ts';
import { forgetGreylisted } from './mail/receive/index.ts';
import { createStsPolicies } from './mail/tls-policies/index.ts';
import { createReportSending } from './mail/tls-reports/index.ts';
import { releaseEndedHolds } from './mail/queue-admin/index.ts';
import { recheckSsoDomains, recheckSsoProviders, sendOperatorMail } from './features/identity/start.ts';
import { createReputationSummary } from './features/reputation-summary/start.ts';
import { forgetListeners } from './features/webhooks/start.ts';
import type { World } from './platform/world.ts';
import { backUpOnSchedule, watchBackups } from './features/installation/index.ts';
import {
  removeOldApprovals,
  removeExpiredDeviceLogins,
  reportSender,
  removeExpiredSessions,
  forgetAccountRequests,
  forgetInvitations,
  removeExpiredOauth,
  removeUnusedOauth,
} from './features/identity/index.ts';
import { clearDeleted } from './features/audience/index.ts';
import { recheckDamaged } from './mail/contents/index.ts';
import { indexEmails } from './mail/emails/index.ts';
import { indexInboxes } from './features/inbox/index.ts';
import { forgetExpiredShares } from './features/sharing/index.ts';
import { forgetStreamCounts } from './mail/stream-rates/index.ts';
import { rollReputationCounts } from './mail/reputation/index.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Returns the scheduled jobs, each of which runs on one node at a time. */
export function cronTable(
  world: World,
  {
    payments = noPayments,
    doctor,
    database,
    accept,
    node,
    syncDelivery,
  }: {
    payments?: PaymentProvider | undefined;
    doctor: Doctor;
    database: Pick<DamageWatch, 'examine'>;
    accept: Pick<Accept, 'acceptEmail'>;
    node: Pick<Node, 'loadReport'>;
    syncDelivery?: (() => Promise<void>) | undefined;
  },
): readonly CronJob[] {
  return [
    ...ofMachine(world, doctor),
    { name: 'tell-findings', schedule: '* * * * *', run: (stopping) => sendNotices(world, stopping) },
    { name: 'sweep-domains', schedule: world.config.domains.sweep, run: () => sweepDomains(world) },
    { name: 'publish-dns', schedule: '* * * * *', run: () => publishConfigured(world) },
    {
      name: 'refresh-tls-policies',
      schedule: '21 * * * *',
      run: (stopping) => createStsPolicies(world).refresh(stopping),
    },
    {
      name: 'send-tls-reports',
      schedule: '* * * * *',
      run: createReportSending(world, { findSender: () => reportSender(world) }),
    },
    {
      name: 'send-reputation-summary',
      schedule: '* * * * *',
      run: createReputationSummary(world, { node, sendMail: (mail) => sendOperatorMail(world, accept, mail) }),
    },
    { name: 'evaluate-breakers', schedule: '* * * * *', run: () => evaluateBreakers(world, { syncDelivery }) },
    { name: 'check-sender-rules', schedule: '51 * * * *', run: () => checkSenderRules(world, node) },
    { name: 'release-deferred-mail', schedule: '* * * * *', run: () => releaseDeferred(world.db, world.clock.now()) },
    { name: 'correct-times', schedule: '3 * * * *', run: () => correctTimes(world) },
    { name: 'release-ended-holds', schedule: '* * * * *', run: () => releaseEndedHolds(world) },
    { name: 'recheck-damaged-contents', schedule: '*/10 * * * *', run: () => recheckDamaged(world) },
    { name: 'recheck-claims', schedule: '41 * * * *', run: () => recheckClaims(world) },
    { name: 'recheck-sso-domains', schedule: '11 3 * * *', run: () => recheckSsoDomains(world) },
    { name: 'recheck-sso-providers', schedule: '*/10 * * * *', run: () => recheckSsoProviders(world) },
    { name: 'forget-idempotency-keys', schedule: '7 * * * *', run: () => forgetIdempotencyKeys(world) },
    { name: 'forget-greylisted', schedule: '13 * * * *', run: () => forgetGreylisted(world) },
    {
      name: 'remove-old-domain-reports',
      schedule: '43 * * * *',
      run: (stopping) => removeOldReports(world, stopping),
    },
    { name: 'forget-confirmation-mails', schedule: '37 * * * *', run: () => forgetConfirmationMails(world) },
    { name: 'remove-old-enrolments', schedule: '39 * * * *', run: () => removeOldEnrolments(world) },
    { name: 'start-automation-dates', schedule: '* * * * *', run: (stopping) => startDates(world, stopping) },
    { name: 'forget-sign-up-addresses', schedule: '41 * * * *', run: () => forgetSignUpAddresses(world) },
    { name: 'forget-expired-shares', schedule: '19 * * * *', run: () => forgetExpiredShares(world) },
    { name: 'remove-expired-sessions', schedule: '29 * * * *', run: () => removeExpiredSessions(world) },
    { name: 'remove-expired-oauth', schedule: '47 * * * *', run: () => removeExpiredOauth(world) },
    { name: 'remove-unused-oauth', schedule: '17 5 * * *', run: () => removeUnusedOauth(world) },
    { name: 'remove-old-approvals', schedule: '43 4 * * *', run: () => removeOldApprovals(world) },
    { name: 'forget-account-requests', schedule: '33 * * * *', run: () => forgetAccountRequests(world) },
    { name: 'remove-device-logins', schedule: '35 * * * *', run: () => removeExpiredDeviceLogins(world) },
    {
      name: 'forget-stream-counts',
      schedule: '51 4 * * *',
      run: () => forgetStreamCounts(world.db, world.clock.now()),
    },
    {
      name: 'roll-reputation-counts',
      schedule: '9 5 * * *',
      run: () => rollReputationCounts(world.db, world.clock.now()),
    },
    { name: 'forget-invitations', schedule: '27 4 * * *', run: () => forgetInvitations(world) },
    { name: 'remove-old-audit', schedule: '53 4 * * *', run: () => removeOldAudit(world) },
    { name: 'remove-old-logs', schedule: '* * * * *', run: createLogRemoval(world) },
    { name: 'remove-old-webhook-events', schedule: '* * * * *', run: createWebhookRemoval(world) },
    { name: 'close-billing-months', schedule: '11 * * * *', run: () => closeMonths(world) },
    { name: 'recheck-subscriptions', schedule: '23 * * * *', run: () => recheckSubscriptions(world, payments) },
    { name: 'forget-payment-events', schedule: '57 4 * * *', run: () => forgetPaymentEvents(world) },
    { name: 'renew-certificates', schedule: '* * * * *', run: (stopping) => renewCertificates(world, stopping) },
    { name: 'ask-renewal-times', schedule: '17 */6 * * *', run: (stopping) => askRenewalTimes(world, stopping) },
    { name: 'index-emails', schedule: '* * * * *', run: () => indexEmails(world) },
    { name: 'index-inboxes', schedule: '* * * * *', run: () => indexInboxes(world) },
    { name: 'keep-inboxes', schedule: '* * * * *', run: () => keepInboxes(world) },
    { name: 'remove-expired', schedule: '* * * * *', run: createRemoval(world) },
    { name: 'forget-listeners', schedule: '* * * * *', run: () => forgetListeners(world) },
    { name: 'remove-import-files', schedule: '31 * * * *', run: () => removeImportFiles(world) },
    { name: 'clear-deleted-audience', schedule: '* * * * *', run: () => clearDeleted(world) },
    { name: 'delete-teams', schedule: '* * * * *', run: (stopping) => removeDueTeams(world, stopping) },
    { name: 'check-database', schedule: '37 2 * * *', run: (stopping) => database.examine(stopping) },
    { name: 'remove-orphan-blobs', schedule: '23 3 * * *', run: () => removeOrphanBlobs(world) },
    { name: 'watch-backups', schedule: '49 * * * *', run: () => watchBackups(world) },
    ...backupJobs(world),
  ];
}

function backupJobs(world: World): CronJob[] {
  const { schedule } = world.config.backup;
  if (schedule === '') return [];
  const [hour, minute] = schedule.split(':').map(Number);
  const run: CronJob['run'] = (stopping) => backUpOnSchedule(world, { sealed: SEALED_COLUMNS, stopping });
  return [{ name: 'back-up', schedule: `${minute} ${hour} * * *`, run }];
}

/**
 * Makes the jobs of this machine: each machine is examined by a process of its own, so the name of a job contains the
 * machine.
 */
function ofMachine({ config }: World, doctor: Doctor): CronJob[] {
  const machine = os.hostname();
  const { hours, minutes } = config.doctor;
  const jobs: CronJob[] = [{ name: `sample-disk ${machine}`, schedule: '47 * * * *', run: () => doctor.sampleDisk() }];
  if (minutes > 0) {
    const run: CronJob['run'] = (stopping) => doctor.glance(stopping);
    jobs.push({ name: `glance ${machine}`, schedule: `*/${minutes} * * * *`, run });
  }
  if (hours.length === 0) return jobs;
  return [
    ...jobs,
    { name: `examine ${machine}`, schedule: `17 ${hours.join(',')} * * *`, run: () => doctor.examine() },
  ];
}
