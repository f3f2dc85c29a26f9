import {
  ApiFault,
  CredentialsFault,
  NoAnswer,
  isSession,
  listOfAdvice,
  seeWhatThereIs,
  buildStartCommand,
  type Advice,
  type Advised,
  type Advices,
  type ContractId,
  type Target,
} from '../client/index.ts';
import { createLineFormatter, everyFamily, type FormatAdvice } from './advice.ts';
import { clean } from './clean.ts';
import { CliFault, meantBy } from './cli-fault.ts';
import { EXIT, type Ending } from './command-process.ts';
import type { Family } from '../families/family.ts';

/** The origin of a key and its use, to say which one to change, and how. */
export type KeyInUse = Pick<Target, 'url' | 'apiKey' | 'keyFrom' | 'development'>;

const PASS = 'rkmp_';
const isPass = (key: KeyInUse | undefined): boolean => key?.apiKey?.startsWith(PASS) ?? false;

const logIn = (words: string, key: KeyInUse | undefined): Advice => ({
  words,
  command: key === undefined ? ['login'] : ['login', '--url', key.url],
});

/** `login` without --api-key signs in with a browser. */
const keepKey = (words: string, key: KeyInUse | undefined): Advice => ({
  words,
  command: key === undefined ? ['login', '--api-key'] : ['login', '--url', key.url, '--api-key'],
});

const describeRefusedKey = (key: KeyInUse | undefined): string =>
  key === undefined
    ? 'The API key was not accepted (invalid_api_key).'
    : isPass(key)
      ? `The pass of this machine was not accepted by ${key.url} (invalid_api_key).`
      : isSession(key.apiKey)
        ? `The session in ${key.keyFrom} has ended at ${key.url} (invalid_api_key).`
        : `The API key in ${key.keyFrom} was not accepted by ${key.url} (invalid_api_key).`;

/** Advises how to get another key when one is not accepted. */
function renew(key: KeyInUse | undefined): Advice {
  if (isPass(key))
    return {
      words: 'If the server runs another version of the program, restart it; check it with',
      command: ['doctor'],
    };
  if (key?.keyFrom === '--api-key' || key?.keyFrom === 'RASKET_API_KEY')
    return keepKey('Correct it there, or remove it and store a key with', key);
  if (key?.development && key.keyFrom === key.development.file)
    return {
      words: 'Restart that server, which creates a valid key',
      command: buildStartCommand(key.development.data),
    };
  return isSession(key?.apiKey) ? signInAs('Sign in again with', key) : setOne(key);
}

/** Advice for operations that need a person. */
const signInAs = (words: string, key: KeyInUse | undefined): Advice => logIn(words, key);

export const setOne = (key: KeyInUse | undefined): Advice => logIn('Set one with', key);

/** Advice for a key that is valid, but lacks the permission. */
const useAnother = (key: KeyInUse | undefined): Advice =>
  keepKey(
    `Use another key${key === undefined ? '' : ` than the one in ${key.keyFrom}`}, with --api-key, or store one with`,
    key,
  );

/** Prefixes of an operator's token and of the pass of a machine. */
const OF_OPERATORS: readonly string[] = ['rkop_', PASS];

export const isOperators = (key: Pick<KeyInUse, 'apiKey'> | undefined): boolean =>
  OF_OPERATORS.some((prefix) => key?.apiKey?.startsWith(prefix) === true);

/** Advice on the credential that a command for operators needs. */
export const beOperator: readonly Advice[] = [
  {
    words:
      'As root on the server’s machine, this command needs no key. Elsewhere, use the token of an operator, with --profile operator once it is stored.',
    isForLine: true,
  },
  { words: 'Create one on the server’s machine with', command: ['operators create', 'NAME'] },
];

type Path = Readonly<Record<string, unknown>>;

const idIn = (values: Path, name: string): string => String(values[name] ?? 'ID');

