import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import {
  collectKeys,
  escapeDefaults,
  hideVariables,
  parseMerge,
  nameEncodings,
  showsAny,
  writeMerge,
  type MergeText,
} from '../../../protocol/merge.ts';
import { textOfHtml } from '../../../protocol/read-message/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { endOfBody, startOfBody } from '../../../protocol/html/index.ts';
import {
  declaredProperties,
  findLanguageProperty,
  FOOTER_KEYS,
  READER_TEXTS,
  type PropertyRow,
  type WayOut,
} from '../../audience/index.ts';
import { insertSharedBodies, parseBody, renderBody, type MergedBody } from '../../../mail/shared-bodies/index.ts';
import { findTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import {
  findPublishedContent,
  type PublishedContent,
  imagesShownIn,
  lookUpImages,
  type ImagesShown,
} from '../../templates/index.ts';
import type { BroadcastRow, Pinned, BroadcastContent } from './broadcasts.store.ts';
import {
  builtInKey,
  fallbacksIn,
  isTeamKey,
  LINK_KEYS,
  VIEW_KEY,
  listSenderLines,
  teamValue,
  withoutBraces,
  isTooLarge,
  mailFor,
  mergedMail,
  buildMergeValues,
  propertyNamed,
  type Fallbacks,
  type Sender,
  type MergedContact,
} from './merge-values.ts';
import { refuse, type Refusal } from '../../../platform/refusal.ts';
import {
  VARIABLES_MAX,
  checkContent,
  combineChecks,
  showsAddress,
  type ContentCheck,
} from '../../../protocol/content-checks.ts';
import { defineTextTask, type TextTask } from '../../../platform/text-thread/index.ts';
import type { PostalAddress } from '../../../contract/index.ts';
import { listSubjects } from './ab-test.ts';
import { makeUtmValue, tagHtmlLinks, tagTextLinks, type UtmParameters } from '../../../protocol/utm.ts';

interface Checked {
  written: Pick<BroadcastContent, 'subject' | 'preview_text' | 'ab_test'>;
  source: Source | undefined;
  properties: readonly PropertyRow[];
  team: Sender;
  /** The team's own images in the body. */
  shown: ImagesShown;
}

/** Runs the content checks on what would be sent now. */
function runChecks({ written, source, properties, team, shown }: Checked): ContentCheck[] {
  const images = lookUpImages(shown);
  const checkSubject = (subject: string): ContentCheck[] =>
    checkContent({
      ...images,
      gone: shown.gone,
      subject,
      previewText: written.preview_text,
      html: source?.html ?? null,
      text: source?.text ?? null,
      address: team.postal_address === null ? null : (JSON.parse(team.postal_address) as PostalAddress),
      addressKeys: isTeamKey('POSTAL_ADDRESS', properties) ? ['POSTAL_ADDRESS'] : [],
      isKnown: (key) =>
        builtInKey(key) !== undefined ||
        isTeamKey(key, properties) ||
        propertyNamed(properties, key) !== undefined ||
        source?.template?.fallbacks.has(key) === true,
    });
  const [first = [], ...others] = listSubjects(written).map(checkSubject);
  return first.map((check, i) =>
    combineChecks(
      check,
      others.flatMap((checks) => checks[i] ?? []),
    ),
  );
}

export function mustPass(checks: readonly ContentCheck[]): void {
  const failing = checks.filter(({ status }) => status === 'fail');
  const [first] = failing;
  if (!first) return;
  const more = failing.length > 1 ? ` (and ${failing.length - 1} more)` : '';
  throw refuse('validation_error', {
    status: 422,
    say: `${first.message}${more} Fix it, or send anyway with acknowledge_checks.`,
    details: { checks: failing },
  });
}

/** Returns the number of characters of a body, for `store.texts`. */
export const countChars = (body: { html: string | null; text: string | null } | undefined): number =>
  (body?.html?.length ?? 0) + (body?.text?.length ?? 0);

export const checkBodies: TextTask<Checked, ContentCheck[]> = defineTextTask('broadcasts.checkBodies', runChecks);

interface Unprepared {
  written: Omit<Checked['written'], 'preview_text'>;
  source: Source;
  around: Around;
  shown: Checked['shown'];
}

/** The result of preparing a body for a send. */
interface PreparedBodies {
  checks: ContentCheck[];
  bodies: Bodies;
  /**
   * The body that uses more merge variables than allowed: each of its mails would cost as much as thousands of others.
   */
  tooMany: { path: 'html' | 'text'; variables: number } | undefined;
}

const prepareBodies: TextTask<Unprepared, PreparedBodies> = defineTextTask(
  'broadcasts.prepareBodies',
  ({ written, source, around, shown }) => {
    const checked = { ...written, preview_text: around.previewText };
    const { properties, team } = around;
    const checks = runChecks({ written: checked, source, properties, team, shown });
    const bodies = composeBodies(source, around);
    const counts = (['html', 'text'] as const).map((path) => ({
      path,
      variables: parseMerge(bodies[path] ?? '').filter((part) => typeof part !== 'string').length,
    }));
    return { checks, bodies, tooMany: counts.find(({ variables }) => variables > VARIABLES_MAX) };
  },
);

/** The input of a preview. */
interface Previewed {
  subject: string;
  /** Values that are fixed already; undefined if a send would fix them now. */
  bodies: Bodies | undefined;
  source: Source | undefined;
  template: PublishedContent | undefined;
  around: Around;
  contact: MergedContact;
  links: WayOut['variables'];
}

interface Preview extends Bodies {
  subject: string;
  previewText: string;
  /** Keys without any value. */
  missing: string[];
}

const NO_BODY: MergedBody = { html: null, text: null };

/** Renders the mail of one contact, or returns that its values would make it larger than allowed. */
export const previewMail: TextTask<Previewed, Preview | 'too large'> = defineTextTask(
  'broadcasts.previewMail',
  ({ subject: written, source, template, around, contact, links, ...fixed }) => {
    const composed = source ? composeBodies(source, around) : { html: null, text: null };
    const body = parseBody(fixed.bodies ?? composed);
    const mail = mergedMail(written, body, around);
    const { subject, values } = mailFor(mail, contact, links);
    if (isTooLarge(body, values)) return 'too large';
    const preview = mergedMail(settledPreview(template, around), NO_BODY, around);
    const texts = [mail.subject, preview.subject, body.html ?? [], body.text ?? []];
    const { html, text } = renderBody(body, values);
    return {
      subject,
      previewText: mailFor(preview, contact, links).subject,
      html,
      // A mail without a text gets one from its HTML when it is sent.
      text: text ?? (html === null ? null : textOfHtml(html)),
      missing: missingIn(texts, buildMergeValues(contact, around, [...mail.keys, ...preview.keys])),
    };
  },
);

function missingIn(texts: readonly MergeText[], { given, fallbacks }: ReturnType<typeof buildMergeValues>): string[] {
  const bare = texts
    .flat()
    .flatMap((part) => (typeof part === 'string' || part.inlineDefault !== undefined ? [] : part.key));
  return [...new Set(bare)].filter(
    (key) => !(key in given) && !(key in fallbacks) && ![...LINK_KEYS, VIEW_KEY].includes(key),
  );
}

/** Composes the mail of a step of an automation. */
export const composeStepBodies: TextTask<
  Parameters<typeof composeStepMail>,
  ReturnType<typeof composeStepMail>
> = defineTextTask('broadcasts.composeStepBodies', (parts) => composeStepMail(...parts));

export const textTasks: readonly TextTask<never, unknown>[] = [
  checkBodies,
  composeStepBodies,
  prepareBodies,
  previewMail,
];

type Written = Pick<
  BroadcastContent,
  'name' | 'subject' | 'preview_text' | 'ab_test' | 'html' | 'text' | 'template_id' | 'utm'
> &
  Pick<BroadcastRow, 'id' | 'team_id'>;

/** Everything that checks and bodies are made from. */
type Inputs = Awaited<ReturnType<typeof loadInputs>>;

/** The prepared content of a send, and the inputs it was made from. */
export interface PreparedContent extends PreparedBodies {
  inputs: Inputs;
}

/** Prepares the content of a send; undefined if there is no body. */
export async function prepareContent(store: Store, row: Written): Promise<PreparedContent | undefined> {
  const source = await loadSource(store.db, row);
  return source && prepareFrom(store, row, await loadInputs(store, store.db, row, source));
}

/** Thrown in the transaction of a send if the content was changed after it was prepared. */
class ContentChanged extends Error {}

const ATTEMPTS_MAX = 5;

/**
 * Prepares and sends again if the content was changed in between. Nothing is prepared within a transaction, because
 * others wait for it.
 */
export async function repeatWhileChanged<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ContentChanged)) throw error;
      if (attempts < ATTEMPTS_MAX) continue;
      throw refuse('service_unavailable', {
        say: 'The content of the broadcast kept changing while it was being read; send it when its content is final.',
        because: error,
      });
    }
  }
}

