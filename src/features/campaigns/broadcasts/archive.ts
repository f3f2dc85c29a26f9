import { notFound } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { nextChangeAt, readAppName, readGrantId, type Ctx } from '../../../tenancy/access/index.ts';
import { buildArchiveUrl, findTeam, findTeamOfArchive, type TeamRow } from '../../../tenancy/teams/index.ts';
import { mayShowContent } from '../../../tenancy/usage/index.ts';
import { declaredProperties, sampleLinks, withSampleLinks } from '../../audience/index.ts';
import { listSubjects, readDecision } from './ab-test.ts';
import {
  findPublished,
  isPublished,
  listPublished,
  saveArchive,
  type ArchivedRow,
  type ArchiveEdge,
} from './archive.store.ts';
import { findBroadcast, lockBroadcast, type BroadcastRow } from './broadcasts.store.ts';
import { readFallbacks } from './freeze-broadcast.ts';
import { mailFor, mergedMail } from './merge-values.ts';
import { NO_CONTACT, renderForAnybody } from './preview-broadcast.ts';

/** Puts a broadcast into the public archive of the team. */
export const archiveBroadcast = (ctx: Ctx, id: string) => setArchive(ctx, id, true);

/** Takes a broadcast out of the public archive of the team. */
export const unarchiveBroadcast = (ctx: Ctx, id: string) => setArchive(ctx, id, false);

async function setArchive(ctx: Ctx, id: string, archive: boolean) {
  const { store, teamId, actor } = ctx;
  const row = await store.db.tx(async (tx) => {
    const before = await lockBroadcast(tx, teamId, id);
    if (!before) throw notFound('Broadcast');
    if (before.archive === Number(archive)) return before;
    // Whoever sends a draft has to have seen that it will be published. The time of a broadcast that has ended decides
    // when its report is removed, so it stays.
    const draft = {
      author_grant_id: before.author_grant_id === readGrantId(actor) ? before.author_grant_id : null,
      changed_by_app: readAppName(actor) ?? before.changed_by_app,
      updated_at: nextChangeAt(store.clock.now(), before),
    };
    await saveArchive(tx, id, { archive, draft: before.status === 'draft' ? draft : undefined });
    return { ...before, archive: Number(archive) };
  });
  return { object: 'broadcast' as const, id, archive, ...(await presentArchiveUrl(ctx, row)) };
}

interface ArchiveCheck {
  name: 'archive';
  status: 'warn';
  message: string;
  details: string[];
}

/** Reports that an email will be public, so that nobody publishes by accident what another person has marked. */
export function checkArchive(
  { archive }: Pick<BroadcastRow, 'archive'>,
  { archive_enabled: isOn }: Pick<TeamRow, 'archive_enabled'>,
): ArchiveCheck[] {
  if (archive === 0) return [];
  const since = isOn === 1 ? 'from its first email on' : 'as soon as the archive of the team is switched on';
  const message = `Everybody can read this email in the public archive, ${since}; archive: false prevents it.`;
  return [{ name: 'archive', status: 'warn', message, details: [] }];
}

/** Presents the address of a broadcast in the public archive, which is absent if it has no page there. */
export async function presentArchiveUrl({ store, teamId }: Ctx, row: BroadcastRow): Promise<{ archive_url?: string }> {
  const team = isPublished(row) ? await findTeam(store.db, teamId) : undefined;
  const url = team ? buildArchiveUrl(store.origin(), team) : null;
  return url === null ? {} : { archive_url: `${url}/${row.id}` };
}

/**
 * Finds the team whose archive has this address. Returns undefined if the address never existed or was renewed, if the
 * archive is off, and if the team is suspended or above its quota.
 */
export async function openArchive(store: Store, token: string): Promise<TeamRow | undefined> {
  const team = await findTeamOfArchive(store.db, token);
  return team && (await mayShowContent(store, team.id)) ? team : undefined;
}

/** A broadcast as the archive lists it. */
export interface ArchivedBroadcast {
  id: string;
  subject: string;
  startedAt: number;
}

/** A page of an archive. */
export interface Archive {
  broadcasts: ArchivedBroadcast[];
  hasNewer: boolean;
  hasOlder: boolean;
}

const PAGE = 20;

/** The ids of broadcasts next to which a page begins. */
export interface ArchiveQuery {
  after?: string | undefined;
  before?: string | undefined;
}

/** Lists a page of the archive of a team, newest first; undefined if there is no such page. */
export async function listArchive(
  store: Store,
  team: TeamRow,
  { after, before }: ArchiveQuery,
): Promise<Archive | undefined> {
  const { db } = store;
  const at = before ?? after;
  const from = at === undefined ? undefined : await findPublished(db, team.id, at);
  if (at !== undefined && !from) return undefined;
  const isNewer = before !== undefined;
  const edge: ArchiveEdge | undefined = from && { id: from.id, startedAt: readStart(from), isNewer };
  const rows = await listPublished(db, team.id, { edge, limit: PAGE + 1 });
  if (edge && rows.length === 0) return undefined;
  const hasMore = rows.length > PAGE;
  const shown = isNewer && hasMore ? rows.slice(1) : rows.slice(0, PAGE);
  const properties = await declaredProperties(db, team.id);
  return {
    broadcasts: shown.map((row) => ({
      id: row.id,
      subject: composeSubject(row, { team, properties }),
      startedAt: readStart(row),
    })),
    hasNewer: isNewer ? hasMore : edge !== undefined,
    hasOlder: isNewer || hasMore,
  };
}

type Known = { team: TeamRow; properties: Awaited<ReturnType<typeof declaredProperties>> };

/** Returns the subject that won, or the first one, as readers who are no contacts see it. */
function composeSubject(row: ArchivedRow, { team, properties }: Known): string {
  const subjects = listSubjects(row);
  const written = subjects[readDecision(row)?.winner ?? 0] ?? row.subject;
  const fallbacks = readFallbacks(row, { properties, team });
  const mail = mergedMail(written, { html: null, text: null }, { properties, fallbacks, team });
  return mailFor(mail, NO_CONTACT, sampleLinks('')).subject;
}

/** Returns when sending began, which every broadcast of the archive has. */
function readStart({ id, started_at: startedAt }: Pick<ArchivedRow, 'id' | 'started_at'>): number {
  if (startedAt === null) throw new Error(`broadcast ${id} has recipients and no start`);
  return Number(startedAt);
}

/** Finds a broadcast of an archive, with the key of its content. */
export async function findArchivedBroadcast(
  { db }: Store,
  team: TeamRow,
  id: string,
): Promise<(ArchivedBroadcast & { contentKey: string }) | undefined> {
  const row = await findPublished(db, team.id, id);
  if (!row) return undefined;
  const properties = await declaredProperties(db, team.id);
  return {
    id: row.id,
    subject: composeSubject(row, { team, properties }),
    startedAt: readStart(row),
    // The body is fixed when a broadcast is sent; once it is removed by age, the mail is composed from what was written.
    contentKey: `${row.id} ${row.body_id ?? ''}`,
  };
}

/** Renders the bodies of a broadcast for its page, without the links of any recipient. */
export async function renderArchivedMail(
  store: Store,
  team: TeamRow,
  id: string,
): Promise<{ html: string | null; text: string | null }> {
  const row = await findBroadcast(store.db, team.id, id);
  if (!row) throw notFound('Broadcast');
  const { html, text } = await renderForAnybody(store, row);
  return {
    html: html === null ? null : withSampleLinks(store, html),
    text: text === null ? null : withSampleLinks(store, text),
  };
}