/** The lists to look in, by the parameters and fields that name an item. */
const LISTS: Readonly<Record<string, (path: Path) => Advised>> = {
  api_key_id: () => ['listApiKeys'],
  assignee: () => ['listMembers'],
  attachment_id: chooseAttachmentsList,
  broadcast_id: () => ['listBroadcasts'],
  confirmation_template_id: () => ['listTemplates'],
  contact: () => ['listContacts'],
  contacts: () => ['listContacts'],
  contact_property_id: () => ['listContactProperties'],
  domain: () => ['getSso'],
  domain_id: () => ['listDomains'],
  email_id: (path) => ('received_email_id' in path ? ['listReceivedEmails'] : ['listEmails']),
  event_id: (path) => ['listWebhookEvents', idIn(path, 'webhook_id')],
  hold_id: () => ['listQueueHolds'],
  inbox: () => ['listInboxes'],
  thread_id: (path) => ['listInboxThreads', idIn(path, 'inbox')],
  inbox_email_id: (path) => ['listInboxThreadEmails', idIn(path, 'inbox'), idIn(path, 'thread_id')],
  draft_id: (path) => ['listInboxDrafts', idIn(path, 'inbox')],
  label_id: (path) => ['listInboxLabels', idIn(path, 'inbox')],
  labels: (path) => ['listInboxLabels', idIn(path, 'inbox')],
  import_id: () => ['listContactImports'],
  oauth_client_id: () => ['listOauthClients'],
  inbound_rule_id: () => ['listInboundRules'],
  log_id: () => ['listLogs'],
  properties: () => ['listContactProperties'],
  received_attachment_id: chooseAttachmentsList,
  received_email_id: () => ['listReceivedEmails'],
  segment: () => ['listSegments'],
  segment_id: () => ['listSegments'],
  segments: () => ['listSegments'],
  suppression: () => ['listSuppressions'],
  template: () => ['listTemplates'],
  topic_id: () => ['listTopics'],
  topics: () => ['listTopics'],
  invitation_id: () => ['listInvitations'],
  member_id: () => ['listMembers'],
  session_id: () => ['listSessions'],
  team_id: () => ['listTeams'],
  webhook_id: () => ['listWebhooks'],
};

function chooseAttachmentsList(path: Path): Advised {
  if ('received_email_id' in path) return ['listReceivedAttachments', idIn(path, 'received_email_id')];
  return ['listAttachments', idIn(path, 'email_id')];
}

/** Returns the list of the items that a parameter or a field names; undefined if nothing lists them. */
export const listFor = (name: string, path: Path = {}): Advice | undefined => {
  const list = LISTS[name]?.(path);
  return list && seeWhatThereIs(...list);
};

/** Creating is refused because the only one, or as many as the plan allows, exist already. */
const TAKEN: Partial<Record<ContractId, Advised>> = {
  createContact: ['listContacts'],
  createContactProperty: ['listContactProperties'],
  createDomain: ['listDomains'],
  createInboundRule: ['listInboundRules'],
  createInbox: ['listInboxes'],
  createSegment: ['listSegments'],
  createTopic: ['listTopics'],
  createWebhook: ['listWebhooks'],
  updateContact: ['listContacts'],
};

type Advise = (fault: ApiFault, key: KeyInUse | undefined) => Advices;

/** The advice for refusals by an operation's own rules. */
const BY_OPERATION: Partial<Record<ContractId, Advise>> = {
  cancelEmail: adviseOutcome,
  claimDomain: ({ status, sent }) =>
    status === 409
      ? { words: 'See it with', command: ['getDomain', nameIn(sent)] }
      : [
          { words: 'If your team has registered it, verify it with', command: ['verifyDomain', nameIn(sent)] },
          { words: 'Otherwise register it with', command: ['createDomain', nameIn(sent)] },
        ],
  configureDomainDns: ({ status, path }) =>
    status === 409
      ? { words: 'To publish them by hand, see them with', command: ['getDomainZone', idIn(path, 'domain_id')] }
      : undefined,
  createDomain: ({ status, sent }) =>
    status === 409 ? { words: 'See it with', command: ['getDomain', nameIn(sent)] } : undefined,
  createTemplate: seeOtherTemplate,
  publishTemplate: ({ path }) => ({
    words: 'Declare all its variables again with',
    command: ['updateTemplate', idIn(path, 'template'), '--variable', 'KEY'],
  }),
  replayWebhookEvent: ({ path }) => ({
    words: 'Enable it with',
    command: ['updateWebhook', idIn(path, 'webhook_id'), '--status', 'enabled'],
  }),
  rotateDkim: ({ path }) => ({
    words: 'Create new keys with',
    command: ['regenerateDkim', idIn(path, 'domain_id')],
  }),
  sendBatch: ({ status }) => (status === 403 ? seeDomains : undefined),
  sendBroadcast: ({ body: { details = {} }, path }) =>
    'checks' in details
      ? { words: 'See all that is wrong with', command: ['getBroadcastChecklist', idIn(path, 'broadcast_id')] }
      : undefined,
  sendEmail: ({ status, sent, body: { message } }) => (status === 403 ? seeSender(sent, message) : undefined),
  triggerWebhook: ({ sent: { type, webhook_id: id } }) =>
    typeof id === 'string'
      ? { words: 'See its event types, and whether it is enabled, with', command: ['getWebhook', id] }
      : [
          { words: 'Add one with', command: ['createWebhook', 'URL', '--events', String(type)] },
          { words: 'Or receive it on this machine with', command: ['webhooks listen'] },
        ],
  updateEmail: adviseOutcome,
  updateTemplate: seeOtherTemplate,
};

