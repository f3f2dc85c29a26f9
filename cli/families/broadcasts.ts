import type { Advice, AnswerOf } from '../client/index.ts';
import {
  actionOf,
  asked,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  wide,
  type Family,
  type Field,
  type Flag,
  type ItemOf,
  type Key,
  type Tone,
} from './family.ts';

const BROADCAST: Key = { word: 'broadcast', says: 'the id of the broadcast' };
const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e50';

type Broadcast = ItemOf<'listBroadcasts'> | AnswerOf<'getBroadcast'>;

const TONES: Record<Broadcast['status'], Tone> = {
  draft: 'plain',
  scheduled: 'attention',
  queued: 'attention',
  sending: 'attention',
  sent: 'good',
  canceled: 'plain',
  failed: 'bad',
};

const isUnderWay = ({ status }: Broadcast): boolean => ['scheduled', 'queued', 'sending'].includes(status);

/** Of one that is held. */
export const resumeIt = ({ id: heldId }: Broadcast): Advice => ({
  words: 'Go on with',
  command: ['resumeBroadcast', heldId],
});

/** How far sending has come, in a few words. */
export const broadcastProgressInWords = ({ recipients, excluded, total }: Broadcast): string => {
  const of = total === null ? '' : ` of ${total}`;
  return `${recipients + excluded}${of}: ${recipients} emails, ${excluded} left out`;
};

/** Status, progress and what it waits for, in a line each. */
export function broadcastInWords(broadcast: Broadcast): string[] {
  const { status, held } = broadcast;
  const [reason, next] = 'failed_reason' in broadcast ? [broadcast.failed_reason, broadcast.next_at] : [null, null];
  return [
    `${status}  ${broadcastProgressInWords(broadcast)}`,
    ...(held === null ? [] : [`It is held: ${held.reason}.`]),
    ...(reason === null ? [] : [`It failed: ${reason}.`]),
    ...(next === null ? [] : [`It goes on at ${next}: contacts get it at their local hour.`]),
  ];
}

const id: Field<Broadcast> = { name: 'id', label: 'Id', kind: 'id' };
const name: Field<Broadcast> = { name: 'name', label: 'Name', kind: 'name' };
const status: Field<Broadcast> = {
  name: 'status',
  label: 'Status',
  kind: 'state',
  words: ({ status: said, held }) => (held === null ? said : `${said}, held`),
  tone: ({ status: said, held }) => (held === null ? TONES[said] : 'bad'),
};
const progress: Field<Broadcast> = {
  name: 'recipients',
  label: 'Progress',
  value: broadcastProgressInWords,
};
const created: Field<Broadcast> = { name: 'created_at', label: 'Created', kind: 'time' };
const scheduled: Field<Broadcast> = { name: 'scheduled_at', label: 'Scheduled', kind: 'time' };
const sent: Field<Broadcast> = { name: 'sent_at', label: 'Sent', kind: 'time' };
const segment: Field<Broadcast> = { name: 'segment_id', label: 'Segment', kind: 'id' };
const topic: Field<Broadcast> = { name: 'topic_id', label: 'Topic', kind: 'id' };
const held: Field<Broadcast> = {
  name: 'held',
  label: 'Held',
  value: ({ held: hold }) => (hold === null ? '' : `since ${hold.since}: ${hold.reason}`),
};
const rest: Field<Broadcast>[] = [
  { name: 'excluded', label: 'Left out' },
  { name: 'total', label: 'Members' },
  { name: 'audience_id', label: 'Audience', kind: 'id' },
];

const LOCAL_TIME = {
  says: 'to each contact when its own clocks show the time, by its property timezone',
  no: 'to all at one time',
  ...{ isBoolean: true, isMore: true },
} as const satisfies Flag;

