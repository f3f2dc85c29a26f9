import type { AnswerOf, OperationId } from '../client/index.ts';

/** An operation that returns a page of items. */
export type ListOperation = {
  [Id in OperationId]: AnswerOf<Id> extends { object: 'list'; data: { id: string }[] } ? Id : never;
}[OperationId];

/** One item of such a page. */
export type ItemOf<Id extends OperationId> = AnswerOf<Id> extends { data?: (infer Item)[] } ? Item : never;