/**
 * Returns the prepared content if its inputs are unchanged in the transaction; otherwise `repeatWhileChanged` starts
 * over.
 */
export async function mustStillHold(
  store: Store,
  tx: Executor,
  { row, source, before }: { row: Written; source: Source; before: PreparedContent | undefined },
): Promise<PreparedContent> {
  const now = await loadInputs(store, tx, row, source);
  if (!before || !isSame(before.inputs, now)) throw new ContentChanged('content changed after it was prepared');
  return before;
}

async function prepareFrom(store: Store, row: Written, inputs: Inputs): Promise<PreparedContent> {
  const { source, around, subject, ab_test, shown } = inputs;
  const prepared = await store.texts.run(
    { teamId: row.team_id, chars: countChars(source), task: prepareBodies },
    { written: { subject, ab_test }, source, around, shown },
  );
  return { inputs, ...prepared };
}

export function refuseTooMany({ path, variables }: NonNullable<PreparedBodies['tooMany']>): Refusal {
  const message = `${path} contains ${variables} merge variables; at most ${VARIABLES_MAX} are allowed.`;
  return refuse('validation_error', { status: 422, say: message, errors: [{ path, message }] });
}

async function loadInputs(store: Store, db: Executor, row: Written, source: Source) {
  const around = await loadSurroundings(db, row);
  const shown = await imagesShownIn(store, db, row.team_id, source.html ?? '');
  return { subject: row.subject, ab_test: row.ab_test, source, around, shown };
}

