import type { AnswerOf } from '../client/index.ts';
import { readPart, type FieldName } from './columns.ts';
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

/** The properties `names` name an item; help texts call them so too, unless `by` says otherwise. */
const named = <Id extends ListOperation>(
  noun: string,
  list: Id,
  { names = [], ...more }: Partial<Omit<Named, 'listNames'>> & { names?: readonly FieldName<Item<Id>>[] } = {},
): Named => ({
  noun,
  list,
  ...(names.length > 0 && { by: names.join(' or ') }),
  listNames: (item: object) => names.map((name) => readPart(item, name) as string | null),
  ...more,
});

const ADDRESS = /@/;

/** Naming by path parameter. */
export const NAMED: Readonly<Record<string, Named>> = {
  api_key_id: named('key', 'listApiKeys', { names: ['name'] }),
  approval_id: named('approval', 'listApprovals'),
  attachment_id: named('attachment', 'listAttachments', { by: 'file name', names: ['filename'], isUnordered: true }),
  automation_id: named('automation', 'listAutomations', { names: ['name'] }),
  broadcast_id: named('broadcast', 'listBroadcasts', { names: ['name'] }),
  contact: named('contact', 'listContacts', { by: 'address', taken: ADDRESS, hasIdEnd: true }),
  contact_property_id: named('property', 'listContactProperties', { names: ['key'] }),
  domain_id: named('domain', 'listDomains', { names: ['name'] }),
  draft_id: named('draft', 'listInboxDrafts'),
  email_id: named('email', 'listEmails', { hasIdEnd: true }),
  event_id: named('event', 'listWebhookEvents', { hasIdEnd: true }),
  form_id: named('form', 'listForms', { names: ['name'] }),
  hold_id: named('hold', 'listQueueHolds', { names: ['destination'] }),
  identifier: named('event', 'listEvents', { names: ['name'], taken: /[^0-9a-f-]/i, isTakenByName: true }),
  image_id: named('image', 'listImages'),
  import_id: named('import', 'listContactImports'),
  inbound_rule_id: named('rule', 'listInboundRules', { names: ['pattern'] }),
  inbox: named('inbox', 'listInboxes', { by: 'address or name', taken: ADDRESS, names: ['name', 'email_address'] }),
  inbox_email_id: named('email', 'listInboxThreadEmails'),
  invitation_id: named('invitation', 'listInvitations', { by: 'address', names: ['email'] }),
  invoice_id: named('invoice', 'listInvoices', { names: ['number'] }),
  label_id: named('label', 'listInboxLabels', { names: ['name'], isOnePage: true, isUnordered: true }),
  log_id: named('request', 'listLogs', { hasIdEnd: true }),
  member_id: named('member', 'listMembers', { by: 'address', names: ['email'] }),
  oauth_client_id: named('app', 'listOauthClients', { by: 'name', names: ['client_name'] }),
  oauth_grant_id: named('grant', 'listOauthGrants', { by: 'app', names: ['client.name'] }),
  breaker_id: named('breaker', 'listBreakers'),
  // Its id is a word of the settings.
  source: named('source', 'listSources', { taken: /[^0-9a-f-]/i, isUnordered: true }),
  // Its id is a word of the settings, or the names of mail servers.
  provider: named('provider', 'listProviders', { taken: /[^0-9a-f-]/i, isUnordered: true }),
  queued_email_id: named('email', 'listQueuedDeliveries', { hasIdEnd: true, partOf: 'email_id' }),
  received_attachment_id: named('attachment', 'listReceivedAttachments', {
    by: 'file name',
    names: ['filename'],
    isUnordered: true,
  }),
  received_email_id: named('received email', 'listReceivedEmails', { hasIdEnd: true }),
  run_id: named('run', 'listAutomationRuns', { hasIdEnd: true }),
  segment: named('segment', 'listSegments', { names: ['name'] }),
  session_id: named('session', 'listSessions', { by: 'client', names: ['client_name'] }),
  suppression: named('suppression', 'listSuppressions', { by: 'address', taken: ADDRESS, hasIdEnd: true }),
  team_id: named('team', 'listTeams', { names: ['name', 'slug'] }),
  template: named('template', 'listTemplates', { isTakenByName: true, names: ['alias', 'name'] }),
  thread_id: named('thread', 'listInboxThreads', { isBelow: true, hasIdEnd: true }),
  topic_id: named('topic', 'listTopics', { names: ['name'] }),
  webhook_id: named('endpoint', 'listWebhooks', { by: 'URL', names: ['endpoint'] }),
};

/** The fields of bodies and queries that take an id, and the kind of that id. */
const FIELDS: Readonly<Record<string, string>> = {
  api_key_id: 'api_key_id',
  confirmation_template_id: 'template',
  contact_id: 'contact',
  domain_id: 'domain_id',
  segment_id: 'segment',
  segment_ids: 'segment',
  exclude_segment_ids: 'segment',
  not_received_from: 'broadcast_id',
  received_but_not_opened: 'broadcast_id',
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
