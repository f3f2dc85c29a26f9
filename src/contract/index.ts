// The API as text: YAML files merged into one OpenAPI 3.1 document, the types generated from it, the catalog of error
// names, and the validators compiled from it. What is declared is what is checked. Nothing here decides rules that need
// data, or knows a server.
import type { components } from './types.gen.ts';

export { addressContract, formatContractYaml, loadContract } from './load.ts';
export {
  readRequirement,
  ANY_SCOPE,
  toCallerKind,
  checkPermission,
  ROLES,
  findFieldNotByApps,
  scopeOfFields,
  scopesLacking,
  type CallerKind,
  type Requirement,
  isScope,
  READING_SCOPES,
  ASSISTANT_SCOPES,
  SCOPE_NAMES,
  SCOPES,
  type Scope,
} from './access.ts';
export {
  type Effect,
  type EffectRules,
  listOperations,
  methods,
  resolveRef,
  type ErrorRow,
  type Header,
  type MediaType,
  type Method,
  type OpenApiDocument,
  type OpenApiServer,
  type Operation,
  type OperationEntry,
  type OrRef,
  type Parameter,
  type PathItem,
  type Ref,
  type ResponseObject,
  type Role,
  type Schema,
} from './document.ts';
export {
  loadCommands,
  type CommandFlag,
  type CommandKey,
  type CommandText,
  type Syntax,
  type ValueType,
} from './commands.ts';
export { loadRoutes, type Routes } from './routes.ts';
export type {
  AnswerOf,
  BodyOf,
  BodyUnder,
  CallerKindOf,
  CallOf,
  HeaderOf,
  OperationId,
  PageId,
  PathOf,
  QueryOf,
  ValueId,
} from './calls.ts';
export { compileValidators } from './compile.ts';
export type { OperationValidators, RequestParameters, Validators } from './validators.ts';
export type { Problem } from './problems.ts';
export type { Answer } from './response-check.ts';
export { isRateHigh, RATE_LIMITS, SEVERAL } from './mail-rates.ts';
export { findNearest } from './nearest-name.ts';
export { errorCatalogue } from './error-catalogue.ts';
export type { ErrorName } from './error-catalogue.ts';
export type { components, operations, paths } from './types.gen.ts';

type Schemas = components['schemas'];

export type ApprovalMessage = Schemas['ApprovalMessage'];
export type ApprovalAbout = NonNullable<Schemas['ApprovalAbout']>;
export type ApprovalContent = NonNullable<Schemas['ApprovalContent']>;

export type ErrorBody = Schemas['Error'];

export type ReadyObject = Schemas['Ready'];
export type NotReadyObject = Schemas['NotReady'];
export type ReadyCheck = Schemas['ReadyCheck'];
export type ReadyFinding = Schemas['ReadyFinding'];

export type Finding = Schemas['Finding'];
export type FindingCode = Schemas['FindingCode'];

export type SendEmailRequest = Schemas['SendEmailRequest'];
export type SendEmailAttachment = Schemas['SendEmailAttachment'];
export type SendBatchRequest = Schemas['SendBatchRequest'];
export type SentEmail = Schemas['SentEmail'];
export type BatchError = Schemas['BatchError'];
export type SentBatch = Schemas['SentBatch'];
export type EmailObject = Schemas['Email'];
export type EmailStatus = Schemas['EmailStatus'];

export type Region = Schemas['Region'];
export type CreateDomainRequest = Schemas['CreateDomainRequest'];
export type UpdateDomainRequest = Schemas['UpdateDomainRequest'];
export type RegenerateDkimRequest = Schemas['RegenerateDkimRequest'];
export type ClaimDomainRequest = Schemas['ClaimDomainRequest'];
export type DomainClaim = Schemas['DomainClaim'];
export type ConfigureDomainDnsRequest = Schemas['ConfigureDomainDnsRequest'];
export type DnsConfiguration = Schemas['DnsConfiguration'];
export type DnsChange = Schemas['DnsChange'];
export type DomainObject = Schemas['Domain'];
export type DomainRecord = Schemas['DomainRecord'];
export type DomainStatus = Schemas['DomainStatus'];

export type CreateApiKeyRequest = Schemas['CreateApiKeyRequest'];

export type CreateTemplateRequest = Schemas['CreateTemplateRequest'];
export type UpdateTemplateRequest = Schemas['UpdateTemplateRequest'];
export type PublishTemplateRequest = Schemas['PublishTemplateRequest'];
export type TemplateVariableRequest = Schemas['TemplateVariableRequest'];
export type TemplateObject = Schemas['Template'];
export type TemplateReference = Schemas['TemplateReference'];
export type TemplateStatus = Schemas['TemplateStatus'];

