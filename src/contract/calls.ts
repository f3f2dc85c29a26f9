import type { CallerKind } from './access.ts';
import type { operations, operationsOf } from './types.gen.ts';

export type OperationId = keyof operations;

/** The kind of caller that an operation runs for, as the contract marks it. */
export type CallerKindOf<Id extends OperationId> = {
  [Kind in CallerKind]: Id extends operationsOf[Kind] ? Kind : never;
}[CallerKind];

/** Operations that return a page, a file or a stream, which need HTTP; every other operation returns a value. */
export type PageId =
  | 'getDocs'
  | 'getDocsScript'
  | 'getOpenapiYaml'
  | 'getOpenapiJson'
  | 'getSharePage'
  | 'getPreviewPage'
  | 'authorizeClient'
  | 'downloadAttachment'
  | 'downloadReceivedAttachment'
  | 'downloadReceivedRaw'
  | 'listenWebhooks'
  | 'createContactImport'
  | 'createImage'
  | 'exportContacts'
  | 'exportPerson'
  | 'getContactImportFailedRows'
  | 'getInvoiceCsv'
  | 'getInvoicePage'
  | 'receivePaymentEvent';
/** This operation speaks a protocol of its own, which gives access to the other operations. */
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

/** The body of an operation's success response. */
export type AnswerOf<Id extends OperationId> = BodyUnder<operations[Id]['responses'], 200 | 201 | 202>;
/** The bodies of an operation's responses, by status. */
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

/** The parts of a call, exactly as in the contract; a part without required fields may be omitted. */
export type CallOf<Id extends OperationId> = Part<'path', PathOf<Id>> &
  Part<'query', QueryOf<Id>> &
  Part<'header', HeaderOf<Id>> &
  Body<BodyOf<Id>>;
