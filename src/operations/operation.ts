import type { AnswerOf, BodyUnder, CallOf, OpenApiDocument, ValueId, operations } from '../contract/index.ts';
import type { Accept } from '../flow/mail/accept/index.ts';
import type { Node } from '../flow/upkeep/index.ts';
import type { Page } from '../platform/db/index.ts';
import { refuse } from '../platform/refusal/index.ts';
import type { World } from '../platform/world/index.ts';
import type { Ctx, OperatorCtx } from '../resources/access/index.ts';
import type { RequestLog } from '../resources/logs/index.ts';

/** What operations may call, beside the verbs of resources and flow. */
export interface Services {
  world: World;
  accept: Accept;
  /** Readiness: everything a request depends on, by name. */
  checks: Record<string, () => Promise<void>>;
  /** What was answered and is not written yet. */
  requestLog: RequestLog;
  document: OpenApiDocument;
  /** What this process knows of itself and of the installation. */
  node: Node;
  /** The queue of this process looks for work, if it has one. */
  wakeQueue: () => void;
  version: string;
}

export interface OperationCtx extends Ctx<World> {
  services: Services;
  /** Holds a body against an operation's contract and throws the refusal, for the operations that check their own. */
  checkBody(id: 'sendEmail' | 'sendBatch', body: unknown): void;
}

/** An answer whose status is not the first success that the contract declares. */
export class Answered<Body> {
  readonly status: number;
  readonly body: Body;

  constructor(status: number, body: Body) {
    this.status = status;
    this.body = body;
  }
}

type Declared<Id extends ValueId> = BodyUnder<operations[Id]['responses'], keyof operations[Id]['responses']>;
type Result<Id extends ValueId> = Promise<AnswerOf<Id> | Answered<Declared<Id>>>;

/** These tell anybody how the server is; they know no caller. */
export type PublicId = 'getHealth' | 'getReady';

/** These concern the whole installation; whoever calls them belongs to no team. */
export type OperatorId =
  | 'createQueueHold'
  | 'dropQueue'
  | 'getOperatorFindings'
  | 'getQueue'
  | 'listOperatorAudit'
  | 'listQueuedDeliveries'
  | 'listQueueHolds'
  | 'releaseQueueHold'
  | 'retryQueue';

/** Every operation that answers a value, whatever door it is called through. The caller has been let in and the call checked. */
export type Operations = {
  [Id in Exclude<ValueId, PublicId | OperatorId>]: (ctx: OperationCtx, call: CallOf<Id>) => Result<Id>;
};
export type OperatorOperations = {
  [Id in OperatorId]: (ctx: OperatorCtx<World> & { services: Services }, call: CallOf<Id>) => Result<Id>;
};
export type PublicOperations = { [Id in PublicId]: (services: Services, call: CallOf<Id>) => Result<Id> };

const LIMIT_DEFAULT = 20;

/** The page parameters of every list. */
export function pageOf({ limit = LIMIT_DEFAULT, after, before }: Partial<Page> = {}): Page {
  if (after !== undefined && before !== undefined) {
    throw refuse('invalid_parameter', { say: 'Give only one of after and before; they exclude each other.' });
  }
  return { limit, after, before };
}
