import type { Commands, CommandKey, CommandSource, FlagSource } from './command-text.ts';

/** The parts of an OpenAPI 3.1 document that this program reads; other parts are omitted. */
export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; summary?: string; description?: string };
  servers: OpenApiServer[];
  security?: Record<string, string[]>[];
  tags: { name: string; description?: string }[];
  paths: Record<string, PathItem>;
  /** The payloads that endpoints receive, by the type of the event. */
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

/** A user's role in a team. Least first, see `ROLES` of access.ts. */
export type Role = 'viewer' | 'member' | 'admin' | 'owner';

export type PathItem = { parameters?: OrRef<Parameter>[] } & Partial<Record<Method, Operation>>;

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  deprecated?: true;
  description: string;
  /**
   * The least credential that may call the operation; null if no key and no session may. `operator` is separate from
   * the others.
   */
  'x-service-permission': 'sending_access' | 'full_access' | 'session' | 'operator' | 'none' | null;
  /** The OAuth scope an access token needs; null if no token may call the operation. */
  'x-service-scope': string | null;
  /** A second scope that is needed: for every call, or for each field of the body that is present. */
  'x-service-scope-also'?: string | Readonly<Record<string, string>>;
  /**
   * Fields of the body that no app may set, whatever its scopes, with what they do: this goes beyond the scope of the
   * operation. `false` is accepted.
   */
  'x-service-not-by-apps'?: Readonly<Record<string, string>>;
  /** The least role in the team that a session needs; null if no session may call it, or if one without a team may. */
  'x-service-role': Role | null;
  /** The effect on mail and data. Every operation that an app can call needs one, unless it is a GET. */
  'x-service-effect'?: Effect | EffectRules;
  /**
   * The reason why calls with the effect `changes` reach no mail of others: one for the whole operation, or one for each
   * field of its body that can contain text. A test requires it of every operation that an app can call.
   */
  'x-service-not-in-mail'?: string | Readonly<Record<string, string>>;
  /** The operation cannot be undone, although its method does not show it; assistants are informed. */
  'x-service-irrevocable'?: true;
  /** The operation may send mail to people outside the team; assistants are informed. */
  'x-service-reaches-people'?: true;
  /** The reason why no tool call can make it although apps may call it over HTTP, and what to do instead. */
  'x-service-not-by-mcp'?: string;
  /**
   * Says what a model should use the tool for and what not, as the rest of a sentence. A test requires it of every operation
   * that is a tool by its own name.
   */
  'x-service-use'?: Readonly<{ for: string; not: string }>;
  /** The body contains an email, and so may be as large as one. Forms are read as streams, without such a limit. */
  'x-holds-email'?: true;
  /** The call of the official client; removed once the sample is generated from it. */
  'x-sdk'?: string;
  /** Requests are accepted only from our own pages, although no credential is needed, because it sets a cookie. */
  'x-same-origin'?: true;
  /**
   * The operation is a step of OAuth between an app and this service. It validates its input by the rules of OAuth:
   * unknown fields are ignored, forms are accepted too, and errors have the format of RFC 6749.
   */
  'x-oauth-flow'?: true;
  /** The endpoint of the Model Context Protocol, which parses its messages and authenticates its callers itself. */
  'x-mcp'?: true;
  /** The command that makes the call, or the reason why there is none; removed once the commands are generated. */
  'x-cli'?: CommandSource;
  /** The operation exists only in the development profile, and only under names of this machine. */
  'x-development'?: true;
  /** A credential that only this operation accepts, described in words; removed once it is in the description. */
  'x-own-credential'?: string;
  /** The action under which the audit log records every change by the operation. */
  'x-service-audit'?: string;
  /**
   * The fields that the entry contains, of the body and of the result, if it must not contain the whole body. The entry is
   * written with the first change, so that those of the result are in a second entry, once the operation has ended.
   */
  'x-service-audit-fields'?: { body: readonly string[]; result: readonly string[] };
  /**
   * Known fields that must not be sent here, with the message for the caller; reported before any other fault of the
   * body.
   */
  'x-refused-fields'?: Record<string, string>;
  /** The error name with which they are refused, if not validation_error. */
  'x-refused-as'?: 'invalid_parameter';
  /** The one field of the body that may also be sent bare, as a list. */
  'x-bare-list'?: string;
  /** The target of the operation's signed link: any fault of the link is reported as that target not being found. */
  'x-link-to'?: string;
  /** Code samples with a client library, for the pages that show the document. */
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
  /** A text that holds several values with commas between; tools of assistants accept a list too. */
  'x-is-list'?: true;
  /** Properties of its word or flag that do not follow from the schema; removed once the commands are generated. */
  'x-cli'?: FlagSource | Partial<CommandKey>;
}

export interface ResponseObject {
  description: string;
  /** The error names that may occur with this status. */
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
  /** One clause that states what is valid, shown if this schema is violated. */
  'x-message'?: string;
  /** Other names that clients use for properties of this object, each with the documented name. */
  'x-aliases'?: Record<string, string>;
  /** An optional property of this object may be null, which means the same as omitting it. */
  'x-null-is-absent'?: true;
  /** A list of bytes is accepted instead of its base64. */
  'x-base64'?: true;
  /** The value in examples of responses and bodies; removed once they are generated. */
  'x-example'?: unknown;
  /** Properties of its flag that do not follow from the schema; removed once the commands are generated. */
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
  /** The path's parameters first, then the operation's own; refs are resolved. */
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

/** Follows local refs (`#/components/…`); throws if one leads nowhere. */
export function resolveRef<T extends object>(document: OpenApiDocument, value: T | Ref): T {
  if (!('$ref' in value)) return value;
  const keys = value.$ref.split('/').slice(1);
  const target = keys.reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], document);
  if (!value.$ref.startsWith('#/') || !target) throw new Error(`The contract has an unresolved $ref: ${value.$ref}`);
  return resolveRef(document, target as T | Ref);
}

/**
 * The effects of operations on mail and data, which decide the limits and the approvals of an app. They are ordered by
 * severity: if several apply to one call, the last of them counts.
 *
 * - `reads`: changes nothing.
 * - `changes`: changes data of the team, and sends no mail.
 * - `alters_mail`: writes text that mail of others contains or will contain, such as a signature, a fallback, a draft of
 *   somebody else or the published content of a template.
 * - `sends`: sends mail to the recipients in the call, which are counted when it is accepted.
 * - `starts_mail`: may send mail to one person who is not in the call as its recipient, through an automation, a
 *   confirmation or a link, or changes what mail to this person contains.
 * - `starts_mailing`: the same for any number of people, or shows a mail to everybody.
 * - `sends_broadcast`: sends mail to a segment.
 */
export type Effect =
  | 'reads'
  | 'changes'
  | 'alters_mail'
  | 'sends'
  | 'starts_mail'
  | 'starts_mailing'
  | 'sends_broadcast';

/** Effects of an operation that depend on its body, or on who wrote what it changes. */
export interface EffectRules {
  usually: Effect;
  /** The effect of a body that has the field: the key is `field` or `field=value`. */
  with?: Readonly<Record<string, Effect>>;
  /** The effect of a body that has this field and no other. */
  alone?: Readonly<Record<string, Effect>>;
  /** Replaces `usually` if the app is the only writer of what is changed. */
  own?: Effect;
}