const content = {
  segment_id: {
    flag: 'segment',
    value: '<segment>',
    says: 'the id of the segment that receives it',
    isClearable: true,
  },
  html: { value: '<html>', says: 'the HTML', fromFile: 'HTML', hasLines: true, isClearable: true },
  text: { value: '<text>', says: 'the plain text', fromFile: 'plain text', hasLines: true, isClearable: true },
  preview_text: { value: '<text>', says: 'what mail programs show behind the subject', isClearable: true },
  reply_to: {
    ...{ value: '<address>', says: 'where answers go', isRepeatable: true },
    ...{ isClearable: true, isMore: true },
  },
  topic_id: {
    ...{ flag: 'topic', value: '<topic>', says: 'only to contacts who are opted in to this topic' },
    ...{ isClearable: true, isMore: true },
  },
  rate_per_minute: {
    ...{ value: '<n>', says: 'at most so many emails a minute', isNumber: true },
    ...{ isClearable: true, isMore: true },
  },
  local_time: LOCAL_TIME,
} as const satisfies Readonly<Record<string, Flag>>;

const sending = {
  scheduled_at: {
    ...{ flag: 'at', value: '<time>' },
    says: "when, as an ISO 8601 time or in words, such as 'in 2 hours' or 'tomorrow at 9:30' (UTC)",
  },
  local_time: LOCAL_TIME,
  acknowledge_checks: { says: 'send although checks of the content fail', isBoolean: true },
} as const satisfies Readonly<Record<string, Flag>>;

/** What a send would be told, a line each. */
export function checklistInWords({ gate, checks }: AnswerOf<'getBroadcastChecklist'>): string {
  const lines = [
    ...gate.map((item) => ({ state: item.ok ? 'ok' : 'missing', name: item.name, message: item.message, details: [] })),
    ...checks.map((check) => ({ ...check, state: check.status === 'pass' ? 'ok' : check.status })),
  ];
  return lines
    .map(({ state, name: what, message, details }) =>
      [`${state.padEnd(7)}  ${what.padEnd(15)}  ${message}`, ...details.map((one) => `         - ${one}`)].join('\n'),
    )
    .join('\n');
}

