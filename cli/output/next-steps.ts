import { quoted, routeOf, type ApiFault } from '../client/index.ts';
import { setOne, useAnother, type KeyInUse } from './key-advice.ts';

/** Where things are listed: by what "… not found" calls them, and by the parameter of a path that names one of them. */
const LISTS: readonly { noun?: string; parameter?: string; list: (path: Path) => string }[] = [
  { noun: 'API key', parameter: 'api_key_id', list: () => 'keys list' },
  { parameter: 'received_attachment_id', list: attachmentsOf },
  { noun: 'Attachment', parameter: 'attachment_id', list: attachmentsOf },
  { noun: 'Broadcast', parameter: 'broadcast_id', list: () => 'broadcasts list' },
  { noun: 'Contact property', parameter: 'contact_property_id', list: () => 'contact-properties list' },
  { noun: 'Contact', parameter: 'contact', list: () => 'contacts list' },
  { noun: 'Domain claim', list: () => 'domains list' },
  { noun: 'Domain', parameter: 'domain_id', list: () => 'domains list' },
  { noun: 'Received email', parameter: 'received_email_id', list: () => 'received list' },
  {
    noun: 'Email',
    parameter: 'email_id',
    list: (path) => ('received_email_id' in path ? 'received list' : 'emails list'),
  },
  { noun: 'Hold', parameter: 'hold_id', list: () => 'queue holds' },
  { noun: 'Import', parameter: 'import_id', list: () => 'contacts imports' },
  { noun: 'Inbound rule', parameter: 'inbound_rule_id', list: () => 'inbound-rules list' },
  { noun: 'Log', parameter: 'log_id', list: () => 'logs list' },
  { noun: 'Segment', parameter: 'segment', list: () => 'segments list' },
  { noun: 'Suppression', parameter: 'suppression', list: () => 'suppressions list' },
  { noun: 'Template', parameter: 'template', list: () => 'templates list' },
  { noun: 'Topic', parameter: 'topic_id', list: () => 'topics list' },
  { noun: 'Webhook event', parameter: 'event_id', list: (path) => `webhooks events ${word(path, 'webhook_id')}` },
  { noun: 'Webhook', parameter: 'webhook_id', list: () => 'webhooks list' },
];

type Path = ApiFault['path'];

const word = (path: Path, name: string): string => quoted(path[name] ?? 'ID');

function attachmentsOf(path: Path): string {
  if ('received_email_id' in path) return `received attachments ${word(path, 'received_email_id')}`;
  return `attachments list ${word(path, 'email_id')}`;
}

const listOfNoun = (noun: string, path: Path): string | undefined =>
  LISTS.find((one) => one.noun?.toLowerCase() === noun.toLowerCase())?.list(path);

/** The command that lists what a parameter of a path names; undefined where nothing does. */
export const listFor = (parameter: string, path: Path = {}): string | undefined =>
  LISTS.find((one) => one.parameter === parameter)?.list(path);

interface Step {
  names: readonly string[];
  /** In the message. */
  says?: RegExp;
  operations?: readonly string[];
  /** Undefined where this one has nothing to advise after all. */
  next: (fault: ApiFault, found: RegExpExecArray, key: KeyInUse | undefined) => string | undefined;
}

const OF_THE_TEAM = /^This route is not reached with an operator’s token/;
const OF_AN_OPERATOR = /^This route is not reached with an API key; use the token of an operator/;

