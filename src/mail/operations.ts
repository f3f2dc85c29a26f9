import type { Accept } from './accept/index.ts';
import { readIdempotency } from './accept/index.ts';
import { getAttachment, listAttachments } from './attachments/index.ts';
import { getBreakers, releaseBreaker } from './breakers/index.ts';
import { clearCaptured, findCaptured, readWholeCaptured } from './capture/index.ts';
import { readZone } from './dns/index.ts';
import { claimDomain, getClaim } from './domain-claims/index.ts';
import {
  configureDomainDns,
  createDomain,
  getDomain,
  getSenderRules,
  updateDomain,
  verifyClaim,
  verifyDomain,
} from './domain-dns/index.ts';
import { listDomainReports, summarizeDomainReports } from './domain-reports/index.ts';
import { deleteDomain, listDomains, regenerateDkim, rotateDkim } from './domains/index.ts';
import { getEmail, listEmailAttempts, listEmailEvents, listEmails } from './emails/index.ts';
import {
  createInboundRule,
  deleteInboundRule,
  getInboundRule,
  listInboundRules,
  updateInboundRule,
} from './inbound-rules/index.ts';
import {
  createHold,
  dropWaiting,
  listHolds,
  listWaiting,
  readQueue,
  readQueuedEmail,
  releaseHold,
  retryWaiting,
} from './queue-admin/index.ts';
import { getProvider, listProviders, resetProvider, resumeProvider, suspendProvider } from './provider-admin/index.ts';
import {
  continueWarmUp,
  getSource,
  getWarmUp,
  listSources,
  pauseWarmUp,
  startWarmUp,
  stopWarmUp,
  type FaultReader,
} from './egress-admin/index.ts';
import { getDomainReputation, getReputation, type CheckReader } from './reputation-admin/index.ts';
import { pendingDeliveries } from './queue/index.ts';
import {
  deleteReceivedEmail,
  getReceivedAttachment,
  getReceivedEmail,
  listReceivedAttachments,
  listReceivedEmails,
} from './received-emails/index.ts';
import { cancelEmail, moveEmail } from './schedule/index.ts';
import {
  addSuppressions,
  createSuppression,
  deleteSuppression,
  getSuppression,
  listSuppressions,
  removeSuppressions,
} from './suppressions/index.ts';
import { refuse } from '../platform/refusal.ts';
import { Answered, readBatch, readPage, type BodyCheck, type OperationTable } from '../tenancy/access/index.ts';
import type { World } from '../platform/world.ts';

export const domains = {
  createDomain: (ctx, { body }) => createDomain(ctx, body),
  listDomains: (ctx, { query }) => listDomains(ctx, readPage(query)),
  getDomain: (ctx, { path }) => getDomain(ctx, path.domain_id),
  updateDomain: (ctx, { path, body }) => updateDomain(ctx, path.domain_id, body),
  deleteDomain: (ctx, { path }) => deleteDomain(ctx, path.domain_id),
  verifyDomain: (ctx, { path }) => verifyDomain(ctx, path.domain_id),
  regenerateDkim: (ctx, { path, body }) => regenerateDkim(ctx, path.domain_id, body),
  rotateDkim: (ctx, { path }) => rotateDkim(ctx, path.domain_id),
} satisfies OperationTable<World>;

export const domainClaims = {
  async claimDomain(ctx, { body }) {
    const { claim, isNew } = await claimDomain(ctx, body);
    return new Answered(isNew ? 201 : 200, claim);
  },
  getDomainClaim: (ctx, { path }) => getClaim(ctx, path.domain_id),
  verifyDomainClaim: (ctx, { path }) => verifyClaim(ctx, path.domain_id),
} satisfies OperationTable<World>;

export const domainReports = {
  listDomainReports: (ctx, { path, query = {} }) => listDomainReports(ctx, path.domain_id, query, readPage(query)),
  getDomainReportSummary: (ctx, { path, query = {} }) => summarizeDomainReports(ctx, path.domain_id, query),
} satisfies OperationTable<World>;

export const dns = {
  getDomainZone: (ctx, { path }) => readZone(ctx, path.domain_id),
  configureDomainDns: (ctx, { path, body }) => configureDomainDns(ctx, path.domain_id, body),
} satisfies OperationTable<World>;

interface SendingCtx extends BodyCheck {
  services: { accept: Accept };
}

const BATCH_MAX = 100;

