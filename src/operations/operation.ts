import type {
  AnswerOf,
  BodyUnder,
  CallerKindOf,
  CallOf,
  OpenApiDocument,
  ValueId,
  operations,
} from '../contract/index.ts';
import type { ModelHealth } from '../features/ai/model/index.ts';
import type { PaymentProvider } from '../features/billing/closing/index.ts';
import type { Doctor } from '../features/operations/doctor/index.ts';
import type { Accept } from '../mail/accept/index.ts';
import type { Node } from '../features/operations/upkeep/index.ts';
import type { Page } from '../platform/db/index.ts';
import { refuse } from '../platform/refusal.ts';
import type { World } from '../platform/world.ts';
import type { Ctx, CtxFor, NobodyCtx, OperatorCtx, UserCtx } from '../tenancy/access/index.ts';
import type { Maker } from '../features/identity/approvals/index.ts';
import type { RequestLog } from '../tenancy/logs/index.ts';

/** What operations may call, in addition to tenancy, mail and features. */
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
  /** Examines the machine of this process. */
  doctor: Doctor;
  /** The queue of this process looks for work, if it has one. */
  wakeQueue: () => void;
  /** Who takes payments of teams. */
  payments: PaymentProvider;
  /** How the model of the AI helpers stands. */
  modelHealth: ModelHealth;
  version: string;
}

export interface WithServices {
  services: Services;
}

export interface OperationCtx extends Ctx<World>, WithServices {
  /** Holds a body against an operation's contract and throws the refusal, for the operations that check their own. */
  checkBody(id: 'sendEmail' | 'sendBatch', body: unknown): void;
  /** Makes calls of apps that people have approved. */
  maker: Maker;
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

/** What an operation is handed, by whom it is run for. */
export interface OperationCtxFor extends CtxFor<World> {
  team: OperationCtx;
  user: UserCtx<World> & WithServices;
  operator: OperatorCtx<World> & WithServices;
  nobody: NobodyCtx<World> & WithServices;
}

/** Every operation that answers a value, whatever door it is called through. The caller has been let in and the call checked. */
export type Operations = {
  [Id in ValueId]: (ctx: OperationCtxFor[CallerKindOf<Id>], call: CallOf<Id>) => Result<Id>;
};

const LIMIT_DEFAULT = 20;

/** The page parameters of every list. */
export function pageOf({ limit = LIMIT_DEFAULT, after, before }: Partial<Page> = {}): Page {
  if (after !== undefined && before !== undefined) {
    throw refuse('invalid_parameter', { say: 'Give only one of after and before; they exclude each other.' });
  }
  return { limit, after, before };
}
