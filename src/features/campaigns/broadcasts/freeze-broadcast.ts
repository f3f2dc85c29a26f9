import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { keysOf, parseMerge, showsAny, type MergeText } from '../../../protocol/merge/index.ts';
import { textOfHtml } from '../../../protocol/read-message/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { endOfBody } from '../../../protocol/track-links/index.ts';
import { declaredProperties, type PropertyRow } from '../../audience/contact-properties/index.ts';
import { insertSharedBodies } from '../../../mail/shared-bodies/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { findPublishedContent, type PublishedContent } from '../../templates/templates/index.ts';
import type { BroadcastRow, Pinned } from './broadcasts.store.ts';
import {
  builtInKey,
  fallbacksIn,
  isTeamKey,
  LINK_KEYS,
  listSenderLines,
  teamValue,
  withoutBraces,
  type Fallbacks,
  type Sender,
} from './merge-values.ts';

/** What its recipients get, before the values of the merge variables are put in. */
export interface Bodies {
  html: string | null;
  text: string | null;
}

/** Its own bodies, or those of the published version of its template; undefined where there is neither. */
export interface Source extends Bodies {
  template: PublishedContent | undefined;
}

export async function sourceOf(
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
 * Writes the body that all emails of a broadcast share, and answers what is fixed from here on: neither a new version of the
 * template nor another postal address nor another fallback of a property changes what goes out.
 */
export async function freezeBroadcast(
  store: Store,
  tx: Executor,
  row: BroadcastRow,
  { source, bodies, domainId }: { source: Source; bodies: Bodies; domainId: string },
): Promise<Pinned> {
  const id = store.ids.uuid();
  const around = await aroundOf(tx, { id: row.id, team_id: row.team_id, preview_text: row.preview_text });
  const body = { id, team_id: row.team_id, ...bodies, created_at: store.clock.now() };
  await insertSharedBodies(tx, [{ ...body, first_email_id: null, last_email_id: null }]);
  return {
    domain_id: domainId,
    body_id: id,
    template_version_id: source.template?.versionId ?? null,
    fallbacks: JSON.stringify(around.fallbacks),
  };
}

export interface Around {
  previewText: string | null;
  team: Sender;
  properties: readonly PropertyRow[];
  fallbacks: Fallbacks;
}

export async function aroundOf(
  db: Executor,
  row: Pick<BroadcastRow, 'id' | 'team_id' | 'preview_text'> & { fallbacks?: string | null },
): Promise<Around> {
  const team = await findTeam(db, row.team_id);
  if (!team) throw new Error(`the team of the broadcast ${row.id} is gone`);
  const properties = await declaredProperties(db, row.team_id);
  return { previewText: row.preview_text, team, properties, fallbacks: fallbacksOf(row, { properties, team }) };
}

/** Returns the fallbacks that were fixed when a broadcast was sent, or the declared ones if none were. */
export const fallbacksOf = (
  { fallbacks }: { fallbacks?: string | null },
  known: { properties: readonly PropertyRow[]; team: Sender },
): Fallbacks =>
  typeof fallbacks === 'string' ? (JSON.parse(fallbacks) as Fallbacks) : fallbacksIn(known.properties, known.team);

/**
 * Makes the text from the HTML if none was given, except if it was given as empty. Adds a footer to each body without
 * an unsubscribe link.
 */
export function composeBodies(source: Source, around: Around): Bodies {
  const { html, text } = settleBodies(source, around);
  const written = text ?? (html === null ? null : textOfHtml(html));
  const withWayOut = addWayOut({ html, text: written }, around.team);
  const preview = settledPreview(source.template, around);
  return { html: withWayOut.html === null ? null : withPreview(withWayOut.html, preview), text: withWayOut.text };
}

/**
 * Composes the bodies of a mail that is sent to a single contact. Mail with a topic or an unsubscribe link is
 * marketing, and gets the footer if it lacks one. A missing text is made from the HTML when the mail is sent.
 */
export function composeStepMail(
  source: Source,
  around: Omit<Around, 'previewText'>,
  topicId: string | null,
): { bodies: Bodies; isMarketing: boolean } {
  const bodies = settleBodies(source, around);
  const isMarketing = topicId !== null || hasWayOut(bodies.html ?? '') || hasWayOut(bodies.text ?? '');
  return { bodies: isMarketing ? addWayOut(bodies, around.team) : bodies, isMarketing };
}

/**
 * Returns the bodies with the variables of the team and the fallbacks of the template filled in; an empty text counts
 * as given.
 */
function settleBodies(source: Source, around: Omit<Around, 'previewText'>): Bodies {
  const settle = (text: string): string => settled(text, source.template, around);
  return {
    html: (source.html ?? '') === '' ? null : settle(source.html ?? ''),
    text: source.text === null ? null : settle(source.text),
  };
}

function addWayOut({ html, text }: Bodies, team: Sender): Bodies {
  const isTextDone = text === null || (text === '' && html !== null) || hasWayOut(text);
  return {
    html: html === null || showsAny(parseMerge(html), LINK_KEYS) ? html : withFooter(html, team),
    text: isTextDone ? text : `${text}\n\n${footerText(team)}`,
  };
}

const hasWayOut = (text: string): boolean => {
  const keys = keysOf(parseMerge(text));
  return LINK_KEYS.some((key) => keys.has(key));
};

/** What mail programs show behind the subject, as it stands in the HTML. */
export const settledPreview = (template: PublishedContent | undefined, { previewText, ...around }: Around): string =>
  settled(previewText ?? '', template, around);

/**
 * Fills in built-in keys in their own letter case, the name and address of the team, and the fallbacks of a template
 * where the text has no default.
 */
function settled(
  text: string,
  template: PublishedContent | undefined,
  { team, properties, fallbacks }: Omit<Around, 'previewText'>,
): string {
  return written(
    parseMerge(text).map((part) => {
      if (typeof part === 'string') return part;
      // A default in the text replaces a missing address of the team.
      const own = template?.fallbacks.has(part.key) ? undefined : teamValue(part.key, team, properties);
      if (own !== undefined) return { key: part.key, inlineDefault: own === '' ? (part.inlineDefault ?? '') : own };
      const key = builtInKey(part.key) ?? part.key;
      const fallback = builtInKey(part.key) === undefined ? template?.fallbacks.get(part.key) : undefined;
      if (fallback === undefined || part.inlineDefault !== undefined) return { ...part, key };
      // The fallback of a property is the contact's own, and goes before the template's.
      const hasOwn = !isTeamKey(part.key, properties) && Object.hasOwn(fallbacks, part.key.toLowerCase());
      return hasOwn ? { ...part, key } : { key, inlineDefault: withoutBraces(fallback) };
    }),
  );
}

/** As `parseMerge` has read it. */
const written = (text: MergeText): string =>
  text
    .map((part) => {
      if (typeof part === 'string') return part;
      return `{{{${part.key}${part.inlineDefault === undefined ? '' : `|${part.inlineDefault}`}}}}`;
    })
    .join('');

/** Mail programs show it behind the subject; what fills it up keeps the beginning of the body away from there. */
function withPreview(html: string, previewText: string): string {
  if (previewText.trim() === '') return html;
  const shown = written(parseMerge(previewText).map((part) => (typeof part === 'string' ? escapeHtml(part) : part)));
  const filler = '&#847;&zwnj;&nbsp;'.repeat(60);
  const hidden = `<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;font-size:1px;line-height:1px">${shown}${filler}</div>`;
  const body = /<body(?:[\t\n\f\r /][^<>]*)?>/i.exec(html);
  const at = body ? body.index + body[0].length : startOf(html);
  return html.slice(0, at) + hidden + html.slice(at);
}

/** Behind what has to stand at the beginning of a document. */
function startOf(html: string): number {
  const head = /<\/head\s*>/i.exec(html);
  if (head) return head.index + head[0].length;
  return /^\s*(?:<!doctype[^<>]*>\s*)?(?:<html(?:\s[^<>]*)?>\s*)?/i.exec(html)?.[0].length ?? 0;
}

function withFooter(html: string, team: Sender): string {
  const { name, address } = listSenderLines(team);
  const footer =
    '<div style="margin-top:32px;padding-top:12px;border-top:1px solid #cccccc;font-family:sans-serif;font-size:12px;line-height:18px;color:#666666">' +
    `<p style="margin:0">${[name, ...address].map((line) => escapeHtml(line)).join('<br>')}</p>` +
    '<p style="margin:8px 0 0"><a href="{{{UNSUBSCRIBE_URL}}}" style="color:#666666">Unsubscribe</a></p></div>';
  const at = endOfBody(html);
  return html.slice(0, at) + footer + html.slice(at);
}

function footerText(team: Sender): string {
  const { name, address } = listSenderLines(team);
  return ['-- ', name, ...address, 'Unsubscribe: {{{UNSUBSCRIBE_URL}}}'].join('\n');
}