/** Compares two inputs; a published template version never changes, so its id is enough. */
function isSame(a: Inputs, b: Inputs): boolean {
  return (
    a.subject === b.subject &&
    a.ab_test === b.ab_test &&
    a.source.template?.versionId === b.source.template?.versionId &&
    a.source.html === b.source.html &&
    a.source.text === b.source.text &&
    JSON.stringify(pickParts(a)) === JSON.stringify(pickParts(b))
  );
}

function pickParts({ around: { previewText, team, properties, utm }, shown }: Inputs) {
  const { name, sender_name, postal_address, default_language, language_property } = team;
  const sender = { name, sender_name, postal_address, default_language, language_property };
  return { previewText, sender, properties, utm, images: shown.known };
}

/** Bodies for all recipients, before the merge variables are filled in. */
export interface Bodies {
  html: string | null;
  text: string | null;
}

/** The broadcast's own bodies, or those of the published version of its template; undefined if there is neither. */
export interface Source extends Bodies {
  template: PublishedContent | undefined;
}

export async function loadSource(
  db: Executor,
  row: Pick<BroadcastRow, 'team_id' | 'template_id' | 'html' | 'text'>,
): Promise<Source | undefined> {
  if (row.template_id === null) {
    return (row.html ?? '') === '' && (row.text ?? '') === ''
      ? undefined
      : { html: row.html, text: row.text, template: undefined };
  }
  const template = await findPublishedContent(db, row.team_id, row.template_id);
  return template && { html: template.html, text: template.text, template };
}

/**
 * Writes the body that all emails of a broadcast share, and returns the values that are fixed from now on: a new
 * version of the template, another postal address or another fallback of a property no longer changes what is sent.
 */
export async function freezeBroadcast(
  store: Store,
  tx: Executor,
  row: BroadcastRow,
  { source, bodies, domainId }: { source: Source; bodies: Bodies; domainId: string },
): Promise<Pinned> {
  const id = store.ids.uuid();
  const { id: broadcastId, team_id, preview_text, name, utm } = row;
  const around = await loadSurroundings(tx, { id: broadcastId, team_id, preview_text, name, utm });
  const body = { id, team_id: row.team_id, ...bodies, created_at: store.clock.now() };
  await insertSharedBodies(tx, [{ ...body, first_email_id: null, last_email_id: null }]);
  return {
    domain_id: domainId,
    body_id: id,
    template_version_id: source.template?.versionId ?? null,
    fallbacks: JSON.stringify(around.fallbacks),
  };
}

interface Around {
  previewText: string | null;
  team: Sender;
  properties: readonly PropertyRow[];
  fallbacks: Fallbacks;
  /** The `utm_` parameters that are added to links. */
  utm: UtmParameters | null;
}

export async function loadSurroundings(
  db: Executor,
  row: Pick<BroadcastRow, 'id' | 'team_id' | 'preview_text' | 'name' | 'utm'> & { fallbacks?: string | null },
): Promise<Around & { team: TeamRow }> {
  const team = await findTeam(db, row.team_id);
  if (!team) throw new Error(`the team of the broadcast ${row.id} is gone`);
  const properties = await declaredProperties(db, row.team_id);
  return {
    previewText: row.preview_text,
    team,
    properties,
    fallbacks: readFallbacks(row, { properties, team }),
    utm: row.utm === null ? null : completeUtm(JSON.parse(row.utm) as UtmParameters, { team, campaign: row.name }),
  };
}

