import {
  abTestInWords,
  adviseArchive,
  archivedInWords,
  broadcastProgressInWords,
  checklistInWords,
  countsInWords,
  heldInWords,
  pausedInWords,
  previewInWords,
  resumedInWords,
  utmInWords,
  resumeIt,
  type Broadcast,
} from './broadcast-words.ts';
import { adviseFor, declareAction, declareDetail, declareList, withRemaining } from './family.ts';
import type { Fields, Tone } from './family.ts';
import { grouped, groupedIn } from './field-value.ts';
import { REVOKED, SHARED_PAGE } from './shares.ts';

const TONES: Record<Broadcast['status'], Tone> = {
  draft: 'plain',
  scheduled: 'attention',
  queued: 'attention',
  sending: 'attention',
  sent: 'good',
  canceled: 'plain',
  failed: 'bad',
};

const isDraft = ({ status }: Broadcast): boolean => status === 'draft';
const isUnderWay = ({ status }: Broadcast): boolean => ['scheduled', 'queued', 'sending'].includes(status);
const listStops = ({ held, paused }: Broadcast): string[] => [
  ...(paused === null ? [] : ['paused']),
  ...(held === null ? [] : ['held']),
];
const ONLY_DRAFTS = { when: isDraft, says: 'only for a draft' };

const fields: Fields<Broadcast> = {
  status: {
    words: (one) => [one.status, ...listStops(one)].join(', '),
    tone: ({ status, held, paused }) => (held !== null ? 'bad' : paused === null ? TONES[status] : 'attention'),
  },
  held: { value: ({ held }) => (held === null ? '' : `since ${held.since}: ${heldInWords(held)}`) },
  paused: { value: ({ paused }) => (paused === null ? '' : pausedInWords(paused)) },
  changed_by_app: 'Written by app',
  archive: { label: 'In the archive', either: ['yes', ''] },
  excluded: 'Excluded',
  total: 'Members',
};

/** A list must fit into 80 columns too. */
const briefProgress = ({ recipients, excluded, total }: Broadcast, say: (count: number) => string = String): string =>
  `${say(recipients + excluded)}${total === null ? '' : `/${say(total)}`}`;

