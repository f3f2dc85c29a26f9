import { cutPage, pageSql, pageValues, uuidsIn, type Executor, type Page } from '../../../platform/db/index.ts';
import { hashLink, hashPlainLink } from '../../../protocol/contact-filter/index.ts';
import type { BroadcastOutcome } from './outcome.ts';

export interface LinkRow {
  broadcast_id: string;
  url_hash: string;
  id: string;
  url: string;
  clicks: number;
  unique_clicks: number;
  machine_clicks: number;
}

/** Number of times the recipient of an email clicked a link. */
export interface LinkClicks {
  email_id: string;
  url: string;
  clicks: number;
}

/** Lists the links of a broadcast that people clicked, the most recently added first. */
export async function linksPage(
  db: Executor,
  broadcastId: string,
  page: Page,
): Promise<{ rows: LinkRow[]; hasMore: boolean }> {
  const sql = pageSql('broadcast_links', 'broadcast_id = ? and clicks > 0', page);
  return cutPage(await db.all<LinkRow>(sql, [broadcastId, ...pageValues(page)]), page);
}

/** Lists the links of a broadcast that people clicked, those with the most recipients first. */
export const topLinks = (
  db: Executor,
  broadcastId: string,
  limit: number,
): Promise<Pick<LinkRow, 'url' | 'clicks' | 'unique_clicks'>[]> =>
  db.all(
    `select url, clicks, unique_clicks from broadcast_links where broadcast_id = ? and clicks > 0
      order by unique_clicks desc, clicks desc, id limit ?`,
    [broadcastId, limit],
  );

/** Lists the links that the recipients of these emails clicked, most clicked first. */
export function listClicks(db: Executor, emailIds: readonly string[]): Promise<LinkClicks[]> {
  const among = uuidsIn(db.dialect, 'c.email_id', emailIds);
  return db.all<LinkClicks>(
    `select c.email_id, l.url, c.clicks from broadcast_link_clicks c
      join broadcast_recipients r on r.email_id = c.email_id
      join broadcast_links l on l.broadcast_id = r.broadcast_id and l.id = c.link_id
      where ${among.sql} order by c.email_id, c.clicks desc, l.id`,
    [among.value],
  );
}

interface Clicked {
  broadcastId: string;
  hash: string;
  url: string;
  emailId: string;
  clicks: number;
  machineClicks: number;
}

/** Counts clicks by link, and clicks of people also by recipient, with one statement per table. */
export async function countClicks(
  tx: Executor,
  newId: () => string,
  outcomes: readonly BroadcastOutcome[],
): Promise<void> {
  const found = await clickedLinks(tx, outcomes);
  if (found.length === 0) return;
  const known = await linkIds(tx, eachOnce(found));
  const clicked = await withinLimit(tx, found, known);
  const links = Map.groupBy(clicked, linkKey);
  // Every transaction locks links in the same order, so that two nodes cannot deadlock.
  const keys = [...links.keys()].sort();
  await tx.insertMany(
    'broadcast_links',
    ['broadcast_id', 'url_hash', 'plain_hash', 'id', 'url', 'clicks', 'machine_clicks'],
    keys.flatMap((key) => {
      const group = links.get(key) ?? [];
      const [first] = group;
      const clicks = group.reduce((sum, one) => sum + one.clicks, 0);
      const machineClicks = group.reduce((sum, one) => sum + one.machineClicks, 0);
      return first
        ? [[first.broadcastId, first.hash, hashPlainLink(first.url), newId(), first.url, clicks, machineClicks]]
        : [];
    }),
    `on conflict (broadcast_id, url_hash) do update set clicks = broadcast_links.clicks + excluded.clicks,
      machine_clicks = broadcast_links.machine_clicks + excluded.machine_clicks`,
  );
  const ids = keys.every((key) => known.has(key)) ? known : await linkIds(tx, eachOnce(clicked));
  const firstClicks = await countByRecipient(
    tx,
    clicked
      .filter((one) => one.clicks > 0)
      .map((one) => ({ email_id: one.emailId, link_id: ids.get(linkKey(one)) ?? '', clicks: one.clicks })),
  );
  await tx.runEach(
    'update broadcast_links set unique_clicks = unique_clicks + ? where broadcast_id = ? and url_hash = ?',
    keys.flatMap((key) => {
      const group = links.get(key) ?? [];
      const [first] = group;
      const count = firstClicks.get(ids.get(key) ?? '') ?? 0;
      return first && count > 0 ? [[count, first.broadcastId, first.hash]] : [];
    }),
  );
}

const linkKey = ({ broadcastId, hash }: Pick<Clicked, 'broadcastId' | 'hash'>): string => `${broadcastId} ${hash}`;

const eachOnce = (clicked: readonly Clicked[]): Clicked[] => [
  ...new Map(clicked.map((one) => [linkKey(one), one])).values(),
];

/** Links that contain a value of the recipient differ for each recipient, so their number must be limited. */
const LINKS_MAX = 1000;
/** Stands for all links beyond the limit; no hash and no address looks like it. */
const OTHER = 'other';

/**
 * Gives the first links of a broadcast that are clicked a row each, and counts all others in one row. Two nodes that
 * add links at the same time may exceed the limit by what one of them adds.
 */