const nameIn = ({ name }: Path): string => (typeof name === 'string' ? name : 'NAME');

function adviseOutcome({ path }: ApiFault): Advice {
  return { words: 'See what happened to it with', command: ['explain', idIn(path, 'email_id')] };
}

function seeOtherTemplate({ sent: { alias }, body }: ApiFault): Advice | undefined {
  const isTaken = body.errors?.[0]?.path === 'alias' && typeof alias === 'string';
  return isTaken ? { words: 'See it with', command: ['getTemplate', alias] } : undefined;
}

const seeDomains: Advice = { words: 'See your domains with', command: ['listDomains'] };

/** A domain that does not exist cannot be shown; the refusal itself says how it is created. */
function seeSender({ from }: Path, message: string): Advice {
  const [, domain] = /@([^\s@>]+)>?$/.exec(String(from)) ?? [];
  return domain === undefined || message.includes('create it, publish its DNS records')
    ? seeDomains
    : { words: 'See the status of the domain with', command: ['getDomain', domain] };
}

const setUpSso: Advice = {
  words: 'Set it up with',
  command: ['putSso', '--issuer', 'URL', '--client-id', 'ID', '--client-secret-file', '-'],
};

/** The advice when a team lacks something of which it has at most one. */
const NOT_THERE: Partial<Record<ContractId, Advice>> = {
  addSsoDomain: setUpSso,
  deleteSso: setUpSso,
  getSso: setUpSso,
};

/** The advice by error name; that of an operation's own rules takes precedence. */
const BY_NAME: Readonly<Record<string, Advise>> = {
  missing_api_key: ({ operation }, key) => (isOperatorsCall(operation) ? beOperator : setOne(key)),
  restricted_api_key: (_, key) => useAnother(key),
  inbox_not_set_up: () => ({ words: 'Create the first inbox with', command: ['createInbox', 'ADDRESS'] }),
  suspended_api_key: () => ({
    words: 'If the team is suspended, the operator resumes it on the server’s machine with',
    command: ['teams resume', 'TEAM'],
  }),
  invalid_permission: aboutPermission,
  not_found: ({ operation, path, query, sent, body }) =>
    NOT_THERE[operation] ??
    findFirstAdvice(
      namedFirst([...Object.keys(path).reverse(), ...namesGiven({ ...query, ...sent })], body.message),
      path,
    ),
  resource_locked: (fault) => takenBy(fault),
  validation_error: (fault) => adviseFields(fault) ?? listenInstead(fault) ?? takenBy(fault),
  invalid_parameter: (fault) =>
    adviseFields(fault) ?? adviseOwnField(fault) ?? adviseParameters(fault) ?? takenBy(fault),
  rate_limit_exceeded: ({ retryAfterSeconds: after }) =>
    after === undefined ? undefined : { words: `Try again in ${after} s.` },
  application_error: ({ requestId }) =>
    requestId === '' ? undefined : { words: `The server’s log has more under: ${requestId}` },
  service_unavailable: () => ({ words: 'See what is wrong with', command: ['ready'] }),
};

function aboutPermission({ operation, body }: ApiFault, key: KeyInUse | undefined): Advices {
  if (body.message.includes('ai_assist_enabled')) return switchAiOn;
  if (isOperatorsCall(operation) && !isOperators(key)) return beOperator;
  if (isSession(key?.apiKey))
    return [
      { words: 'See your role and your team with', command: ['whoami'] },
      { words: 'Switch to another team with', command: ['switchTeam', 'TEAM'] },
    ];
  if (isPeoplesCall(operation)) return signInAs('Sign in with', key);
  if (!isOperators(key)) return useAnother(key);
  return operation === 'listAudit'
    ? { words: 'For operators', command: ['listOperatorAudit'] }
    : { words: 'Choose one with --profile or --api-key; list the stored ones with', command: ['profiles'] };
}

const switchAiOn: Advice = { words: 'Turn them on with', command: ['updateTeam', '--ai-assist'] };

const isOperatorsCall = (operation: ContractId): boolean =>
  isCallInFamily(operation, (family) => family.isOperators === true);

/** Operations of the session itself, and those on the people of a team. */
const OF_PEOPLE: Partial<Record<ContractId, true>> = {
  getSession: true,
  updateTeamMember: true,
  removeTeamMember: true,
  unlinkTeamMember: true,
};

