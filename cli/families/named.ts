import type { AnswerOf } from '../client/index.ts';
import type { ItemOf, ListOperation } from './list-operation.ts';

/** How an item is named at the command line, besides its whole id, which the API takes. */
export interface Named {
  noun: string;
  list: ListOperation;
  /** The property that people name it by, for help texts; `listNames` finds it in an item of the list. */
  by?: string;
  listNames: (item: never) => readonly (string | null | undefined)[];
  /** Values that the API itself accepts besides an id: nothing is looked up. */
  taken?: RegExp;
  /** The API also accepts its name, the first of these: it refuses a name that is in no list itself. */
  isTakenByName?: true;
  /** The list may be endless: the server searches for the end of an id. */
  hasIdEnd?: true;
  /** An item of the list is one part of the object: the field that has the id of the whole. */
  partOf?: string;
  /** It is listed below the preceding parameters of the path. */
  isBelow?: true;
  /** The list has one page, and takes no question about it. */
  isOnePage?: true;
  /** The list does not begin with the newest, so that none of it is the latest. */
  isUnordered?: true;
}

type Item<Id extends ListOperation> = ItemOf<Id> extends never ? AnswerOf<Id> : ItemOf<Id>;

const named = <Id extends ListOperation>(
  noun: string,
  list: Id,
  {
    listNames = () => [],
    ...more
  }: Partial<Omit<Named, 'noun' | 'list' | 'listNames'>> & { listNames?: (item: Item<Id>) => Names } = {},
): Named => ({ noun, list, listNames, ...more });

type Names = readonly (string | null | undefined)[];

const ADDRESS = /@/;

/** Naming by path parameter. */
export const NAMED: Readonly<Record<string, Named>> = {
  api_key_id: named('key', 'listApiKeys', { by: 'name', listNames: ({ name }) => [name] }),
  approval_id: named('approval', 'listApprovals'),
  attachment_id: named('attachment', 'listAttachments', {
    by: 'file name',
    isUnordered: true,
    listNames: ({ filename }) => [filename],
  }),
  automation_id: named('automation', 'listAutomations', { by: 'name', listNames: ({ name }) => [name] }),
  broadcast_id: named('broadcast', 'listBroadcasts', { by: 'name', listNames: ({ name }) => [name] }),
  contact: named('contact', 'listContacts', { by: 'address', taken: ADDRESS, hasIdEnd: true }),
  contact_property_id: named('property', 'listContactProperties', { by: 'key', listNames: ({ key }) => [key] }),
  domain_id: named('domain', 'listDomains', { by: 'name', listNames: ({ name }) => [name] }),
  draft_id: named('draft', 'listInboxDrafts'),
  email_id: named('email', 'listEmails', { hasIdEnd: true }),
  event_id: named('event', 'listWebhookEvents', { hasIdEnd: true }),
  hold_id: named('hold', 'listQueueHolds', { by: 'destination', listNames: ({ destination }) => [destination] }),
  identifier: named('event', 'listEvents', {
    by: 'name',
    taken: /[^0-9a-f-]/i,
    isTakenByName: true,
    listNames: ({ name }) => [name],
  }),
  image_id: named('image', 'listImages'),
  import_id: named('import', 'listContactImports'),
  inbound_rule_id: named('rule', 'listInboundRules', { by: 'pattern', listNames: ({ pattern }) => [pattern] }),
  inbox: named('inbox', 'listInboxes', {
    by: 'address or name',
    taken: ADDRESS,
    listNames: ({ name, email_address: address }) => [name, address],
  }),
  inbox_email_id: named('email', 'listInboxThreadEmails'),
  invitation_id: named('invitation', 'listInvitations', { by: 'address', listNames: ({ email }) => [email] }),
  invoice_id: named('invoice', 'listInvoices', { by: 'number', listNames: ({ number }) => [number] }),
  label_id: named('label', 'listInboxLabels', {
    by: 'name',
    isOnePage: true,
    isUnordered: true,
    listNames: ({ name }) => [name],
  }),
  log_id: named('request', 'listLogs', { hasIdEnd: true }),
  member_id: named('member', 'listMembers', { by: 'address', listNames: ({ email }) => [email] }),
  oauth_client_id: named('app', 'listOauthClients', { by: 'name', listNames: ({ client_name: name }) => [name] }),
  oauth_grant_id: named('grant', 'listOauthGrants', { by: 'app', listNames: ({ client }) => [client.name] }),
  queued_email_id: named('email', 'listQueuedDeliveries', { hasIdEnd: true, partOf: 'email_id' }),
  received_attachment_id: named('attachment', 'listReceivedAttachments', {
    by: 'file name',
    isUnordered: true,
    listNames: ({ filename }) => [filename],
  }),
  received_email_id: named('received email', 'listReceivedEmails', { hasIdEnd: true }),
  run_id: named('run', 'listAutomationRuns', { hasIdEnd: true }),
  segment: named('segment', 'listSegments', { by: 'name', listNames: ({ name }) => [name] }),
  session_id: named('session', 'listSessions', { by: 'client', listNames: ({ client_name: name }) => [name] }),
  suppression: named('suppression', 'listSuppressions', { by: 'address', taken: ADDRESS, hasIdEnd: true }),
  team_id: named('team', 'listTeams', { by: 'name or slug', listNames: ({ name, slug }) => [name, slug] }),
  template: named('template', 'listTemplates', {
    by: 'alias or name',
    isTakenByName: true,
    listNames: ({ alias, name }) => [alias, name],
  }),
  thread_id: named('thread', 'listInboxThreads', { isBelow: true, hasIdEnd: true }),
  topic_id: named('topic', 'listTopics', { by: 'name', listNames: ({ name }) => [name] }),
  webhook_id: named('endpoint', 'listWebhooks', { by: 'URL', listNames: ({ endpoint }) => [endpoint] }),
};

/** The fields of bodies and queries that take an id, and the kind of that id. */
const FIELDS: Readonly<Record<string, string>> = {
  api_key_id: 'api_key_id',
  confirmation_template_id: 'template',
  contact_id: 'contact',
  domain_id: 'domain_id',
  segment_id: 'segment',
  segments: 'segment',
  'template.id': 'template',
  template_id: 'template',
  thread_id: 'thread_id',
  topic_id: 'topic_id',
  topics: 'topic_id',
  webhook_id: 'webhook_id',
};

/** Returns the kind of id that a field takes; operators cannot list the items of teams, so they type ids whole. */
export const namedBy = (field: string): string | undefined => FIELDS[field];

/** Reports whether an operation only reads, so that `latest` may be named. */
export const isReading = (operation: string): boolean => /^(?:get|list|diagnose|preview)[A-Z]/.test(operation);

/** Describes what may be typed for a parameter, for a page of help. */
export function describeNames(parameter: string, isRead: boolean): string | undefined {
  const known = NAMED[parameter];
  if (!known) return undefined;
  const by = known.by === undefined ? '' : `its ${known.by}, `;
  return `${by}its id or the end of its id${isRead && !known.isUnordered ? ', or latest' : ''}`;
}