export const broadcasts = {
  command: 'broadcasts',
  summary: 'write mail to many, send it to a segment, and see what came of it',
  noun: 'a broadcast',
  list: listOf('listBroadcasts', {
    summary: 'list broadcasts, newest first',
    example: 'broadcasts list --status sent',
    filters: {
      search: { value: '<text>', says: 'only those whose name or subject contains this' },
      status: { value: '<status>', says: 'only those in this status', choices: Object.keys(TONES) },
    },
    columns: [id, name, status, progress, created, ...wide(scheduled, sent, segment, topic, held), ...asked(...rest)],
    empty: 'There are no broadcasts yet.',
  }),
  get: detailOf('getBroadcast', {
    summary: 'show a broadcast and how far sending has come',
    example: `broadcasts get ${ID}`,
    path: { broadcast_id: BROADCAST },
    fields: [
      ...[id, name, status, progress, held],
      { name: 'waiting_reason', label: 'Waits for' },
      { name: 'next_at', label: 'Goes on', kind: 'time' },
      { name: 'failed_reason', label: 'Failed' },
      ...[created, scheduled, sent, segment, topic],
      { name: 'template_id', label: 'Template', kind: 'id' },
      { name: 'from', label: 'From' },
      { name: 'reply_to', label: 'Reply to' },
      { name: 'subject', label: 'Subject' },
      { name: 'preview_text', label: 'Preview text' },
      { name: 'rate_per_minute', label: 'Emails a minute' },
      {
        name: 'local_time',
        label: 'At the local hour',
        value: ({ local_time: isLocal }: AnswerOf<'getBroadcast'>) => (isLocal ? 'yes' : ''),
      },
      ...asked(...rest),
      { name: 'text', label: 'Text', kind: 'body' },
      { name: 'html', label: 'HTML', kind: 'body' },
    ],
    hint: (broadcast) => (broadcast.held === null ? undefined : resumeIt(broadcast)),
  }),
  actions: [
    actionOf('createBroadcast', {
      verb: 'create',
      key: 'c',
      summary: 'write a broadcast',
      description:
        'Writes a broadcast as a draft, or sends it with --send. {{{KEY}}} or {{{KEY|default}}} in HTML, text and subject is where a value goes: FIRST_NAME, LAST_NAME, EMAIL, UNSUBSCRIBE_URL, PREFERENCES_URL, or the key of a contact property.',
      example: `broadcasts create --from 'News <news@example.com>' --subject 'What is new' --segment 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31 --html '<p>Hello {{{FIRST_NAME|friend}}}</p>'`,
      flags: {
        from: { value: '<address>', says: 'the sender, on a verified domain', isRequired: true },
        subject: { value: '<text>', says: 'the subject', isRequired: true },
        name: { value: '<name>', says: 'what you call it; recipients never see it' },
        ...content,
        'template.id': {
          ...{
            flag: 'template',
            value: '<template>',
            says: 'the id or alias of a published template, instead of HTML and text',
          },
          isMore: true,
        },
        send: { says: 'send it at once, or at the time of --at', isBoolean: true },
        ...sending,
      },
      done: 'Created',
    }),
    actionOf('updateBroadcast', {
      verb: 'update',
      key: 'u',
      summary: 'change a draft',
      description: 'Changes what is named and leaves the rest as it is. Only a draft can be changed.',
      example: `broadcasts update ${ID} --subject 'What is new this month'`,
      path: { broadcast_id: BROADCAST },
      only: { when: ({ status: said }: Broadcast) => said === 'draft', says: 'only a draft' },
      flags: {
        from: { value: '<address>', says: 'the sender, on a verified domain' },
        subject: { value: '<text>', says: 'the subject' },
        name: { value: '<name>', says: 'what you call it' },
        ...content,
      },
      clears: ['segment_id', 'html', 'text', 'preview_text', 'reply_to', 'topic_id', 'rate_per_minute'],
      current: currentIn('getBroadcast'),
      done: 'Changed',
    }),
    actionOf('sendBroadcast', {
      verb: 'send',
      key: 's',
      summary: 'send a draft to its segment, now or at a time',
      description:
        'Sends a draft to the members of its segment. What it looks like is fixed here. Whoever is unsubscribed, opted out of its topic or suppressed is left out.',
      example: `broadcasts send ${ID} --at 'in 2 hours'`,
      path: { broadcast_id: BROADCAST },
      only: { when: ({ status: said }: Broadcast) => said === 'draft', says: 'only a draft' },
      flags: sending,
      done: 'Sending',
      hint: ({ id: sentId }) => ({ words: 'See how far it is with', command: ['getBroadcast', sentId] }),
    }),
    actionOf('cancelBroadcast', {
      verb: 'cancel',
      key: 'n',
      summary: 'stop a broadcast; what was created already goes out',
      example: `broadcasts cancel ${ID}`,
      path: { broadcast_id: BROADCAST },
      only: { when: isUnderWay, says: 'only one that is scheduled, queued or being sent' },
      done: 'Canceled',
      destroys: {
        says: 'cancel the broadcast for good; emails that were created already go out',
        name: nameIn('getBroadcast', (broadcast) => broadcast.name),
      },
    }),
    actionOf('resumeBroadcast', {
      verb: 'resume',
      key: 'm',
      summary: 'go on with a broadcast that is held',
      example: `broadcasts resume ${ID}`,
      path: { broadcast_id: BROADCAST },
      only: { when: ({ held: hold }: Broadcast) => hold !== null, says: 'only one that is held' },
      done: 'Resumed',
    }),
    actionOf('duplicateBroadcast', {
      verb: 'duplicate',
      key: 'd',
      summary: 'copy a broadcast as a draft',
      example: `broadcasts duplicate ${ID}`,
      path: { broadcast_id: BROADCAST },
      done: 'Created',
    }),
    actionOf('deleteBroadcast', {
      verb: 'delete',
      key: 'e',
      summary: 'delete a draft',
      example: `broadcasts delete ${ID}`,
      path: { broadcast_id: BROADCAST },
      only: { when: ({ status: said }: Broadcast) => said === 'draft', says: 'only a draft' },
      done: 'Deleted',
      destroys: { says: 'delete the draft', name: nameIn('getBroadcast', (broadcast) => broadcast.name) },
    }),
    actionOf('getBroadcastChecklist', {
      verb: 'checklist',
      key: 'i',
      summary: 'show what would refuse a send, and nothing is sent',
      example: `broadcasts checklist ${ID}`,
      path: { broadcast_id: BROADCAST },
      tell: checklistInWords,
    }),
    actionOf('runBroadcastChecks', {
      verb: 'checks',
      key: 'v',
      summary: 'run the checks of a send now, and nothing is sent',
      example: `broadcasts checks ${ID}`,
      path: { broadcast_id: BROADCAST },
      tell: checklistInWords,
    }),
  ],
} satisfies Family;