export const emails = {
  sendEmail: (ctx, { body, header }) =>
    ctx.services.accept.acceptEmail(ctx, body, readIdempotency(ctx, header, { operation: 'sendEmail', said: body })),
  async sendBatch(ctx, { body, header }) {
    const { accept } = ctx.services;
    const isPermissive = header?.['x-batch-validation'] === 'permissive';
    const { inputs, refused } = await readBatch(ctx, 'sendBatch', { body, max: BATCH_MAX, isPermissive });
    const operation = isPermissive ? 'sendBatch permissive' : 'sendBatch';
    const idempotency = readIdempotency(ctx, header, { operation, said: body });
    const errors = refused.map(({ index, refusal }) => ({ index, message: refusal.message }));
    return accept.acceptBatch(ctx, inputs, {
      ...(isPermissive ? { permissive: { refused: errors } } : {}),
      idempotency,
    });
  },
  listEmails: (ctx, { query = {} }) => listEmails(ctx, query, readPage(query)),
  getEmail: (ctx, { path }) => getEmail(ctx, path.email_id),
  listEmailEvents: (ctx, { path, query }) => listEmailEvents(ctx, path.email_id, readPage(query)),
  async listEmailAttempts(ctx, { path, query }) {
    const page = await listEmailAttempts(ctx, path.email_id, readPage(query));
    return { ...page, pending: await pendingDeliveries(ctx.store, path.email_id) };
  },
  updateEmail: (ctx, { path, body }) => moveEmail(ctx, path.email_id, body),
  cancelEmail: (ctx, { path }) => cancelEmail(ctx, path.email_id),
} satisfies OperationTable<World, SendingCtx>;

export const receivedEmails = {
  listReceivedEmails: (ctx, { query = {} }) => listReceivedEmails(ctx, query, readPage(query)),
  getReceivedEmail: (ctx, { path, query }) =>
    getReceivedEmail(ctx, path.received_email_id, query?.html_format ?? 'data_uri'),
  deleteReceivedEmail: (ctx, { path }) => deleteReceivedEmail(ctx, path.received_email_id),
  listReceivedAttachments: (ctx, { path, query }) =>
    listReceivedAttachments(ctx, path.received_email_id, readPage(query)),
  getReceivedAttachment: (ctx, { path }) =>
    getReceivedAttachment(ctx, path.received_email_id, path.received_attachment_id),
} satisfies OperationTable<World>;

export const attachments = {
  listAttachments: (ctx, { path, query }) => listAttachments(ctx, path.email_id, readPage(query)),
  getAttachment: (ctx, { path }) => getAttachment(ctx, path.email_id, path.attachment_id),
} satisfies OperationTable<World>;

export const suppressions = {
  createSuppression: (ctx, { body }) => createSuppression(ctx, body),
  listSuppressions: (ctx, { query = {} }) => listSuppressions(ctx, query, readPage(query)),
  getSuppression: (ctx, { path }) => getSuppression(ctx, path.suppression),
  deleteSuppression: (ctx, { path }) => deleteSuppression(ctx, path.suppression),
  addSuppressions: (ctx, { body }) => addSuppressions(ctx, body),
  removeSuppressions: (ctx, { body }) => removeSuppressions(ctx, body),
} satisfies OperationTable<World>;

export const inboundRules = {
  createInboundRule: (ctx, { body }) => createInboundRule(ctx, body),
  listInboundRules: (ctx, { query }) => listInboundRules(ctx, readPage(query)),
  getInboundRule: (ctx, { path }) => getInboundRule(ctx, path.inbound_rule_id),
  updateInboundRule: (ctx, { path, body }) => updateInboundRule(ctx, path.inbound_rule_id, body),
  deleteInboundRule: (ctx, { path }) => deleteInboundRule(ctx, path.inbound_rule_id),
} satisfies OperationTable<World>;

/** Limit of the sources on one page; the first message is included whatever its size. */
const PAGE_BYTES = 25 * 1024 * 1024;

const WAIT_MS_MAX = 60_000;

const WAIT_FORM = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s)$/;

