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
  declareAction,
  asked,
  declareDetail,
  declareList,
  wide,
  withRemaining,
  type Field,
  type Tone,
} from './family.ts';

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
/** Used in lists, which must fit into 80 columns too. */
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
  { name: 'excluded', label: 'Excluded', kind: 'number' },
  { name: 'total', label: 'Members', kind: 'number' },
  { name: 'audience_id', label: 'Audience', kind: 'id' },
];

export const broadcasts = withRemaining({
  command: 'broadcasts',
  summary: 'write broadcasts, send them to segments, and see their results',
  noun: 'a broadcast',
  list: declareList('listBroadcasts', {
    columns: [id, name, status, progress, created, ...wide(scheduled, sent, segment, topic, held), ...asked(...rest)],
  }),
  get: declareDetail('getBroadcast', {
    fields: [
      id,
      name,
      status,
      progressOfOne,
      held,
      { name: 'counts', label: 'Results', value: countsInWords, words: (one) => groupedIn(countsInWords(one)) },
      { name: 'waiting_reason', label: 'Waits for' },
      { name: 'next_at', label: 'Continues', kind: 'time' },
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
    declareAction('createBroadcast'),
    declareAction('updateBroadcast', {
      only: { when: ({ status: said }: Broadcast) => said === 'draft', says: 'only for a draft' },
    }),
    declareAction('sendBroadcast', {
      only: { when: ({ status: said }: Broadcast) => said === 'draft', says: 'only for a draft' },
      done: 'Sending',
      hint: ({ id: sentId }) => ({ words: 'See the progress with', command: ['getBroadcast', sentId] }),
    }),
    declareAction('cancelBroadcast', {
      only: {
        when: (broadcast: Broadcast) => isUnderWay(broadcast) || broadcast.held !== null,
        says: 'only for a broadcast that is scheduled, queued, sending or on hold',
      },
      done: 'Canceled',
    }),
    declareAction('resumeBroadcast', {
      only: { when: ({ held: hold }: Broadcast) => hold !== null, says: 'only for a broadcast that is on hold' },
      done: 'Resumed',
    }),
    declareAction('duplicateBroadcast'),
    declareAction('deleteBroadcast', {
      only: { when: ({ status: said }: Broadcast) => said === 'draft', says: 'only for a draft' },
    }),
    declareAction('getBroadcastChecklist', { describe: checklistInWords }),
    declareAction('previewBroadcast', { describe: previewInWords }),
    declareAction('testBroadcast', {
      only: {
        when: ({ status: said }: Broadcast) => said === 'draft' || said === 'scheduled',
        says: 'only for a draft or a scheduled broadcast',
      },
      print: ({ ids }) => ids.join('\n'),
      describe: ({ ids }) =>
        ids.length === 1 ? `A test email is being sent: ${ids[0]}` : `${ids.length} test emails are being sent.`,
    }),
    declareAction('runBroadcastChecks', { describe: checklistInWords }),
  ],
  elsewhere: { listBroadcastRecipients: true, listBroadcastExclusions: true, listBroadcastLinks: true },
});