/** What to type next, by the name of the error, its message and the operation; the first that has something to say does. */
const STEPS: readonly Step[] = [
  { names: ['missing_api_key'], next: (_, __, key) => setOne(key) },
  {
    names: ['invalid_permission'],
    says: OF_THE_TEAM,
    operations: ['listAudit'],
    next: () => 'What an operator sees: rasket audit all',
  },
  {
    names: ['invalid_permission'],
    says: OF_THE_TEAM,
    next: () => 'Name one with --profile or --api-key; see what is kept with: rasket profiles',
  },
  {
    names: ['invalid_permission'],
    says: OF_AN_OPERATOR,
    next: () =>
      'Take it with --profile operator once it is kept; one is made on the server with: rasket operators create NAME',
  },
  {
    names: ['restricted_api_key', 'suspended_api_key', 'invalid_permission'],
    next: (_, __, key) => useAnother(key),
  },
  {
    names: ['resource_locked'],
    says: /^The domain (\S+) is (?:registered|verified) by this team already/,
    next: (_, [, name = '']) => `See it with: rasket domains get ${name}`,
  },
  {
    names: ['resource_locked'],
    operations: ['updateEmail', 'cancelEmail'],
    next: ({ path }) => `What became of it: rasket explain ${word(path, 'email_id')}`,
  },
  {
    names: ['resource_locked'],
    says: /^(?:The domain (\S+) )?/,
    next: ({ body }, [, name = 'NAME']) => (body.claimable ? `Claim it with: rasket domains claim ${name}` : undefined),
  },
  {
    names: ['not_found'],
    says: /^(.+) not found/,
    next: ({ path }, [, noun = '']) => seeList(listOfNoun(noun, path)),
  },
  {
    names: ['invalid_parameter'],
    says: /^(\w+) /,
    next: ({ operation, path }, [, field = '']) =>
      routeOf(operation)[1].includes(`{${field}}`) ? seeList(listFor(field, path)) : undefined,
  },
  {
    names: ['invalid_parameter', 'validation_error'],
    says: /names no (segment|topic) of this team/,
    next: (_, [, noun]) => seeList(`${noun}s list`),
  },
  {
    names: ['invalid_parameter', 'validation_error'],
    says: /\bids? of (?:an? )?([a-z ]+?)s?(?:,| must| begins| or null| \(|;|\.?$)/i,
    next: ({ path }, [, noun = '']) => seeList(listOfNoun(noun, path)),
  },
  {
    names: ['invalid_parameter'],
    says: /^A (contact|suppression) is named by/,
    next: (_, [, noun]) => seeList(`${noun}s list`),
  },
  {
    names: ['validation_error'],
    says: /^The team has no postal address/,
    next: () => 'Set it with: rasket team update --sender-name NAME --line1 STREET --city CITY --country DE',
  },
  {
    names: ['validation_error'],
    says: /acknowledge_checks/,
    operations: ['sendBroadcast'],
    next: ({ path }) => `See all that is wrong with: rasket broadcasts checklist ${word(path, 'broadcast_id')}`,
  },
  {
    names: ['validation_error'],
    says: /variables does not declare (\w+)/,
    operations: ['publishTemplate'],
    next: ({ path }, [, key]) =>
      `Declare it, naming those that it has once more: rasket templates update ${word(path, 'template')} --variable ${key}`,
  },
  {
    names: ['validation_error'],
    says: /another template of this team is called (\S+);/,
    next: (_, [, alias = '']) => `See it with: rasket templates get ${alias}`,
  },
  ...takenSteps(),
  ...webhookSteps(),
  {
    names: ['rate_limit_exceeded'],
    next: ({ retryAfterSeconds: after }) => (after === undefined ? undefined : `Try again in ${after} s.`),
  },
  {
    names: ['application_error'],
    next: ({ requestId }) => (requestId === '' ? undefined : `The server’s log has more under: ${requestId}`),
  },
  {
    names: ['service_unavailable'],
    says: /^Sending is switched off/,
    next: () => 'On the server’s machine, see why and switch it on with: rasket sending',
  },
  { names: ['service_unavailable'], next: () => 'See what is wrong with: rasket ready' },
  {
    names: ['validation_error'],
    says: /^Sending from the domain (\S+) is disabled/,
    next: (_, [, name = '']) => `Enable it with: rasket domains update ${name} --sending enabled`,
  },
  {
    names: ['validation_error'],
    operations: ['sendEmail', 'sendBatch'],
    next: ({ status }) => (status === 403 ? 'See your domains with: rasket domains list' : undefined),
  },
];

/** What was to be made is there, or there are as many as there may be. */
function takenSteps(): Step[] {
  const says = /already|another contact|delete (?:one|some)/;
  const lists: [operations: string[], list: string][] = [
    [['createContact', 'updateContact'], 'contacts'],
    [['createContactProperty'], 'contact-properties'],
    [['createDomain'], 'domains'],
    [['createInboundRule'], 'inbound-rules'],
    [['createSegment'], 'segments'],
    [['createTopic'], 'topics'],
    [['createWebhook'], 'webhooks'],
  ];
  return lists.map(([operations, list]) => ({
    names: ['validation_error', 'resource_locked', 'invalid_parameter'],
    ...{ says, operations, next: () => seeList(`${list} list`) },
  }));
}

function webhookSteps(): Step[] {
  const names = ['validation_error'];
  const enable = (id: string): string => `Enable it with: rasket webhooks update ${id} --status enabled`;
  return [
    { names, says: /^The webhook (\S+) is disabled/, next: (_, [, id = '']) => enable(id) },
    {
      ...{ names, says: /^The webhook (\S+) does not take/ },
      next: (_, [, id = '']) => `See which it takes with: rasket webhooks get ${id}`,
    },
    {
      ...{ names, says: /^No enabled webhook and no listener takes ([\w.]+)/ },
      next: (_, [, type = '']) =>
        `Add one with: rasket webhooks create <url> --events ${type}; or hear it here with: rasket webhooks listen`,
    },
  ];
}

const seeList = (list: string | undefined): string | undefined =>
  list === undefined ? undefined : `See what there is with: rasket ${list}`;

export function nextStep(fault: ApiFault, key?: KeyInUse): string | undefined {
  for (const { names, says = /^/, operations, next } of STEPS) {
    if (!names.includes(fault.body.name) || (operations && !operations.includes(fault.operation))) continue;
    const found = says.exec(fault.body.message);
    const said = found ? next(fault, found, key) : undefined;
    if (said !== undefined) return said;
  }
  return undefined;
}
