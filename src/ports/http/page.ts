import type { FastifyReply } from 'fastify';
import type { CallerKindOf, CallOf, PageId } from '../../contract/index.ts';
import type { Listeners } from '../../features/webhooks/delivery/index.ts';
import type { Tracking } from '../../features/tracking/index.ts';
import type { FairExecutor } from '../../platform/fair-share/index.ts';
import type { OperationCtxFor, Services } from '../../operations/index.ts';

export interface HttpServices extends Services {
  tracking: Tracking;
  listeners: Listeners;
  /** For work that blocks the event loop for long. */
  executor: FairExecutor;
}

/** What of HTTP answers a page, a file or a stream. */
export interface PageCall {
  services: HttpServices;
  reply: FastifyReply;
  accept: string;
}

/** An operation that only HTTP answers. The caller has been let in and the call checked. */
export type Page<Id extends PageId> = (
  ctx: OperationCtxFor[CallerKindOf<Id>],
  call: CallOf<Id>,
  page: PageCall,
) => unknown;
