// The API as text: YAML files merged into one OpenAPI 3.1 document, the types generated from it, the catalogue of error
// names, and the validators compiled from it. It promises that what is declared is what is checked; it never decides
// rules that need data, and it knows no server.
import type { components } from './types.gen.ts';

export { loadContract, formatContractYaml } from './load.ts';
export { listOperations, methods, resolveRef } from './document.ts';
export type {
  ErrorRow,
  Header,
  MediaType,
  Method,
  OpenApiDocument,
  OpenApiServer,
  Operation,
  OperationEntry,
  OrRef,
  Parameter,
  PathItem,
  Ref,
  ResponseObject,
  Schema,
} from './document.ts';
export { compileValidators } from './validators.ts';
export type { OperationValidators, RequestParameters, Validators } from './validators.ts';
export type { Problem } from './problems.ts';
export type { Answer } from './response-check.ts';
export { errorCatalogue } from './error-catalogue.ts';
export type { ErrorName, ErrorStatus } from './error-catalogue.ts';
export type { components, operations, paths } from './types.gen.ts';

type Schemas = components['schemas'];

export type ErrorBody = Schemas['Error'];
export type FieldError = Schemas['FieldError'];
export type SandboxDetails = Schemas['SandboxDetails'];

export type HealthObject = Schemas['Health'];
export type ReadyObject = Schemas['Ready'];
export type NotReadyObject = Schemas['NotReady'];
export type ReadyCheck = Schemas['ReadyCheck'];

export type SendEmailRequest = Schemas['SendEmailRequest'];
export type SendEmailAttachment = Schemas['SendEmailAttachment'];
export type SerializedBuffer = Schemas['SerializedBuffer'];
export type SendBatchRequest = Schemas['SendBatchRequest'];
export type SentEmail = Schemas['SentEmail'];
export type SentBatch = Schemas['SentBatch'];
export type UpdateEmailRequest = Schemas['UpdateEmailRequest'];
export type ChangedEmail = Schemas['ChangedEmail'];
export type EmailObject = Schemas['Email'];
export type EmailList = Schemas['EmailList'];
export type EmailTag = Schemas['EmailTag'];
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
export type DomainListItem = Schemas['DomainListItem'];
export type DomainList = Schemas['DomainList'];
export type DomainReference = Schemas['DomainReference'];
export type DeletedDomain = Schemas['DeletedDomain'];
export type DomainRecord = Schemas['DomainRecord'];
export type DomainStatus = Schemas['DomainStatus'];
export type DomainRecordStatus = DomainRecord['status'];
export type DomainCapabilities = Schemas['DomainCapabilities'];
export type TlsMode = NonNullable<CreateDomainRequest['tls']>;

export type CreateApiKeyRequest = Schemas['CreateApiKeyRequest'];
export type UpdateApiKeyRequest = Schemas['UpdateApiKeyRequest'];
export type CreatedApiKey = Schemas['CreatedApiKey'];
export type ApiKeyObject = Schemas['ApiKey'];
export type ApiKeyList = Schemas['ApiKeyList'];
export type ApiKeyReference = Schemas['ApiKeyReference'];
export type DeletedApiKey = Schemas['DeletedApiKey'];
export type ApiKeyPermission = ApiKeyObject['permission'];
export type ApiKeyStatus = ApiKeyObject['status'];

export type CreateTemplateRequest = Schemas['CreateTemplateRequest'];
export type UpdateTemplateRequest = Schemas['UpdateTemplateRequest'];
export type TemplateVariableRequest = Schemas['TemplateVariableRequest'];
export type TemplateObject = Schemas['Template'];
export type TemplateVariable = Schemas['TemplateVariable'];
export type TemplateListItem = Schemas['TemplateListItem'];
export type TemplateList = Schemas['TemplateList'];
export type TemplateReference = Schemas['TemplateReference'];
export type DeletedTemplate = Schemas['DeletedTemplate'];
export type TemplateStatus = Schemas['TemplateStatus'];

export type CreateSuppressionRequest = Schemas['CreateSuppressionRequest'];
export type AddSuppressionsRequest = Schemas['AddSuppressionsRequest'];
export type RemoveSuppressionsRequest = Schemas['RemoveSuppressionsRequest'];
export type SuppressionObject = Schemas['Suppression'];
export type SuppressionListItem = Schemas['SuppressionListItem'];
export type SuppressionList = Schemas['SuppressionList'];
export type SuppressionReference = Schemas['SuppressionReference'];
export type DeletedSuppression = Schemas['DeletedSuppression'];
export type AddedSuppressions = Schemas['AddedSuppressions'];
export type RemovedSuppressions = Schemas['RemovedSuppressions'];
export type SuppressionOrigin = Schemas['SuppressionOrigin'];

export type CreateWebhookRequest = Schemas['CreateWebhookRequest'];
export type UpdateWebhookRequest = Schemas['UpdateWebhookRequest'];
export type WebhookObject = Schemas['Webhook'];
export type WebhookList = Schemas['WebhookList'];
export type WebhookReference = Schemas['WebhookReference'];
export type DeletedWebhook = Schemas['DeletedWebhook'];
export type RotatedWebhookSecret = Schemas['RotatedWebhookSecret'];
export type WebhookEventType = Schemas['WebhookEventType'];
export type WebhookEventObject = Schemas['WebhookEvent'];
export type WebhookEventListItem = Schemas['WebhookEventListItem'];
export type WebhookEventList = Schemas['WebhookEventList'];
export type WebhookEventReference = Schemas['WebhookEventReference'];
export type WebhookPayload = Schemas['WebhookPayload'];
export type WebhookAttempt = Schemas['WebhookAttempt'];
export type WebhookAttemptList = Schemas['WebhookAttemptList'];

export type TeamObject = Schemas['Team'];
export type UpdateTeamRequest = Schemas['UpdateTeamRequest'];
export type PostalAddress = Schemas['PostalAddress'];
export type UsageObject = Schemas['Usage'];
