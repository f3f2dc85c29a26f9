import {
  createAutomation,
  deleteAutomation,
  duplicateAutomation,
  getAutomation,
  getAutomationRun,
  listAutomationRuns,
  listAutomations,
  stopAutomation,
  updateAutomation,
} from './automations.ts';
import { createAutomationRun, getAutomationEnrolment } from './enrolment.ts';
import { retryAutomationRun, retryAutomationRuns, skipAutomationStep } from './continue-runs.ts';
import { dryRunAutomation } from './runner/dry-run.ts';
import {
  createCustomEvent,
  deleteCustomEvent,
  getCustomEvent,
  listCustomEvents,
  sendCustomEvent,
  sendCustomEvents,
  updateCustomEvent,
} from './custom-events.ts';
import { readIdempotency, type Accept } from '../../mail/accept/index.ts';
import { readBatch, readPage, type BodyCheck, type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

export const automations = {
  createAutomation: (ctx, { body }) => createAutomation(ctx, body),
  listAutomations: (ctx, { query = {} }) => listAutomations(ctx, query, readPage(query)),
  getAutomation: (ctx, { path }) => getAutomation(ctx, path.automation_id),
  updateAutomation: (ctx, { path, body }) => updateAutomation(ctx, path.automation_id, body),
  deleteAutomation: (ctx, { path }) => deleteAutomation(ctx, path.automation_id),
  stopAutomation: (ctx, { path }) => stopAutomation(ctx, path.automation_id),
  duplicateAutomation: (ctx, { path }) => duplicateAutomation(ctx, path.automation_id),
  createAutomationRun: (ctx, { path, body }) => createAutomationRun(ctx, path.automation_id, body),
  getAutomationEnrolment: (ctx, { path, query }) => getAutomationEnrolment(ctx, path.automation_id, query),
  listAutomationRuns: (ctx, { path, query = {} }) =>
    listAutomationRuns(ctx, path.automation_id, query, readPage(query)),
  getAutomationRun: (ctx, { path }) => getAutomationRun(ctx, path.automation_id, path.run_id),
  dryRunAutomation: (ctx, { path, body }) => dryRunAutomation(ctx, path.automation_id, body),
  retryAutomationRun: (ctx, { path }) => retryAutomationRun(ctx, path.automation_id, path.run_id),
  skipAutomationStep: (ctx, { path, body }) => skipAutomationStep(ctx, path.automation_id, path.run_id, body),
  retryAutomationRuns: (ctx, { path, body }) => retryAutomationRuns(ctx, path.automation_id, body),
} satisfies OperationTable<World>;

interface BatchCtx extends BodyCheck {
  services: { accept: Pick<Accept, 'writeIdempotently'> };
}

/** Limit of the events in a batch. Their runs are begun in one transaction. */
const BATCH_MAX = 1000;

export const customEvents = {
  createEvent: (ctx, { body }) => createCustomEvent(ctx, body),
  listEvents: (ctx, { query }) => listCustomEvents(ctx, readPage(query)),
  sendEvent: (ctx, { body }) => sendCustomEvent(ctx, body),
  async sendEventBatch(ctx, { body, header }) {
    const isPermissive = header?.['x-batch-validation'] === 'permissive';
    const { inputs, refused } = await readBatch(ctx, 'sendEventBatch', { body, max: BATCH_MAX, isPermissive });
    const operation = isPermissive ? 'sendEventBatch permissive' : 'sendEventBatch';
    const idempotency = readIdempotency(ctx, header, { operation, said: body });
    return ctx.services.accept.writeIdempotently(ctx, { idempotency, isGrowing: false }, (keep) =>
      sendCustomEvents(ctx, inputs, { refused, isPermissive, keep }),
    );
  },
  getEvent: (ctx, { path }) => getCustomEvent(ctx, path.identifier),
  updateEvent: (ctx, { path, body }) => updateCustomEvent(ctx, path.identifier, body),
  deleteEvent: (ctx, { path }) => deleteCustomEvent(ctx, path.identifier),
} satisfies OperationTable<World, BatchCtx>;