/** Adds the parameters that were left out: the sender as the source, `email` as the medium, and a name as the campaign. */
export const completeUtm = (
  utm: UtmParameters,
  { team, campaign }: { team: Pick<Sender, 'name' | 'sender_name'>; campaign: string },
): UtmParameters => ({
  source: makeUtmValue(team.sender_name ?? team.name) || 'newsletter',
  medium: 'email',
  campaign: makeUtmValue(campaign) || 'newsletter',
  ...utm,
});

/** Returns the fallbacks that were fixed when a broadcast was sent, or the declared ones if none were. */
export const readFallbacks = (
  { fallbacks }: { fallbacks?: string | null },
  known: { properties: readonly PropertyRow[]; team: Sender },
): Fallbacks =>
  typeof fallbacks === 'string' ? (JSON.parse(fallbacks) as Fallbacks) : fallbacksIn(known.properties, known.team);

/**
 * Makes the text from the HTML if none was given, except if it was given as empty. Adds a footer to each body without
 * an unsubscribe link or the postal address.
 */
function composeBodies(source: Source, around: Around): Bodies {
  const { html, text } = settleBodies(source, around);
  const written = text ?? (html === null ? null : textOfHtml(escapeDefaults(nameEncodings(html))));
  const withWayOut = addWayOut({ html, text: written }, around);
  const preview = settledPreview(source.template, around);
  return { html: withWayOut.html === null ? null : withPreview(withWayOut.html, preview), text: withWayOut.text };
}

/** The stream that a step names, and its topic. */
export interface StepStream {
  stream: 'marketing' | 'transactional' | undefined;
  topicId: string | null;
}

/**
 * Composes the bodies of a mail that is sent to a single contact. Unless the step names a stream, mail with a topic or an
 * unsubscribe link is marketing. Marketing mail gets what its footer has and it lacks. A missing text is made from the
 * HTML when the mail is sent.
 */
export function composeStepMail(
  source: Source,
  around: Omit<Around, 'previewText'>,
  { stream, topicId }: StepStream,
): { bodies: Bodies; isMarketing: boolean; hasLink: boolean } {
  const bodies = settleBodies(source, around);
  const hasLink = hasWayOut(bodies.html ?? '') || hasWayOut(bodies.text ?? '');
  const isMarketing = stream === undefined ? topicId !== null || hasLink : stream === 'marketing';
  return { bodies: isMarketing ? addWayOut(bodies, around) : bodies, isMarketing, hasLink };
}

/**
 * Returns the bodies with the variables of the team and the fallbacks of the template filled in, and with the `utm_`
 * parameters of links; an empty text counts as given.
 */
function settleBodies(source: Source, around: Omit<Around, 'previewText'>): Bodies {
  const { utm } = around;
  const settle = (text: string): string => settled(text, source.template, around);
  const html = (source.html ?? '') === '' ? null : settle(source.html ?? '');
  const text = source.text === null ? null : settle(source.text);
  if (utm === null) return { html, text };
  return { html: html && tagHtmlLinks(html, utm), text: text && tagTextLinks(text, utm) };
}

/**
 * Adds what marketing mail must show and a body lacks: the name of the team with its postal address, and an unsubscribe
 * link. An empty text beside HTML stays empty.
 */
function addWayOut({ html, text }: Bodies, around: Pick<Around, 'team' | 'properties'>): Bodies {
  return {
    html: html === null ? null : withFooter(html, around),
    text: text === null || (text === '' && html !== null) ? text : withTextFooter(text, around),
  };
}

const hasWayOut = (text: string): boolean => {
  const keys = collectKeys(parseMerge(text));
  return LINK_KEYS.some((key) => keys.has(key));
};

/** Returns the text that mail programs show after the subject, as it appears in the HTML. */
const settledPreview = (template: PublishedContent | undefined, { previewText, utm: _, ...around }: Around): string =>
  settled(previewText ?? '', template, around);

/**
 * Fills in built-in keys in their own letter case, the name and address of the team, and the fallbacks of a template
 * where the text has no default.
 */
