import type { Commands, CommandKey, CommandSource, FlagSource } from './command-text.ts';

/** The parts of an OpenAPI 3.1 document that this program reads; what it never looks at is left out. */
export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; summary?: string; description?: string };
  servers: OpenApiServer[];
  security?: Record<string, string[]>[];
  tags: { name: string; description?: string }[];
  paths: Record<string, PathItem>;
  /** Holds the payloads that endpoints receive, by the type of the event. */
  webhooks?: Record<string, { post: WebhookRequest }>;
  components: Components;
  'x-errors': ErrorRow[];
  /** The commands of the command line (commands.ts). */
  'x-commands': Commands;
}

export interface OpenApiServer {
  url: string;
  description?: string;
}

interface Components {
  schemas: Record<string, Schema>;
  parameters: Record<string, Parameter>;
  responses: Record<string, ResponseObject>;
  headers: Record<string, Header>;
  securitySchemes: Record<string, object>;
}

export const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
export type Method = (typeof methods)[number];

/** What somebody is in a team. Least first: `ROLES` of access.ts. */
export type Role = 'viewer' | 'member' | 'admin' | 'owner';

export type PathItem = { parameters?: OrRef<Parameter>[] } & Partial<Record<Method, Operation>>;

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  deprecated?: true;
  description: string;
  /** The least credential that reaches the operation; null when no key and no session does. An operator's is apart from the rest. */
  'x-service-permission': 'sending_access' | 'full_access' | 'session' | 'operator' | 'none' | null;
  /** The OAuth scope an access token needs; null when no token reaches the operation. */
  'x-service-scope': string | null;
  /** A second scope that is needed: for every call, or for each field of the body that is present. */
  'x-service-scope-also'?: string | Readonly<Record<string, string>>;
  /** The least role in the team that a session needs; null where no session reaches it, or one without a team does. */
  'x-service-role': Role | null;
  /** The effect on mail and data. Every operation that an app can call needs one, unless it is a GET. */
  'x-service-effect'?: Effect | EffectRules;
  /** Whether it cannot be taken back, although its method does not say so; assistants are told. */
  'x-service-irrevocable'?: true;
  /** Whether people outside the team may get mail by it; assistants are told. */
  'x-service-reaches-people'?: true;
  /** Whether its body has an email in it, and so may be as large as one. Forms are read as streams, without such a limit. */
  'x-holds-email'?: true;
  /** The call of the official client; gone once the sample is made of it. */
  'x-sdk'?: string;
  /** Whether it is taken from our own pages alone, although it takes no credential: it sets a cookie. */
  'x-same-origin'?: true;
  /**
   * Whether it is a step of OAuth between an app and this service. It checks what it is sent by the rules of OAuth, under which
   * unknown fields are ignored, takes forms too, and is refused in the words of RFC 6749.
   */
  'x-oauth-flow'?: true;
  /** Whether it is the door of the Model Context Protocol, which reads its messages and lets its callers in by itself. */
  'x-mcp'?: true;
  /** The command that makes the call, or why there is none; gone once the commands are made of it. */
  'x-cli'?: CommandSource;
  /** Whether it exists in the development profile alone, under names of this machine. */
  'x-development'?: true;
  /** A credential that this operation alone takes, in words; gone once it stands in the description. */
  'x-own-credential'?: string;
  /** The action as which the audit log keeps every change that the operation makes. */
  'x-service-audit'?: string;
  /** Fields that are known and not to be sent here, and what the caller is told; named before any other fault of the body. */
  'x-refused-fields'?: Record<string, string>;
  /** Under which name they are refused, where it is not validation_error. */
  'x-refused-as'?: 'invalid_parameter';
  /** The one field of the body that may also be sent bare, as a list. */
  'x-bare-list'?: string;
  /** What the operation's signed link leads to: whatever is wrong with the link, that is not found. */
  'x-link-to'?: string;
  /** How a client library makes the call, for the pages that show the document. */
  'x-codeSamples'?: { lang: string; label: string; source: string }[];
  security?: Record<string, string[]>[];
  parameters?: OrRef<Parameter>[];
  requestBody?: { required?: boolean; content: Record<string, MediaType> };
  responses: Record<string, OrRef<ResponseObject>>;
}

