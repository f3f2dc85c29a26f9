import type { Advice } from '../client/index.ts';
import { adviseFor, type AnswerOf, type ItemIn } from './family.ts';

export type Broadcast = ItemIn<'listBroadcasts' | 'getBroadcast'>;

/** Advises how to resume a broadcast that is paused or held. */
export const resumeIt = adviseFor('Resume it with', 'resumeBroadcast');

/** Describes the progress of sending in a few words. */
export const broadcastProgressInWords = ({ recipients, excluded, total }: Broadcast): string => {
  const of = total === null ? '' : ` of ${total}`;
  return `${recipients + excluded}${of}: ${recipients} emails, ${excluded} excluded`;
};

export const heldInWords = ({ reason, detail }: NonNullable<Broadcast['held']>): string =>
  detail === null ? reason : `${reason}, ${detail}`;

/** Describes who paused a broadcast, and when. */
export function pausedInWords({ since, by }: NonNullable<Broadcast['paused']>): string {
  const who = by.name ?? 'a key without a name';
  const kind = { user: '', api_key: 'the key ', app: 'the app ' }[by.kind];
  return `since ${since} by ${kind}${who}`;
}

/** Describes the end of a pause or a hold, and a hold that remains. */
export const resumedInWords = ({ id, held }: AnswerOf<'resumeBroadcast'>): string =>
  held === null ? `Resumed  ${id}` : `The pause of ${id} has ended. It is still on hold: ${heldInWords(held)}.`;

/** Returns the address of a broadcast in the archive; its id if it has no page yet. */
export const archivedInWords = ({ id, archive_url: url }: AnswerOf<'archiveBroadcast'>): string =>
  url ?? `Archived  ${id}`;

/** Explains when a broadcast of the archive has a page. */
export const adviseArchive = ({ archive_url: url }: AnswerOf<'archiveBroadcast'>): Advice =>
  url === undefined
    ? {
        words: 'Its page appears with its first email, if the archive of the team is on. Switch it on with',
        command: ['updateTeam', '--archive'],
      }
    : { words: 'Anyone with this link can open the page.' };

/** Lists the counts above zero in a few words, and what was not measured. */
export function countsInWords({ counts, ...broadcast }: AnswerOf<'getBroadcast'>): string {
  const unmeasured = [
    ...(broadcast.opens_measured === false ? ['opens'] : []),
    ...(broadcast.clicks_measured === false ? ['clicks'] : []),
  ];
  return [
    ...Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([what, count]) => `${count} ${what}`),
    ...(unmeasured.length === 0 ? [] : [`${unmeasured.join(' and ')} not measured`]),
  ].join(', ');
}

/** Explains why a broadcast continues at a later time, by what it waits for. */
const NEXT_IN_WORDS: Readonly<Record<string, string>> = {
  ab_test: ', when the subject is decided.',
  local_hour: ': contacts get it at their local hour.',
  quiet_hours: ', when the first quiet hours of the remaining contacts end.',
};

/** Describes status, progress and the reason why it waits, in a line each. */
export function broadcastInWords(broadcast: Broadcast): string[] {
  const { status, held, paused } = broadcast;
  const [reason, next, waits] =
    'failed_reason' in broadcast
      ? [broadcast.failed_reason, broadcast.next_at, broadcast.waiting_reason]
      : [null, null, null];
  return [
    `${status}  ${broadcastProgressInWords(broadcast)}`,
    ...(paused === null ? [] : [`Paused ${pausedInWords(paused)}.`]),
    ...(held === null ? [] : [`On hold: ${heldInWords(held)}.`]),
    ...(reason === null ? [] : [`Failed: ${reason}.`]),
    ...(next === null ? [] : [`Sending continues at ${next}${NEXT_IN_WORDS[waits ?? ''] ?? '.'}`]),
  ];
}

/** Describes the subjects that are tested, and the result so far. */
export function abTestInWords(
  { ab: test, clicks_measured: isMeasured }: AnswerOf<'getBroadcast'>,
  say: (count: number) => string = String,
): string {
  if (test === null) return '';
  const tried = test.variants.map(({ subject, recipients, clicked }) =>
    isMeasured === false
      ? `${JSON.stringify(subject)} sent to ${say(recipients)}`
      : `${JSON.stringify(subject)} clicked by ${say(clicked)} of ${say(recipients)}`,
  );
  const how = {
    clicks: 'by clicks',
    tie: 'the first of several with equally many clicks',
    no_clicks: 'because nobody clicked',
    not_measured: 'because clicks were not measured',
  };
  const said =
    test.decided_by === null ? [] : [`continues with ${JSON.stringify(test.winner)}, ${how[test.decided_by]}`];
  return [`${test.test_percent} % for ${test.wait_minutes} minutes`, ...tried, ...said].join('; ');
}

/** Lists the utm_ parameters that were given; the others are made from names. */
export function utmInWords(utm: NonNullable<AnswerOf<'getBroadcast'>['utm']>): string {
  const given = Object.entries(utm).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
  return given.length === 0 ? 'default' : given.join(', ');
}

type Checklist = AnswerOf<'getBroadcastChecklist'>;

const joinNames = (named: readonly { name: string }[]): string => named.map(({ name }) => name).join(', ');

/** Describes who would get the broadcast now, and why the others would not. */
function audienceInWords(audience: NonNullable<Checklist['audience']>): string[] {
  const { segments, exclude_segments: without, not_received_from: earlier, received_but_not_opened: opened } = audience;
  const { contacts, recipients, excluded, over_marketing_cap: over } = audience;
  return [
    `To ${joinNames(segments)}: ${recipients} of ${contacts} ${contacts === 1 ? 'contact' : 'contacts'}`,
    ...(without.length === 0 ? [] : [`Without ${joinNames(without)}`]),
    ...(earlier.length === 0 ? [] : [`Not to those who received ${joinNames(earlier)}`]),
    ...(opened === null ? [] : [`Only to those who received ${opened.name} and have not opened it`]),
    ...(over === null || over === 0
      ? []
      : [`${over} of the ${recipients} had as much marketing mail as the limit allows, and would be left out now`]),
    ...excluded.filter((one) => one.contacts > 0).map((one) => `- ${one.contacts} ${one.reason}`),
    '',
  ];
}

/** Lists who would get the broadcast, and the checks that a send would make, a line each. */
export function checklistInWords({ gate, audience, checks }: Checklist): string {
  const lines = [
    ...gate.map((item) => ({ state: item.ok ? 'ok' : 'missing', name: item.name, message: item.message, details: [] })),
    ...checks.map((check) => ({ ...check, state: check.status === 'pass' ? 'ok' : check.status })),
  ];
  const said = lines.map(({ state, name: what, message, details }) =>
    [`${state.padEnd(7)}  ${what.padEnd(15)}  ${message}`, ...details.map((one) => `         - ${one}`)].join('\n'),
  );
  return [...(audience === null ? [] : audienceInWords(audience)), ...said].join('\n');
}

/** Shows subject and text as recipients read them, and the variables without a value. */
export function previewInWords(mail: AnswerOf<'previewBroadcast'>): string {
  const { from, to, subject, preview_text: preview, text, missing } = mail;
  return [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    ...(preview === null ? [] : [`Preview: ${preview}`]),
    ...(missing.length === 0 ? [] : [`Empty, because they have neither a value nor a default: ${missing.join(', ')}`]),
    '',
    text ?? 'The broadcast has no body yet.',
  ].join('\n');
}