export type CreateWebhookRequest = Schemas['CreateWebhookRequest'];
export type UpdateWebhookRequest = Schemas['UpdateWebhookRequest'];
export type WebhookEventType = Schemas['WebhookEventType'];
export type WebhookEventListItem = Schemas['WebhookEventListItem'];
export type WebhookPayload = Schemas['WebhookPayload'];

export type TeamObject = Schemas['Team'];
export type PutSsoRequest = Schemas['PutSsoRequest'];
export type UpdateTeamMemberRequest = Schemas['UpdateTeamMemberRequest'];
export type UpdateTeamRequest = Schemas['UpdateTeamRequest'];
export type PostalAddress = Schemas['PostalAddress'];
export type OauthError = Schemas['OauthError'];
export type OauthErrorCode = Schemas['OauthErrorCode'];

export type UsageObject = Schemas['Usage'];
export type SuggestSubjectLinesRequest = Schemas['SuggestSubjectLinesRequest'];
export type DraftEmailBodyRequest = Schemas['DraftEmailBodyRequest'];
export type BillingObject = Schemas['Billing'];
export type BillingPlan = Schemas['BillingPlan'];
export type InvoiceObject = Schemas['Invoice'];
export type InvoiceListItem = Schemas['InvoiceListItem'];

export type CreateBroadcastRequest = Schemas['CreateBroadcastRequest'];
export type UpdateBroadcastRequest = Schemas['UpdateBroadcastRequest'];
export type PreviewBroadcastRequest = Schemas['PreviewBroadcastRequest'];
export type TestBroadcastRequest = Schemas['TestBroadcastRequest'];
export type DuplicateBroadcastRequest = Schemas['DuplicateBroadcastRequest'];
export type SendBroadcastRequest = Schemas['SendBroadcastRequest'];
export type ContactImportPreview = Schemas['ContactImportPreview'];
export type CreateContactBatch = Schemas['CreateContactBatch'];
export type CreateContactRequest = Schemas['CreateContactRequest'];
export type EraseAddressRequest = Schemas['EraseAddressRequest'];
export type Erasure = Schemas['Erasure'];
export type UpdateContactRequest = Schemas['UpdateContactRequest'];
export type CreateContactPropertyRequest = Schemas['CreateContactPropertyRequest'];
export type UpdateContactPropertyRequest = Schemas['UpdateContactPropertyRequest'];
export type CreateSegmentRequest = Schemas['CreateSegmentRequest'];
export type CreateInboxRequest = Schemas['CreateInboxRequest'];
export type UpdateInboxRequest = Schemas['UpdateInboxRequest'];
export type CreateInboxLabelRequest = Schemas['CreateInboxLabelRequest'];
export type UpdateInboxLabelRequest = Schemas['UpdateInboxLabelRequest'];
export type UpdateInboxAgentRequest = Schemas['UpdateInboxAgentRequest'];
export type UpdateInboxThreadRequest = Schemas['UpdateInboxThreadRequest'];
export type CreateInboundRuleRequest = Schemas['CreateInboundRuleRequest'];
export type UpdateInboundRuleRequest = Schemas['UpdateInboundRuleRequest'];
export type CreateFormRequest = Schemas['CreateFormRequest'];
export type CreateTopicRequest = Schemas['CreateTopicRequest'];
export type UpdateFormRequest = Schemas['UpdateFormRequest'];
export type UpdateTopicRequest = Schemas['UpdateTopicRequest'];

/**
 * Characters that a reader does not see, or that change how the text around them is shown: controls, bidirectional
 * marks, zero-width and tag characters, and fillers. The joiners of emoji and of some scripts, and the selectors of emoji
 * are harmless.
 */
export const UNSEEN =
  /[\p{Cc}\u2028\u2029]|(?!\p{Join_Control}|\ufe0e|\ufe0f)[\p{Cf}\p{Default_Ignorable_Code_Point}]|\p{Surrogate}/gu;

const escapeChars = (found: string): string =>
  Array.from(found, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`).join('');

/** Escapes these characters in a text of one line, such as `\u{202e}`, so that a person sees what is there. */
export const escapeUnseen = (text: string): string => text.replaceAll(UNSEEN, escapeChars);

/** The same for a text of several lines, which keeps its line ends and tabs. */
export const escapeUnseenInLines = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(UNSEEN, (found) => (found === '\n' || found === '\t' ? found : escapeChars(found)));