type Recipient = ItemOf<'listBroadcastRecipients'>;

const TYPES = ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'unsubscribed', 'suppressed'];

export const broadcastRecipients = {
  command: 'broadcasts',
  summary: 'whom a broadcast went to and what came of it',
  noun: 'a recipient',
  list: listOf('listBroadcastRecipients', {
    verb: 'recipients',
    summary: 'list recipients by what came of it, newest first',
    example: `broadcasts recipients ${ID} --type bounced`,
    path: { broadcast_id: BROADCAST },
    filters: {
      type: { value: '<type>', says: 'what came of it', choices: TYPES, preset: 'sent' },
      email: { value: '<text>', says: 'only addresses that contain this' },
      bounce_type: {
        value: '<type>',
        says: 'with --type bounced: only bounces of this type',
        choices: ['permanent', 'transient', 'undetermined'],
      },
    },
    columns: [
      { name: 'email', label: 'Address', kind: 'name' },
      { name: 'count', label: 'Count' },
      { name: 'bounce_type', label: 'Bounce', kind: 'state' },
      {
        name: 'clicked_links',
        label: 'Links',
        value: ({ clicked_links: links = [] }: Recipient) =>
          links.map(({ url, clicks }) => `${clicks}× ${url}`).join(', '),
      },
      { name: 'contact_id', label: 'Contact', kind: 'id' },
      ...asked<Recipient>({ name: 'id', label: 'Id', kind: 'id' }),
    ],
    empty: 'It came to this with nobody yet.',
  }),
} satisfies Family;

export const broadcastExclusions = {
  command: 'broadcasts',
  summary: 'who was left out of a broadcast',
  noun: 'an exclusion',
  list: listOf('listBroadcastExclusions', {
    verb: 'exclusions',
    summary: 'list who was left out and why, newest first',
    example: `broadcasts exclusions ${ID}`,
    path: { broadcast_id: BROADCAST },
    columns: [
      { name: 'email', label: 'Address', kind: 'name' },
      { name: 'reason', label: 'Reason', kind: 'state' },
      { name: 'contact_id', label: 'Contact', kind: 'id' },
      ...asked<ItemOf<'listBroadcastExclusions'>>({ name: 'id', label: 'Id', kind: 'id' }),
    ],
    empty: 'Nobody was left out.',
  }),
} satisfies Family;

export const broadcastLinks = {
  command: 'broadcasts',
  summary: 'which links of a broadcast were clicked',
  noun: 'a link',
  list: listOf('listBroadcastLinks', {
    verb: 'links',
    summary: 'list the links that were clicked, and how often',
    example: `broadcasts links ${ID}`,
    path: { broadcast_id: BROADCAST },
    columns: [
      { name: 'url', label: 'Link', kind: 'long' },
      { name: 'clicks', label: 'Clicks' },
      { name: 'unique_clicks', label: 'Recipients' },
      ...asked<ItemOf<'listBroadcastLinks'>>({ name: 'id', label: 'Id', kind: 'id' }),
    ],
    empty: 'No link was clicked yet.',
  }),
} satisfies Family;
