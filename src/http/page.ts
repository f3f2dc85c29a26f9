import type { FastifyReply } from 'fastify';
import type { CallOf, PageId } from '../contract/index.ts';
import type { Listeners } from '../flow/webhooks/index.ts';
import type { Tracking } from '../flow/tracking/index.ts';
import type { FairExecutor } from '../platform/fair-share/index.ts';
import type { Services } from '../operations/index.ts';
import type { Ctx } from '../resources/access/index.ts';

export interface HttpServices extends Services {
  tracking: Tracking;
  listeners: Listeners;
  /** For work that blocks the event loop for long. */
  executor: FairExecutor;
}

/** A request for a page, a file or a stream, whose every part has been checked against the contract. */
export interface PageCall {
  services: HttpServices;
  reply: FastifyReply;
  accept: string;
}

export type PublicPage<Id extends PageId> = (request: PageCall, call: CallOf<Id>) => unknown;
export type KeyPage<Id extends PageId> = (ctx: Ctx, request: PageCall, call: CallOf<Id>) => unknown;