async function withinLimit(
  tx: Executor,
  clicked: readonly Clicked[],
  known: ReadonlyMap<string, string>,
): Promise<Clicked[]> {
  const fresh = eachOnce(clicked).filter((one) => !known.has(linkKey(one)));
  if (fresh.length === 0) return [...clicked];
  const counts = await countLinks(tx, [...new Set(fresh.map((one) => one.broadcastId))]);
  const beyond = new Set(
    [...Map.groupBy(fresh, (one) => one.broadcastId)].flatMap(([id, links]) =>
      links.slice(Math.max(0, LINKS_MAX - (counts.get(id) ?? 0))).map(linkKey),
    ),
  );
  const counted = new Map<string, Clicked>();
  for (const one of clicked) {
    const link = beyond.has(linkKey(one)) ? { ...one, hash: OTHER, url: OTHER } : one;
    const key = `${link.emailId} ${link.hash}`;
    const { clicks = 0, machineClicks = 0 } = counted.get(key) ?? {};
    counted.set(key, {
      ...link,
      clicks: link.clicks + clicks,
      machineClicks: link.machineClicks + machineClicks,
    });
  }
  return [...counted.values()];
}

async function countLinks(tx: Executor, broadcastIds: readonly string[]): Promise<Map<string, number>> {
  const among = uuidsIn(tx.dialect, 'broadcast_id', broadcastIds);
  const sql = `select broadcast_id, count(*) as n from broadcast_links
    where ${among.sql} and url_hash <> '${OTHER}' group by broadcast_id`;
  const rows = await tx.all<{ broadcast_id: string; n: number }>(sql, [among.value]);
  return new Map(rows.map((row) => [row.broadcast_id, Number(row.n)]));
}

/** Returns each clicked link of each email once, if the email belongs to a broadcast. */
async function clickedLinks(tx: Executor, outcomes: readonly BroadcastOutcome[]): Promise<Clicked[]> {
  const clicks = outcomes.filter(({ type, link }) => type === 'email.clicked' && link !== undefined);
  if (clicks.length === 0) return [];
  const among = uuidsIn(tx.dialect, 'email_id', [...new Set(clicks.map(({ emailId }) => emailId))]);
  const rows = await tx.all<{ email_id: string; broadcast_id: string }>(
    `select email_id, broadcast_id from broadcast_recipients where ${among.sql}`,
    [among.value],
  );
  const broadcasts = new Map(rows.map((row) => [row.email_id, row.broadcast_id]));
  const found = new Map<string, Clicked>();
  for (const { emailId, link = '', isMachine } of clicks) {
    const broadcastId = broadcasts.get(emailId);
    if (broadcastId === undefined) continue;
    const hash = hashLink(link);
    const key = `${emailId} ${hash}`;
    const one = found.get(key) ?? { broadcastId, hash, url: link, emailId, clicks: 0, machineClicks: 0 };
    if (isMachine) one.machineClicks++;
    else one.clicks++;
    found.set(key, one);
  }
  return [...found.values()];
}

async function linkIds(tx: Executor, links: readonly Clicked[]): Promise<Map<string, string>> {
  const pairs = JSON.stringify(links.map(({ broadcastId, hash }) => ({ broadcast_id: broadcastId, url_hash: hash })));
  const wanted =
    tx.dialect === 'pg'
      ? 'jsonb_to_recordset(?::jsonb) as w(broadcast_id uuid, url_hash text)'
      : "(select value->>'broadcast_id' as broadcast_id, value->>'url_hash' as url_hash from json_each(?)) as w";
  const rows = await tx.all<Pick<LinkRow, 'broadcast_id' | 'url_hash' | 'id'>>(
    `select l.broadcast_id, l.url_hash, l.id from ${wanted}
      cross join broadcast_links l where l.broadcast_id = w.broadcast_id and l.url_hash = w.url_hash`,
    [pairs],
  );
  return new Map(rows.map((row) => [linkKey({ broadcastId: row.broadcast_id, hash: row.url_hash }), row.id]));
}

/**
 * Adds the clicks to the rows of the recipients. Returns for each link how many recipients clicked it for the first
 * time: their rows hold exactly what was added.
 */
async function countByRecipient(
  tx: Executor,
  clicks: readonly { email_id: string; link_id: string; clicks: number }[],
): Promise<Map<string, number>> {
  if (clicks.length === 0) return new Map();
  const added = new Map(clicks.map((one) => [`${one.email_id} ${one.link_id}`, one.clicks]));
  const given =
    tx.dialect === 'pg'
      ? 'select email_id, link_id, clicks from jsonb_to_recordset(?::jsonb) as d(email_id uuid, link_id uuid, clicks int)'
      : "select value->>'email_id', value->>'link_id', value->>'clicks' from json_each(?) where true";
  const rows = await tx.all<{ email_id: string; link_id: string; clicks: number }>(
    `insert into broadcast_link_clicks (email_id, link_id, clicks) ${given} order by 1, 2
      on conflict (email_id, link_id) do update set clicks = broadcast_link_clicks.clicks + excluded.clicks
      returning email_id, link_id, clicks`,
    [JSON.stringify(clicks)],
  );
  const first = new Map<string, number>();
  for (const { email_id: emailId, link_id: linkId, clicks: stands } of rows) {
    if (stands !== added.get(`${emailId} ${linkId}`)) continue;
    first.set(linkId, (first.get(linkId) ?? 0) + 1);
  }
  return first;
}
