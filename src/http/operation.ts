import type { FastifyReply } from 'fastify';
import type { OpenApiDocument } from '../contract/index.ts';
import type { World } from '../platform/world/index.ts';
import type { Accept } from '../flow/accept/index.ts';
import type { Listeners } from '../flow/notify/index.ts';
import type { Tracking } from '../flow/track/index.ts';
import type { Ctx } from '../resources/access/index.ts';
import type { RequestLog } from '../resources/logs/index.ts';

/** What operations may call, beside the verbs of resources. */
export interface Services {
  world: World;
  accept: Accept;
  tracking: Tracking;
  listeners: Listeners;
  /** Readiness: everything a request depends on, by name. */
  checks: Record<string, () => Promise<void>>;
  /** What was answered and is not written yet. */
  requestLog: RequestLog;
  document: OpenApiDocument;
  version: string;
}

/** A request whose every part has been checked against the contract. */
export interface Call<Body = unknown> {
  services: Services;
  path: Record<string, string>;
  query: Record<string, unknown>;
  header: Record<string, unknown>;
  body: Body;
  /** Checks a body against an operation's contract, for those in `checksItsOwnBody`; throws the refusal. */
  validate(operationId: string, body: unknown): void;
  reply: FastifyReply;
}

export type OpenHandler = (call: Call) => unknown;
export type KeyHandler = (ctx: Ctx, call: Call) => Promise<unknown>;

/** The status of a success where it is not 200. */
export const CREATED = 201;