const isPeoplesCall = (operation: ContractId): boolean =>
  OF_PEOPLE[operation] === true || isCallInFamily(operation, (family) => family.isPeoples === true);

const isCallInFamily = (operation: ContractId, isMeant: (family: Family) => boolean): boolean =>
  everyFamily.some((family) => {
    const { list, get, report, actions = [] } = family;
    return isMeant(family) && [list, get, report, ...actions].some((one) => one?.operation === operation);
  });

const namesGiven = (values: Path): string[] => Object.keys(values).filter((name) => values[name] !== undefined);

/** Puts the names of what the message says was not found first: a contact, and not the broadcast in the path. */
function namedFirst(names: readonly string[], message: string): string[] {
  const missing = /^(\w+) not found\b/.exec(message)?.[1]?.toLowerCase();
  const isMissing = (name: string): boolean => missing !== undefined && name.startsWith(missing);
  return [...names.filter(isMissing), ...names.filter((name) => !isMissing(name))];
}

const findFirstAdvice = (names: readonly string[], path: Path): Advice | undefined =>
  names.map((name) => listFor(name, path)).find((advice) => advice !== undefined);

/** The fields at fault that name something: `segments.0`, `topics.1.id`, `properties.colour`. */
const adviseFields = ({ body: { errors = [] }, path }: ApiFault): Advice | undefined =>
  findFirstAdvice(
    errors.map(({ path: field }) => field.replaceAll(/\.(?:\d+|id)\b/g, '').replace(/^properties\..*/, 'properties')),
    path,
  );

/** The advice for faults of fields whose values nothing lists. */
const BY_FIELD: Readonly<Record<string, (fault: ApiFault) => Advice | undefined>> = {
  snoozed_until: ({ path, body }) =>
    body.message.includes('folder inbox')
      ? {
          words: 'Move it there first with',
          command: ['updateInboxThread', idIn(path, 'inbox'), idIn(path, 'thread_id'), '--folder', 'inbox'],
        }
      : undefined,
};

/** If a field of the body is at fault, the names in the path were found. */
const adviseOwnField = (fault: ApiFault): Advices => {
  const [first] = fault.body.errors ?? [];
  return first && (BY_FIELD[first.path]?.(fault) ?? []);
};