export const playground = {
  async listPlaygroundMessages({ store, whenGone }, { query = {} }) {
    const filter = { to: query.to, subject: query.subject, emailId: query.email_id };
    const found = await findCaptured(store, filter, readPage(query), {
      waitMs: readWait(query.wait),
      gone: whenGone?.(),
    });
    // With `before` the oldest of the page are nearest to the cursor, so that a page that ends early keeps those.
    const rows = query.before === undefined ? found.rows : found.rows.toReversed();
    const data = [];
    let isFull = false;
    let bytes = 0;
    for (const row of rows) {
      bytes += row.size;
      isFull = data.length > 0 && bytes > PAGE_BYTES;
      if (isFull) break;
      const message = await readWholeCaptured(store, row);
      if (message) data.push(message);
    }
    if (query.before !== undefined) data.reverse();
    return { object: 'list' as const, has_more: found.hasMore || isFull, data };
  },
  async clearPlaygroundMessages({ store }) {
    return { object: 'playground' as const, deleted: true as const, count: await clearCaptured(store) };
  },
} satisfies OperationTable<World>;

/** Returns how many milliseconds a caller wants to wait. */
function readWait(text: string | undefined): number {
  if (text === undefined) return 0;
  const [, count, unit] = WAIT_FORM.exec(text) ?? [];
  const ms = Math.ceil(Number(count) * (unit === 's' ? 1000 : 1));
  if (count !== undefined && ms <= WAIT_MS_MAX) return ms;
  throw refuse('invalid_parameter', {
    say: `wait must be a number of seconds or milliseconds with its unit, such as 5s or 500ms, at most 60s; got ${JSON.stringify(text)}.`,
  });
}

/** Other nodes poll the queue twice a second. */
export const queue = {
  getQueue: (ctx) => readQueue(ctx.store),
  listQueuedDeliveries: (ctx, { query = {} }) => listWaiting(ctx.store, query, readPage(query)),
  getQueuedEmail: (ctx, { path }) => readQueuedEmail(ctx.store, path.queued_email_id),
  listQueueHolds: (ctx, { query }) => listHolds(ctx.store, readPage(query)),
  createQueueHold: (ctx, { body }) => createHold(ctx, body),
  releaseQueueHold: (ctx, { path }) => releaseHold(ctx, path.hold_id).finally(ctx.services.wakeQueue),
  retryQueue: (ctx, { body }) => retryWaiting(ctx, body).finally(ctx.services.wakeQueue),
  dropQueue: (ctx, { body }) => dropWaiting(ctx, body),
} satisfies OperationTable<World, { services: { wakeQueue: () => void } }>;

export const providers = {
  async listProviders({ store, services }, { query = {} }) {
    await services.syncDelivery();
    return listProviders(store, readPage(query));
  },
  async getProvider({ store, services }, { path }) {
    await services.syncDelivery();
    return getProvider(store, path.provider);
  },
  suspendProvider: (ctx, { path, body }) => suspendProvider(ctx, path.provider, body),
  resumeProvider: (ctx, { path }) => resumeProvider(ctx, path.provider),
  resetProvider: (ctx, { path }) => resetProvider(ctx, path.provider),
} satisfies OperationTable<World, { services: { syncDelivery: () => Promise<void>; wakeQueue: () => void } }>;

export const breakers = {
  listBreakers: ({ store }, { query = {} }) => getBreakers(store, readPage(query)),
  releaseBreaker: (ctx, { path, body }) => releaseBreaker(ctx, path.breaker_id, body),
} satisfies OperationTable<World, { services: { syncDelivery: () => Promise<void>; wakeQueue: () => void } }>;

export const egress = {
  listSources: ({ store, services }, { query = {} }) => listSources(store, services.node, readPage(query)),
  getSource: ({ store, services }, { path }) => getSource(store, services.node, path.source),
  getWarmUp: ({ store }, { path }) => getWarmUp(store, path.source),
  startWarmUp: (ctx, { path }) => startWarmUp(ctx, path.source),
  pauseWarmUp: (ctx, { path }) => pauseWarmUp(ctx, path.source),
  continueWarmUp: (ctx, { path }) => continueWarmUp(ctx, path.source),
  stopWarmUp: (ctx, { path }) => stopWarmUp(ctx, path.source),
} satisfies OperationTable<
  World,
  { services: { node: FaultReader; syncDelivery: () => Promise<void>; wakeQueue: () => void } }
>;

export const reputation = {
  getReputation: ({ store, services }, { query = {} }) => getReputation(store, services.node, query),
  getDomainReputation: (ctx, { path, query = {} }) => getDomainReputation(ctx, path.domain_id, query),
} satisfies OperationTable<World, { services: { node: CheckReader } }>;

export const senderRules = {
  getSenderRules: (ctx, { path }) => getSenderRules(ctx, ctx.services.node, path.domain_id),
} satisfies OperationTable<World, { services: { node: CheckReader } }>;
