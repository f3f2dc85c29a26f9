import type { Executor, Page } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  choicesOf,
  confirmationsOf,
  forgetConfirmations,
  listTopicRows,
  liveTopics,
  readChoices,
  writeConfirmations,
  type Choice,
  type TopicRow,
} from '../topics/index.ts';
import type { ContactRow } from './contacts.store.ts';
import { contactNamed } from './find-contact.ts';
import { chooseTopics, decisionsFor } from './write-change.ts';

/** A contact that was mailed is not asked again before that; an address is counted where it is mailed. */
const ASKED_AGAIN_MS = 24 * 3_600_000;

/** Every topic of the team, with the contact's own choice where there is one. */
export async function listContactTopics({ store, teamId }: Ctx, name: string, page: Page) {
  const contact = await contactNamed(store.db, teamId, name);
  const { rows, hasMore } = await listTopicRows(store.db, teamId, page);
  const chosen = await chosenBy(store.db, contact.id);
  const asked = new Map((await confirmationsOf(store.db, contact.id)).map((row) => [row.topic_id, row]));
  const data = rows.map(({ id, name: called, description, default_subscription }) => {
    const asking = asked.get(id);
    const confirmation = asking ? ((asking.fault === null ? 'pending' : 'failed') as 'pending' | 'failed') : null;
    return { id, name: called, description, subscription: chosen.get(id) ?? default_subscription, confirmation };
  });
  return { object: 'list' as const, has_more: hasMore, data };
}

export async function updateContactTopics({ store, teamId }: Ctx, name: string, given: readonly Choice[]) {
  return store.db.tx(async (tx) => {
    const contact = await contactNamed(tx, teamId, name, true);
    const live = await liveTopics(tx, teamId);
    const topics = await chooseByApi(store, tx, contact, { choices: readChoices(given, live), live });
    return { object: 'contact_topics' as const, id: contact.id, contact_id: contact.id, topics };
  });
}

/**
 * Writes what the API says that a contact chooses, and answers what holds of it: whom a topic asks for confirmation is asked,
 * and is not opted in before its own word.
 */
export async function chooseByApi(
  store: Store,
  tx: Executor,
  contact: ContactRow,
  { choices, live, depth = 0 }: { choices: readonly Choice[]; live: readonly TopicRow[]; depth?: number },
): Promise<Choice[]> {
  if (choices.length === 0) return [];
  const asking = new Set(live.filter(({ confirmation }) => confirmation === 'required').map(({ id }) => id));
  const chosen = asking.size === 0 ? new Map<string, string>() : await chosenBy(tx, contact.id);
  const waits = ({ id, subscription }: Choice): boolean =>
    subscription === 'opt_in' && asking.has(id) && chosen.get(id) !== 'opt_in';
  const written = choices.filter((choice) => !waits(choice));
  await chooseTopics(store, tx, decisionsFor([contact], written), { source: 'api', depth });
  await forgetConfirmations(
    tx,
    contact.id,
    written.map(({ id }) => id),
  );
  const asked = choices.filter(waits).map(({ id }) => id);
  if (asked.length > 0) await ask(store, tx, contact, asked);
  return choices.map((choice) => (waits(choice) ? { id: choice.id, subscription: 'opt_out' } : choice));
}

async function ask(store: Store, tx: Executor, contact: ContactRow, topicIds: readonly string[]): Promise<void> {
  const now = store.clock.now();
  const standing = (await confirmationsOf(tx, contact.id)).filter((row) => {
    return row.fault === null && (row.mailed_at ?? row.asked_at) > now - ASKED_AGAIN_MS;
  });
  const known = new Set(standing.map((row) => row.topic_id));
  const fresh = topicIds
    .filter((id) => !known.has(id))
    .map((id) => ({
      ...{ contact_id: contact.id, topic_id: id, team_id: contact.team_id, id: store.ids.uuid() },
      ...{ asked_at: now, mailed_at: null, fault: null },
    }));
  if (fresh.length > 0) await writeConfirmations(tx, fresh);
}

/**
 * What the address before was asked, or had confirmed, is the word of that address: the new one is asked itself, when the day
 * since the last asking is over.
 */
export async function askAnew(store: Store, tx: Executor, contact: ContactRow): Promise<void> {
  const live = await liveTopics(tx, contact.team_id);
  const chosen = await chosenBy(tx, contact.id);
  const confirmed = live.filter(({ id, confirmation }) => confirmation === 'required' && chosen.get(id) === 'opt_in');
  const taken = confirmed.map(({ id }) => ({ id, subscription: 'opt_out' as const }));
  await chooseTopics(store, tx, decisionsFor([contact], taken), { source: 'api' });
  const now = store.clock.now();
  const standing = await confirmationsOf(tx, contact.id);
  const again = standing.map((row) => {
    const wasMailed = row.mailed_at !== null && row.fault === null;
    const asked_at = wasMailed ? Math.max(now, row.asked_at + ASKED_AGAIN_MS) : row.asked_at;
    return { ...row, id: store.ids.uuid(), asked_at, mailed_at: null, fault: null };
  });
  if (again.length > 0) await writeConfirmations(tx, again);
  await ask(
    store,
    tx,
    contact,
    confirmed.map(({ id }) => id),
  );
}

const chosenBy = async (db: Executor, contactId: string) =>
  new Map((await choicesOf(db, [contactId])).map(({ topic_id, subscription }) => [topic_id, subscription]));