const ID = /^(?:[a-z]+_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** Returns the advice for an invalid id in a parameter that names an item. */
function adviseParameters({ path, query }: ApiFault): Advice | undefined {
  const strays = Object.entries({ ...query, ...path }).filter(
    ([, value]) => value !== undefined && !ID.test(String(value)),
  );
  return findFirstAdvice(
    strays.map(([name]) => name),
    path,
  );
}

function takenBy({ operation, status, body }: ApiFault): Advice | undefined {
  const list = TAKEN[operation];
  return list && status !== 400 && status !== 403 && body.errors === undefined ? seeWhatThereIs(...list) : undefined;
}

/** An endpoint without TLS is most often one on the machine of a developer. */
const listenInstead = ({ operation, sent: { endpoint } }: ApiFault): Advice | undefined =>
  /Webhook$/.test(operation) && typeof endpoint === 'string' && /^http:/i.test(endpoint)
    ? { words: 'To receive events on your own machine, use', command: ['webhooks listen', '--forward-to', endpoint] }
    : undefined;

/** The advice by the reason that a refusal gives in addition to its name. */
const BY_REASON: Readonly<Record<string, Advice | ((fault: ApiFault) => Advice)>> = {
  sending_off: {
    words: 'On the server’s machine, the command `sending` shows the reason. Switch it on there with',
    command: ['sending', 'on'],
  },
  marketing_off: {
    words: 'On the server’s machine, the command `sending` shows the reason. Switch it on there with',
    command: ['sending', 'on', '--marketing'],
  },
  no_postal_address: () => ADDRESS_MISSING,
  review_required: ({ path }) =>
    'broadcast_id' in path
      ? {
          words: 'Send the page to the person who approves it; create its link with',
          command: ['createBroadcastShare', idIn(path, 'broadcast_id'), '--allow-review'],
        }
      : { words: 'Create it without sending it, and send its page to the person who approves it.' },
};

/** The advice for a team without a postal address. */
export const ADDRESS_MISSING: Advice = {
  words: 'Set it with',
  command: ['updateTeam', '--sender-name', 'NAME', '--line1', 'STREET', '--city', 'CITY', '--country', 'DE'],
};

/** Returns the advice that follows a refusal. */
function adviceFor(fault: ApiFault, key?: KeyInUse): readonly Advice[] {
  const { operation, sent, body } = fault;
  if (body.claimable) return [{ words: 'Claim it with', command: ['claimDomain', nameIn(sent)] }];
  const { details = {} } = body;
  const ofReason = 'reason' in details ? BY_REASON[String(details.reason)] : undefined;
  if (ofReason) return [typeof ofReason === 'function' ? ofReason(fault) : ofReason];
  const isOfRules = ['resource_locked', 'validation_error'].includes(body.name) && fault.status !== 400;
  const own = isOfRules ? BY_OPERATION[operation]?.(fault, key) : undefined;
  return listOfAdvice(own ?? BY_NAME[body.name]?.(fault, key));
}

export interface Explanation {
  lines: string[];
  exitCode: number;
}

/** Replaces the fields that the API names by what was typed. */
export type Translate = (message: string, paths: readonly string[]) => string;

interface Reader {
  /** Translates fields of the API to options. */
  translate?: Translate | undefined;
  /** The key in use. */
  key?: KeyInUse | undefined;
  formatAdvices?: FormatAdvice;
}

/** The cause first, then what to do next; undefined for a defect of ours, which deserves its stack trace. */
export function explainFault(
  error: unknown,
  { translate = (message) => message, key, formatAdvices = createLineFormatter() }: Reader = {},
): Explanation | undefined {
  if (error instanceof CliFault)
    return { lines: withAdvice(error.message.split('\n'), error.advice, formatAdvices), exitCode: error.exitCode };
  if (error instanceof CredentialsFault) {
    const advice = error.advice ? [error.advice] : [];
    return {
      lines: withAdvice([error.message], advice, formatAdvices),
      exitCode: error.isMisuse ? EXIT.usage : EXIT.auth,
    };
  }
  if (error instanceof NoAnswer) return { lines: explainSilence(error, formatAdvices), exitCode: EXIT.unreachable };
  if (error instanceof ApiFault)
    return { lines: explainRefusal(error, { translate, key, say: formatAdvices }), exitCode: EXIT[toEnding(error)] };
  return undefined;
}

/** Inserts the advice after the cause; a command ends its line. */
function withAdvice(
  [cause = '', ...details]: readonly string[],
  advices: readonly Advice[],
  say: FormatAdvice,
): string[] {
  const lines = [cause];
  let endsInCommand = false;
  for (const advice of advices) {
    const said = say(advice);
    if (said === undefined) continue;
    if (endsInCommand) lines.push(said);
    else lines[lines.length - 1] += ` ${said}`;
    endsInCommand = advice.command !== undefined;
  }
  return [...lines, ...details].map(clean);
}

/** A 403 concerns either the key or the request; its name says which. */
const OF_THE_KEY: readonly string[] = ['invalid_permission', 'restricted_api_key', 'suspended_api_key'];

function toEnding({ status, body }: ApiFault): Ending {
  if (status === 401 || (status === 403 && OF_THE_KEY.includes(body.name))) return 'auth';
  if (status === 404) return 'notFound';
  if (status === 429) return 'limit';
  return status >= 500 ? 'server' : 'refused';
}

function explainSilence(fault: NoAnswer, say: FormatAdvice): string[] {
  const doubt = fault.isInDoubt ? ['The request may have been carried out anyway; check before you repeat it.'] : [];
  return [...withAdvice([fault.message], fault.advice, say), ...doubt];
}

function explainRefusal(
  fault: ApiFault,
  { translate, key, say }: { translate: Translate; key: KeyInUse | undefined; say: FormatAdvice },
): string[] {
  const { name, message, errors = [] } = fault.body;
  if (name === 'invalid_api_key') return withAdvice([describeRefusedKey(key)], [renew(key)], say);
  const advices = adviceFor(fault, key);
  const paths = errors.map((error) => error.path);
  const meant = advices.length === 0 ? suggest(message) : [];
  const cause = `${translate(message, paths).replace(/\.?$/, '')} (${name}).`;
  // The message of a single field is the whole message; printed twice it would look like two faults.
  const isRepeated = ({ path, message: said }: { path: string; message: string }): boolean =>
    message.endsWith(said.startsWith(`${path}: `) ? said.slice(path.length + 2) : said);
  const fields = errors.length === 1 && errors.every(isRepeated) ? [] : errors;
  const details = fields.map((field) => `  ${translate(inWords(field), paths)}`);
  return withAdvice([cause, ...details], [...advices, ...meant], say);
}

function suggest(message: string): Advice[] {
  const meant = meantBy(message);
  return meant === undefined ? [] : [{ words: `Did you mean ${meant}?` }];
}

/** Most messages begin with the field already. */
const inWords = ({ path, message }: { path: string; message: string }): string =>
  message.startsWith(path) ? message : `${path}: ${message}`;
