import type {
  AnswerOf,
  BodyUnder,
  CallerKind,
  CallerKindOf,
  CallOf,
  ValueId,
  operations,
} from '../../contract/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import type { CtxFor } from './access.ts';

/** A response whose status is not the first success that the contract declares. */
export class Answered<Body> {
  readonly status: number;
  readonly body: Body;

  constructor(status: number, body: Body) {
    this.status = status;
    this.body = body;
  }
}

type Declared<Id extends ValueId> = BodyUnder<operations[Id]['responses'], keyof operations[Id]['responses']>;

/** The result of an operation: the body of the first success, or one with another status that its contract declares. */
export type OperationResult<Id extends ValueId> = Promise<AnswerOf<Id> | Answered<Declared<Id>>>;

/** Every operation of the contract that returns a value. The caller is authorized and the call has been validated. */
export type AllOperations<Ctxs extends Record<CallerKind, object>> = {
  [Id in ValueId]: (ctx: Ctxs[CallerKindOf<Id>], call: CallOf<Id>) => OperationResult<Id>;
};

/**
 * Some operations, with the context that they need: a Store, or a World if they contact other machines, and `Extra`.
 * `src/operations.ts` puts all tables together, and the compiler checks there that each gets what it needs.
 */
export type OperationTable<Held extends Store = Store, Extra = unknown> = Partial<
  AllOperations<{ [Kind in CallerKind]: CtxFor<Held>[Kind] & Extra }>
>;

const LIMIT_DEFAULT = 20;

/** Returns the requested page of a list. */
export function readPage({ limit = LIMIT_DEFAULT, after, before }: Partial<Page> = {}): Page {
  if (after !== undefined && before !== undefined) {
    throw refuse('invalid_parameter', { say: 'after and before cannot be used together; send only one of them.' });
  }
  return { limit, after, before };
}
