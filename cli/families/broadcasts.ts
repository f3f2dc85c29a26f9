import type { AnswerOf } from '../client/index.ts';
import {
  abTestInWords,
  broadcastProgressInWords,
  checklistInWords,
  countsInWords,
  heldInWords,
  previewInWords,
  resumeIt,
  type Broadcast,
} from './broadcast-words.ts';
import { grouped, groupedIn } from './field-value.ts';
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
  type Key,
  type Tone,
} from './family.ts';

const BROADCAST: Key = { word: 'broadcast', says: 'the id of the broadcast' };
const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e50';

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

const id: Field<Broadcast> = { name: 'id', label: 'Id', kind: 'id' };
const name: Field<Broadcast> = { name: 'name', label: 'Name', kind: 'name' };
const status: Field<Broadcast> = {
  name: 'status',
  label: 'Status',
  kind: 'state',
  words: ({ status: said, held }) => (held === null ? said : `${said}, held`),
  tone: ({ status: said, held }) => (held === null ? TONES[said] : 'bad'),
};
/** Of a list, in 80 columns too. */
const progress: Field<Broadcast> = {
  name: 'recipients',
  label: 'Progress',
  kind: 'number',
  value: ({ recipients, excluded, total }) => `${recipients + excluded}${total === null ? '' : `/${total}`}`,
  words: ({ recipients, excluded, total }) =>
    `${grouped(recipients + excluded)}${total === null ? '' : `/${grouped(total)}`}`,
};
const progressOfOne: Field<Broadcast> = {
  name: 'recipients',
  label: 'Progress',
  value: broadcastProgressInWords,
  words: (one) => groupedIn(broadcastProgressInWords(one)),
};
const created: Field<Broadcast> = { name: 'created_at', label: 'Created', kind: 'time' };
const scheduled: Field<Broadcast> = { name: 'scheduled_at', label: 'Scheduled', kind: 'time' };
const sent: Field<Broadcast> = { name: 'sent_at', label: 'Sent', kind: 'time' };
const segment: Field<Broadcast> = { name: 'segment_id', label: 'Segment', kind: 'id' };
const topic: Field<Broadcast> = { name: 'topic_id', label: 'Topic', kind: 'id' };
const held: Field<Broadcast> = {
  name: 'held',
  label: 'Held',
  value: ({ held: hold }) => (hold === null ? '' : `since ${hold.since}: ${heldInWords(hold)}`),
};
const rest: Field<Broadcast>[] = [
  { name: 'excluded', label: 'Left out', kind: 'number' },
  { name: 'total', label: 'Members', kind: 'number' },
  { name: 'audience_id', label: 'Audience', kind: 'id' },
];

const LOCAL_TIME = {
  says: 'to each contact when its own clocks show the time, by its property timezone',
  no: 'to all at one time',
  isBoolean: true,
  isMore: true,
} as const satisfies Flag;

const ab = {
  'ab.subjects': {
    flag: 'ab-subject',
    value: '<text>',
    says: 'another subject to try on a share of the segment',
    isRepeatable: true,
    isMore: true,
  },
  'ab.test_percent': {
    flag: 'ab-percent',
    value: '<n>',
    says: 'the share that tries the subjects, 5 to 50 percent',
    isNumber: true,
    isMore: true,
  },
  'ab.wait_minutes': {
    flag: 'ab-wait-minutes',
    value: '<n>',
    says: 'how long clicks are counted, before the others get the best',
    isNumber: true,
    isMore: true,
  },
} as const satisfies Readonly<Record<string, Flag>>;

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
    value: '<address>',
    says: 'where answers go',
    isRepeatable: true,
    isClearable: true,
    isMore: true,
  },
  topic_id: {
    flag: 'topic',
    value: '<topic>',
    says: 'only to contacts who are opted in to this topic',
    isClearable: true,
    isMore: true,
  },
  rate_per_minute: {
    value: '<n>',
    says: 'at most so many emails a minute',
    isNumber: true,
    isClearable: true,
    isMore: true,
  },
  local_time: LOCAL_TIME,
} as const satisfies Readonly<Record<string, Flag>>;

const sending = {
  scheduled_at: {
    flag: 'at',
    value: '<time>',
    says: "when, as an ISO 8601 time or in words, such as 'in 2 hours' or 'tomorrow at 9:30' (UTC)",
  },
  local_time: LOCAL_TIME,
  acknowledge_checks: { says: 'send although checks of the content fail', isBoolean: true },
} as const satisfies Readonly<Record<string, Flag>>;