export const broadcasts = withRemaining({
  summary: 'write broadcasts, send them to segments, and see their results',
  list: declareList('listBroadcasts', {
    fields: {
      ...fields,
      recipients: {
        label: 'Progress',
        kind: 'number',
        value: (one) => briefProgress(one),
        words: (one) => briefProgress(one, grouped),
      },
    },
    columns: ['id', 'name', 'status', 'recipients', 'created_at'],
    wide: ['changed_by_app', 'scheduled_at', 'sent_at', 'segment_id', 'topic_id', 'archive', 'held', 'paused'],
    asked: ['excluded', 'total', 'audience_id'],
  }),
  get: declareDetail('getBroadcast', {
    fields: {
      ...fields,
      recipients: {
        label: 'Progress',
        kind: 'text',
        value: broadcastProgressInWords,
        words: (one) => groupedIn(broadcastProgressInWords(one)),
      },
      counts: { label: 'Results', value: countsInWords, words: (one) => groupedIn(countsInWords(one)) },
      waiting_reason: 'Waits for',
      next_at: 'Continues',
      failed_reason: 'Failed',
      from: { kind: 'text' },
      reply_to: { kind: 'text' },
      ab: { label: 'A/B test', value: (one) => abTestInWords(one), words: (one) => abTestInWords(one, grouped) },
      rate_per_minute: 'Emails a minute',
      pool: { kind: 'text' },
      utm: { label: 'UTM', kind: 'text', value: ({ utm }) => utm && utmInWords(utm) },
      local_time: { label: 'At the local hour', either: ['yes', ''] },
      require_review: { label: 'Must be approved', either: ['yes', ''] },
      review_status: {
        label: 'Review',
        value: ({ review_status: status }) => (status === 'none' ? '' : status.replace('_', ' ')),
      },
      archive_url: 'Archive page',
      excluded: { label: 'Excluded', shown: 'asked' },
      total: { label: 'Members', shown: 'asked' },
      segment_ids: { label: 'Segments', value: ({ segment_ids: ids }) => ids.join(', ') },
      exclude_segment_ids: { label: 'Without segments', value: ({ exclude_segment_ids: ids }) => ids.join(', ') },
      not_received_from: { label: 'Not received', value: ({ not_received_from: ids }) => ids.join(', ') },
      received_but_not_opened: { label: 'Not opened', kind: 'text' },
      duplicated_from: { label: 'Copied from', kind: 'text' },
      segment_id: { shown: 'asked' },
      audience_id: { shown: 'asked' },
    },
    columns: [
      'id',
      'name',
      'status',
      'recipients',
      'held',
      'paused',
      'counts',
      'waiting_reason',
      'next_at',
      'failed_reason',
      'changed_by_app',
      'created_at',
      'scheduled_at',
      'sent_at',
      'segment_ids',
      'exclude_segment_ids',
      'not_received_from',
      'received_but_not_opened',
      'duplicated_from',
      'topic_id',
      'template_id',
      'from',
      'reply_to',
      'subject',
      'preview_text',
      'ab',
      'rate_per_minute',
      'pool',
      'utm',
      'local_time',
      'require_review',
      'review_status',
      'archive',
      'archive_url',
      'excluded',
      'total',
      'segment_id',
      'audience_id',
      'text',
      'html',
    ],
    hint: (broadcast) => (listStops(broadcast).length === 0 ? undefined : resumeIt(broadcast)),
  }),
  actions: [
    declareAction('createBroadcast'),
    declareAction('updateBroadcast', { only: ONLY_DRAFTS }),
    declareAction('sendBroadcast', {
      only: ONLY_DRAFTS,
      done: 'Sending',
      hint: adviseFor('See the progress with', 'getBroadcast'),
    }),
    declareAction('cancelBroadcast', {
      only: {
        when: (broadcast: Broadcast) => isUnderWay(broadcast) || listStops(broadcast).length > 0,
        says: 'only for a broadcast that is scheduled, queued, sending, paused or on hold',
      },
      done: 'Canceled',
    }),
    declareAction('pauseBroadcast', {
      only: {
        // Only the server knows whether emails of a sent broadcast are still in the queue.
        when: (broadcast: Broadcast) =>
          (isUnderWay(broadcast) || broadcast.status === 'sent') && broadcast.paused === null,
        says: 'only for a broadcast that is scheduled, queued, sending or has emails in the queue',
      },
      done: 'Paused',
      hint: adviseFor('Resume it with', 'resumeBroadcast'),
    }),
    declareAction('resumeBroadcast', {
      only: {
        when: (broadcast: Broadcast) => listStops(broadcast).length > 0,
        says: 'only for a broadcast that is paused or on hold',
      },
      done: 'Resumed',
      describe: resumedInWords,
      hint: (answer) => (answer.held === null ? undefined : resumeIt(answer)),
    }),
    declareAction('archiveBroadcast', {
      only: { when: ({ archive }: Broadcast) => !archive, says: 'only for a broadcast that is not in the archive' },
      describe: archivedInWords,
      print: ({ id, archive_url: url }) => url ?? id,
      hint: adviseArchive,
    }),
    declareAction('unarchiveBroadcast', {
      only: { when: ({ archive }: Broadcast) => archive, says: 'only for a broadcast in the archive' },
      done: 'Withdrawn',
    }),
    declareAction('duplicateBroadcast'),
    declareAction('deleteBroadcast', { only: ONLY_DRAFTS }),
    declareAction('getBroadcastChecklist', { describe: checklistInWords }),
    declareAction('previewBroadcast', { describe: previewInWords }),
    declareAction('createBroadcastShare', SHARED_PAGE),
    declareAction('revokeBroadcastShares', REVOKED),
    declareAction('testBroadcast', {
      only: {
        when: (broadcast: Broadcast) => isDraft(broadcast) || broadcast.status === 'scheduled',
        says: 'only for a draft or a scheduled broadcast',
      },
      print: ({ ids }) => ids.join('\n'),
      describe: ({ ids }) =>
        ids.length === 1 ? `A test email is being sent: ${ids[0]}` : `${ids.length} test emails are being sent.`,
    }),
    declareAction('runBroadcastChecks', { describe: checklistInWords }),
  ],
  elsewhere: {
    listBroadcastRecipients: true,
    listBroadcastExclusions: true,
    listBroadcastLinks: true,
    listBroadcastReviews: true,
  },
});