function settled(
  text: string,
  template: PublishedContent | undefined,
  { team, properties, fallbacks }: Omit<Around, 'previewText' | 'utm'>,
): string {
  return writeMerge(
    parseMerge(text).map((part) => {
      if (typeof part === 'string') return part;
      // A default in the text replaces a missing address of the team.
      const own = template?.fallbacks.has(part.key) ? undefined : teamValue(part.key, team, properties);
      if (own !== undefined) return { ...part, inlineDefault: own === '' ? (part.inlineDefault ?? '') : own };
      const key = builtInKey(part.key) ?? part.key;
      const fallback = builtInKey(part.key) === undefined ? template?.fallbacks.get(part.key) : undefined;
      if (fallback === undefined || part.inlineDefault !== undefined) return { ...part, key };
      // The fallback of a property is specific to contacts, so it takes precedence over the template's.
      const hasOwn = !isTeamKey(part.key, properties) && Object.hasOwn(fallbacks, part.key.toLowerCase());
      return hasOwn ? { ...part, key } : { ...part, key, inlineDefault: withoutBraces(fallback) };
    }),
  );
}

/**
 * Inserts the text that mail programs show after the subject. The filler keeps the beginning of the body from being
 * shown there too.
 */
function withPreview(html: string, previewText: string): string {
  if (previewText.trim() === '') return html;
  const shown = writeMerge(parseMerge(previewText).map((part) => (typeof part === 'string' ? escapeHtml(part) : part)));
  const filler = '&#847;&zwnj;&nbsp;'.repeat(60);
  const hidden = `<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;font-size:1px;line-height:1px">${shown}${filler}</div>`;
  const at = startOfBody(hideVariables(html));
  return html.slice(0, at) + hidden + html.slice(at);
}

function withFooter(html: string, around: Pick<Around, 'team' | 'properties'>): string {
  const hasLink = showsAny(parseMerge(html), LINK_KEYS);
  const footer = composeFooter(around, { body: { html, text: null }, hasLink, escape: escapeHtml });
  if (!footer) return html;
  const { lines, language, unsubscribe } = footer;
  const link = hasLink
    ? ''
    : `<p style="margin:8px 0 0"><a href="{{{UNSUBSCRIBE_URL}}}" style="color:#666666">${unsubscribe}</a></p>`;
  const added =
    `<div lang="${language}" style="margin-top:32px;padding-top:12px;border-top:1px solid #cccccc;font-family:sans-serif;font-size:12px;line-height:18px;color:#666666">` +
    `<p style="margin:0">${lines.join('<br>')}</p>${link}</div>`;
  const at = endOfBody(hideVariables(html));
  return html.slice(0, at) + added + html.slice(at);
}

function withTextFooter(text: string, around: Pick<Around, 'team' | 'properties'>): string {
  const hasLink = hasWayOut(text);
  const footer = composeFooter(around, { body: { html: null, text }, hasLink, escape: (line) => line });
  if (!footer) return text;
  const link = hasLink ? [] : [`${footer.unsubscribe}: {{{UNSUBSCRIBE_URL}}}`];
  return `${text}\n\n${['-- ', ...footer.lines, ...link].join('\n')}`;
}

interface Footed {
  body: Bodies;
  hasLink: boolean;
  escape: (line: string) => string;
}

/**
 * Returns the parts of the footer; undefined if the body needs none, because it has a link and shows the postal address.
 * An address that the body shows is not repeated. If contacts have a language, what depends on it is a variable with the
 * text in the language of the team as its default, which is escaped when it is merged.
 */
function composeFooter(
  { team, properties }: Pick<Around, 'team' | 'properties'>,
  { body, hasLink, escape }: Footed,
): { lines: string[]; language: string; unsubscribe: string } | undefined {
  const { name, ...sender } = listSenderLines(team);
  const postal = team.postal_address === null ? undefined : (JSON.parse(team.postal_address) as PostalAddress);
  const addressKeys = isTeamKey('POSTAL_ADDRESS', properties) ? ['POSTAL_ADDRESS'] : [];
  const address = postal && showsAddress({ ...body, addressKeys }, postal) ? [] : sender.address;
  if (hasLink && address.length === 0) return undefined;
  const { default_language: language } = team;
  const { unsubscribe } = READER_TEXTS[language];
  if (findLanguageProperty(team, properties) === undefined) {
    return { lines: [name, ...address].map(escape), language, unsubscribe: escape(unsubscribe) };
  }
  const variable = (key: string, inlineDefault: string): string => writeMerge([{ key, inlineDefault }]);
  const last = address.at(-1);
  const country = postal && last !== undefined ? [variable(FOOTER_KEYS.country + postal.country, last)] : [];
  return {
    lines: [...[name, ...address.slice(0, -1)].map(escape), ...country],
    language: variable(FOOTER_KEYS.language, language),
    unsubscribe: variable(FOOTER_KEYS.unsubscribe, unsubscribe),
  };
}