const values = {
  value: '<contact>',
  says: 'the contact whose values are put in; without one, made-up ones are',
} as const;

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
      id,
      name,
      status,
      progressOfOne,
      held,
      { name: 'counts', label: 'Came of it', value: countsInWords, words: (one) => groupedIn(countsInWords(one)) },
      { name: 'waiting_reason', label: 'Waits for' },
      { name: 'next_at', label: 'Goes on', kind: 'time' },
      { name: 'failed_reason', label: 'Failed' },
      created,
      scheduled,
      sent,
      segment,
      topic,
      { name: 'template_id', label: 'Template', kind: 'id' },
      { name: 'from', label: 'From' },
      { name: 'reply_to', label: 'Reply to' },
      { name: 'subject', label: 'Subject' },
      { name: 'preview_text', label: 'Preview text' },
      {
        name: 'ab',
        label: 'A/B test',
        value: (one) => abTestInWords(one),
        words: (one) => abTestInWords(one, grouped),
      },
      { name: 'rate_per_minute', label: 'Emails a minute', kind: 'number' },
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
        'Writes a broadcast as a draft, or sends it with --send. {{{KEY}}} or {{{KEY|default}}} in HTML, text and subject is where a value goes: FIRST_NAME, LAST_NAME, EMAIL, UNSUBSCRIBE_URL, PREFERENCES_URL, {{{SENDER_NAME}}} and {{{POSTAL_ADDRESS}}} of the team, or the key of a contact property.',
      example: `broadcasts create --from 'News <news@example.com>' --subject 'What is new' --segment 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31 --html '<p>Hello {{{FIRST_NAME|friend}}}</p>'`,
      flags: {
        from: { value: '<address>', says: 'the sender, on a verified domain', isRequired: true },
        subject: { value: '<text>', says: 'the subject', isRequired: true },
        name: { value: '<name>', says: 'what you call it; recipients never see it' },
        ...content,
        ...ab,
        'template.id': {
          flag: 'template',
          value: '<template>',
          says: 'the id or alias of a published template, instead of HTML and text',
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
        ...ab,
      },
      clears: ['segment_id', 'html', 'text', 'preview_text', 'reply_to', 'topic_id', 'rate_per_minute', 'ab'],
      current: currentIn('getBroadcast'),
      done: 'Changed',
    }),
    actionOf('sendBroadcast', {
      verb: 'send',
      key: 's',
      summary: 'send a draft to its segment, now or at a time',
      description:
        'Sends a draft to the members of its segment. What it looks like is fixed here. Contacts that are unsubscribed, opted out of its topic or suppressed are left out.',
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
      only: {
        when: (broadcast: Broadcast) => isUnderWay(broadcast) || broadcast.held !== null,
        says: 'only one that is scheduled, queued, being sent or held',
      },
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
    actionOf('previewBroadcast', {
      verb: 'preview',
      key: 'p',
      summary: 'show a broadcast as one contact would get it, and nothing is sent',
      description:
        'Shows subject and text with the values of a contact, named by its id or address. The links to leave are samples, which unsubscribe nobody.',
      example: `broadcasts preview ${ID} --contact ada@example.org`,
      path: { broadcast_id: BROADCAST },
      flags: {
        contact_id: { flag: 'contact', ...values },
        email: { value: '<address>', says: 'the same by the address alone', isMore: true },
      },
      tell: previewInWords,
    }),
    actionOf('testBroadcast', {
      verb: 'test',
      key: 't',
      summary: 'send a broadcast as it looks to yourself or a few others',
      description:
        'Sends a draft, or one that is scheduled, with [Test] before its subject to up to 10 addresses. It is ordinary mail, and in no report.',
      example: `broadcasts test ${ID} --to me@example.com`,
      path: { broadcast_id: BROADCAST },
      only: {
        when: ({ status: said }: Broadcast) => said === 'draft' || said === 'scheduled',
        says: 'only a draft or one that is scheduled',
      },
      flags: {
        to: { value: '<address>', says: 'who gets it', isRepeatable: true, isRequired: true },
        contact_id: { flag: 'contact', ...values, value: '<id>', isMore: true },
      },
      print: ({ ids }) => ids.join('\n'),
      tell: ({ ids }) =>
        ids.length === 1 ? `A test is on its way: ${ids[0]}` : `${ids.length} tests are on their way.`,
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
