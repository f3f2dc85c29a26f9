import type { CallerKind } from './access.ts';
import type { operations, operationsOf } from './types.gen.ts';

export type OperationId = keyof operations;

/** For whom an operation is run, as the contract marks it. */
export type CallerKindOf<Id extends OperationId> = {
  [Kind in CallerKind]: Id extends operationsOf[Kind] ? Kind : never;
}[CallerKind];

/** Answered by a page, a file or a stream, which belong to HTTP; every other operation answers a value. */
export type PageId =
  | 'getDocs'
  | 'getDocsScript'
  | 'getOpenapiYaml'
  | 'getOpenapiJson'
  | 'getSharePage'
  | 'authorizeClient'
  | 'downloadAttachment'
  | 'downloadReceivedAttachment'
  | 'downloadReceivedRaw'
  | 'listenWebhooks'
  | 'createContactImport'
  | 'createImage'
  | 'exportContacts'
  | 'getInvoiceCsv'
  | 'getInvoicePage'
  | 'receivePaymentEvent';
/** Speaks a protocol of its own, which carries the other operations. */
export type McpId = 'callMcp';
export type ValueId = Exclude<OperationId, PageId | McpId>;

type Parameters<Id extends OperationId> = operations[Id]['parameters'];
type Defined<T> = Exclude<T, undefined>;

export type QueryOf<Id extends OperationId> = Defined<Parameters<Id>['query']>;
export type PathOf<Id extends OperationId> = Defined<Parameters<Id>['path']>;
export type HeaderOf<Id extends OperationId> = Defined<Parameters<Id>['header']>;
export type BodyOf<Id extends OperationId> = JsonIn<Defined<operations[Id]['requestBody']>>;
type JsonIn<Request> = [Request] extends [never]
  ? never
  : Request extends { content: { 'application/json': infer Body } }
    ? Body
    : never;

/** What an operation answers when it does what it was asked. */
export type AnswerOf<Id extends OperationId> = BodyUnder<operations[Id]['responses'], 200 | 201 | 202>;
/** Whatever an operation may answer with a body of its own, by status. */
export type BodyUnder<Responses, Status> = {
  [Key in keyof Responses]: Key extends Status
    ? Responses[Key] extends { content: { 'application/json': infer Body } | { 'text/plain': infer Body } }
      ? Body
      : never
    : never;
}[keyof Responses];

type Part<Name extends string, T> = [T] extends [never]
  ? unknown
  : Record<never, never> extends T
    ? Partial<Record<Name, T>>
    : Record<Name, T>;
type Body<T> = [T] extends [never] ? unknown : Record<'body', T>;

/** What a call may carry, exactly as the contract says; a part in which nothing is required may be left out. */
export type CallOf<Id extends OperationId> = Part<'path', PathOf<Id>> &
  Part<'query', QueryOf<Id>> &
  Part<'header', HeaderOf<Id>> &
  Body<BodyOf<Id>>;
