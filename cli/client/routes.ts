import type { operations } from '../../src/contract/index.ts';

/** The operations that answer JSON; the pages and the YAML text are for a browser. */
export type OperationId = Exclude<
  keyof operations,
  | 'getDocs'
  | 'getOpenapiYaml'
  | 'getOpenapiJson'
  | 'getSharePage'
  | 'downloadAttachment'
  | 'listenWebhooks'
  | 'rotateWebhookSigningSecret'
>;

/** Where each operation is found. The compiler asks for every operation, and a test holds the table against the contract. */
export const routes = {
  sendEmail: ['POST', '/emails'],
  sendBatch: ['POST', '/emails/batch'],
  listEmails: ['GET', '/emails'],
  getEmail: ['GET', '/emails/{email_id}'],
  updateEmail: ['PATCH', '/emails/{email_id}'],
  cancelEmail: ['POST', '/emails/{email_id}/cancel'],
  createShare: ['POST', '/emails/{email_id}/share'],
  revokeShares: ['DELETE', '/emails/{email_id}/share'],
  listAttachments: ['GET', '/emails/{email_id}/attachments'],
  getAttachment: ['GET', '/emails/{email_id}/attachments/{attachment_id}'],
  createDomain: ['POST', '/domains'],
  listDomains: ['GET', '/domains'],
  getDomain: ['GET', '/domains/{domain_id}'],
  updateDomain: ['PATCH', '/domains/{domain_id}'],
  deleteDomain: ['DELETE', '/domains/{domain_id}'],
  verifyDomain: ['POST', '/domains/{domain_id}/verify'],
  getDomainZone: ['GET', '/domains/{domain_id}/dns/zone'],
  configureDomainDns: ['POST', '/domains/{domain_id}/dns/configure'],
  regenerateDkim: ['POST', '/domains/{domain_id}/dkim/regenerate'],
  rotateDkim: ['POST', '/domains/{domain_id}/dkim/rotate'],
  claimDomain: ['POST', '/domains/claim'],
  getDomainClaim: ['GET', '/domains/{domain_id}/claim'],
  verifyDomainClaim: ['POST', '/domains/{domain_id}/claim/verify'],
  createApiKey: ['POST', '/api-keys'],
  listApiKeys: ['GET', '/api-keys'],
  updateApiKey: ['PATCH', '/api-keys/{api_key_id}'],
  deleteApiKey: ['DELETE', '/api-keys/{api_key_id}'],
  listLogs: ['GET', '/logs'],
  getLog: ['GET', '/logs/{log_id}'],
  createTemplate: ['POST', '/templates'],
  listTemplates: ['GET', '/templates'],
  getTemplate: ['GET', '/templates/{template}'],
  updateTemplate: ['PATCH', '/templates/{template}'],
  deleteTemplate: ['DELETE', '/templates/{template}'],
  publishTemplate: ['POST', '/templates/{template}/publish'],
  duplicateTemplate: ['POST', '/templates/{template}/duplicate'],
  createSuppression: ['POST', '/suppressions'],
  listSuppressions: ['GET', '/suppressions'],
  getSuppression: ['GET', '/suppressions/{suppression}'],
  deleteSuppression: ['DELETE', '/suppressions/{suppression}'],
  addSuppressions: ['POST', '/suppressions/batch/add'],
  removeSuppressions: ['POST', '/suppressions/batch/remove'],
  createWebhook: ['POST', '/webhooks'],
  listWebhooks: ['GET', '/webhooks'],
  getWebhook: ['GET', '/webhooks/{webhook_id}'],
  updateWebhook: ['PATCH', '/webhooks/{webhook_id}'],
  deleteWebhook: ['DELETE', '/webhooks/{webhook_id}'],
  rotateWebhookSecret: ['POST', '/webhooks/{webhook_id}/rotate-secret'],
  listWebhookEvents: ['GET', '/webhooks/{webhook_id}/events'],
  getWebhookEvent: ['GET', '/webhooks/{webhook_id}/events/{event_id}'],
  listWebhookAttempts: ['GET', '/webhooks/{webhook_id}/events/{event_id}/attempts'],
  replayWebhookEvent: ['POST', '/webhooks/{webhook_id}/events/{event_id}/replay'],
  listParkedWebhookEvents: ['GET', '/webhooks/{webhook_id}/parked'],
  getTeam: ['GET', '/team'],
  updateTeam: ['PATCH', '/team'],
  getUsage: ['GET', '/usage'],
  getEmailMetrics: ['GET', '/emails/metrics'],
  getHealth: ['GET', '/health'],
  getReady: ['GET', '/ready'],
} as const satisfies Record<OperationId, readonly [string, string]>;

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
export type AnswerOf<Id extends OperationId> = JsonUnder<operations[Id]['responses'], 200 | 201>;
type JsonUnder<Responses, Status> = {
  [Key in keyof Responses]: Key extends Status
    ? Responses[Key] extends { content: { 'application/json': infer Body } | { 'text/plain': infer Body } }
      ? Body
      : never
    : never;
}[keyof Responses];

type Needed<Name extends string, T> = [T] extends [never] ? unknown : Record<Name, T>;
type Allowed<Name extends string, T> = [T] extends [never] ? unknown : Partial<Record<Name, T>>;

/** What a call may carry, exactly as the contract says: path and body where they are needed, query and headers where allowed. */
export type CallOf<Id extends OperationId> = Needed<'path', PathOf<Id>> &
  Needed<'body', BodyOf<Id>> &
  Allowed<'query', QueryOf<Id>> &
  Allowed<'header', HeaderOf<Id>>;
