import {
  presentForAnybody,
  lookAtTeam,
  presentForOperator,
  presentForTeam,
  type Finding,
} from '../features/operations/findings/index.ts';
import { Answered, pageOf, type Operations, type Services } from './operation.ts';
import {
  createHold,
  dropWaiting,
  listHolds,
  listWaiting,
  readQueue,
  readQueuedEmail,
  releaseHold,
  retryWaiting,
} from '../mail/queue-admin/index.ts';
import { listCertificates, renewCertificates } from '../features/operations/certificates/index.ts';

export const system = {
  getHealth: ({ store, services: { version } }) =>
    Promise.resolve({ status: 'ok' as const, version, env: store.config.instance.env }),
  async getReady({ services }) {
    const { version, world } = services;
    const [findings, ...checks] = await Promise.all([
      findingsOf(services),
      ...Object.entries(services.checks).map(([name, check]) => run(services, name, check)),
    ]);
    const failed = checks.filter((check) => !check.ok).map((check) => check.name);
    const shown = presentForAnybody(findings);
    const body = { version, env: world.config.instance.env, checks, failed, findings: shown };
    if (failed.length === 0) return { status: shown.length === 0 ? 'ok' : 'degraded', ...body };
    const error = {
      statusCode: 503,
      name: 'service_unavailable',
      message: `Not ready: ${failed.join(', ')}.`,
    } as const;
    return new Answered(503, { status: 'degraded', ...body, ...error });
  },
} satisfies Partial<Operations>;

/** While the database answers nothing there is still what this process knows of itself. */
async function findingsOf({ node, world }: Services): Promise<readonly Finding[]> {
  try {
    return (await withinLimit(world, node.look())).findings;
  } catch (error) {
    world.log.error({ err: error }, 'could not look for what is wrong');
    return node.atHand();
  }
}

async function run({ world }: Services, name: string, check: () => Promise<void>) {
  const began = performance.now();
  const durationMs = (): number => Math.round((performance.now() - began) * 1000) / 1000;
  try {
    await check();
    return { name, ok: true, durationMs: durationMs() };
  } catch (error) {
    world.log.error({ err: error, check: name }, 'not ready');
    // The cause stays in the log: this answer needs no credential.
    return { name, ok: false, durationMs: durationMs(), error: `${name} does not answer as it should` };
  }
}

const CHECK_MS_MAX = 2000;

/** A probe has to answer while something it asks about does not. */
function withinLimit<T>(world: Services['world'], check: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer within ${CHECK_MS_MAX} ms`));
    const cancel = world.clock.timer(CHECK_MS_MAX, late);
    check.then(resolve, reject).finally(cancel);
  });
}

export const findings = {
  async getFindings({ store, teamId, services: { node } }) {
    return presentForTeam(await lookAtTeam(store, teamId, await node.report()), store.clock.now());
  },
  getOperatorFindings: async ({ services: { node } }) => presentForOperator(await node.look()),
  async examineInstallation({ services: { doctor, node } }) {
    await doctor.examine();
    return presentForOperator(await node.lookAnew());
  },
} satisfies Partial<Operations>;

/** Nodes besides this one look at the queue twice a second. */
export const queue = {
  getQueue: (ctx) => readQueue(ctx.store),
  listQueuedDeliveries: (ctx, { query = {} }) => listWaiting(ctx.store, query, pageOf(query)),
  getQueuedEmail: (ctx, { path }) => readQueuedEmail(ctx.store, path.queued_email_id),
  listQueueHolds: (ctx, { query }) => listHolds(ctx.store, pageOf(query)),
  createQueueHold: (ctx, { body }) => createHold(ctx, body),
  releaseQueueHold: (ctx, { path }) => releaseHold(ctx, path.hold_id).finally(ctx.services.wakeQueue),
  retryQueue: (ctx, { body }) => retryWaiting(ctx, body).finally(ctx.services.wakeQueue),
  dropQueue: (ctx, { body }) => dropWaiting(ctx, body),
} satisfies Partial<Operations>;

export const certificates = {
  listCertificates: ({ store }) => listCertificates(store),
  renewCertificates: ({ store }, { body }) => renewCertificates(store, body),
} satisfies Partial<Operations>;