/** The request that delivers an event to an endpoint. */
type WebhookRequest = Pick<
  Operation,
  'tags' | 'summary' | 'description' | 'security' | 'parameters' | 'requestBody' | 'responses'
>;

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  required?: boolean;
  description?: string;
  schema: OrRef<Schema>;
  example?: unknown;
  /** What of its word or flag does not follow from the rest; gone once the commands are made of it. */
  'x-cli'?: FlagSource | Partial<CommandKey>;
}

export interface ResponseObject {
  description: string;
  /** The error names that may stand under this status. */
  'x-error-names'?: string[];
  headers?: Record<string, OrRef<Header>>;
  content?: Record<string, MediaType>;
}

export interface Header {
  description?: string;
  required?: boolean;
  schema: OrRef<Schema>;
}

export interface MediaType {
  schema: OrRef<Schema>;
  example?: unknown;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

export interface Schema {
  type?: string | string[];
  format?: string;
  description?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: OrRef<Schema>;
  properties?: Record<string, OrRef<Schema>>;
  required?: string[];
  additionalProperties?: boolean | OrRef<Schema>;
  anyOf?: OrRef<Schema>[];
  /** One clause that says what would be right, shown when this schema is violated. */
  'x-message'?: string;
  /** Other names that clients give to properties of this object, each with the documented name. */
  'x-aliases'?: Record<string, string>;
  /** Whether null means that an optional property of this object is left out. */
  'x-null-is-absent'?: true;
  /** Whether a list of bytes stands for its base64. */
  'x-base64'?: true;
  /** What the examples of answers and bodies show of it; gone once they are made. */
  'x-example'?: unknown;
  /** What of its flag does not follow from the rest; gone once the commands are made of it. */
  'x-cli'?: FlagSource;
}

export interface ErrorRow {
  name: string;
  status: number;
  meaning: string;
}

export interface Ref {
  $ref: string;
}
export type OrRef<T> = T | Ref;

export interface OperationEntry {
  operationId: string;
  method: Method;
  path: string;
  operation: Operation;
  /** Those of the path first, then the operation's own; refs are resolved. */
  parameters: Parameter[];
}

/** All operations in the order of the document. */
export function listOperations(document: OpenApiDocument): OperationEntry[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      if (!operation) return [];
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
      return [
        {
          operationId: operation.operationId,
          method,
          path,
          operation,
          parameters: parameters.map((parameter) => resolveRef(document, parameter)),
        },
      ];
    }),
  );
}

/** Follows local refs (`#/components/…`); throws when one leads nowhere. */
export function resolveRef<T extends object>(document: OpenApiDocument, value: T | Ref): T {
  if (!('$ref' in value)) return value;
  const keys = value.$ref.split('/').slice(1);
  const target = keys.reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], document);
  if (!value.$ref.startsWith('#/') || !target)
    throw new Error(`The contract has a ref that leads nowhere: ${value.$ref}`);
  return resolveRef(document, target as T | Ref);
}

/**
 * The effects of operations on mail and data, which decide the limits and the approvals of an app. They are ordered by
 * severity: if several apply to one call, the last of them counts.
 *
 * - `reads`: changes nothing.
 * - `changes`: changes data of the team, and sends no mail.
 * - `alters_mail`: writes text that other mail contains, such as a signature, a fallback or a draft.
 * - `sends`: sends mail to the recipients in the call, which are counted when it is accepted.
 * - `starts_mail`: may send mail to people who are not in the call, through an automation, a confirmation or a link.
 * - `sends_broadcast`: sends mail to a segment.
 */
export type Effect = 'reads' | 'changes' | 'alters_mail' | 'sends' | 'starts_mail' | 'sends_broadcast';

/** Effects of an operation that depend on its body, or on who wrote what it changes. */
export interface EffectRules {
  usually: Effect;
  /** The effect of a body that has the field: the key is `field` or `field=value`. */
  with?: Readonly<Record<string, Effect>>;
  /** The effect of a body that has this field and no other. */
  alone?: Readonly<Record<string, Effect>>;
  /** The effect if the app is the only writer of what is changed. */
  own?: Effect;
}
