import type { CreateContactRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { declaredProperties, type PropertyRow } from '../contact-properties/index.ts';
import { readSegmentIds } from '../segments/index.ts';
import { liveTopics, readChoices, type Choice, type TopicRow } from '../topics/index.ts';
import { addToContactCount, planOf } from '../../../tenancy/usage/index.ts';
import { chooseByApi } from './contact-topics.ts';
import { recordConsent } from './consent.store.ts';
import { findContact, insertContacts, type ContactRow } from './contacts.store.ts';
import { segmentNamed } from './find-contact.ts';
import { joinSegments } from './join-segments.ts';
import { newContact } from './new-contact.ts';
import { carryOptOuts } from './opt-outs.ts';
import { indexedValues, mergeValues } from './property-values.ts';
import { readEmail } from './read-input.ts';
import { tellOf } from './tell.ts';
import { writeChange } from './write-change.ts';
import { addValues } from './values.store.ts';

interface Wanted {
  email: string;
  input: CreateContactRequest;
  declared: PropertyRow[];
  segmentIds: string[];
  choices: Choice[];
  live: TopicRow[];
}

export function createContact(ctx: Ctx, input: CreateContactRequest) {
  return createIn(ctx, input, undefined);
}

export function createAudienceContact(ctx: Ctx, segment: string, input: CreateContactRequest) {
  return createIn(ctx, input, segment);
}

async function createIn({ store, teamId }: Ctx, input: CreateContactRequest, segment: string | undefined) {
  const email = readEmail(input.email);
  const id = await store.db.tx(async (tx) => {
    if (segment !== undefined) await segmentNamed(tx, teamId, segment);
    const live = input.topics ? await liveTopics(tx, teamId) : [];
    const wanted: Wanted = {
      email,
      input,
      declared: await declaredProperties(tx, teamId),
      segmentIds: await readSegmentIds(tx, teamId, segment === undefined ? (input.segments ?? []) : [segment]),
      choices: readChoices(input.topics ?? [], live),
      live,
    };
    return createOrUpdate(store, tx, teamId, wanted);
  });
  return { object: 'contact' as const, id };
}

/** An address that is a contact already is updated, and never subscribed again. */
async function createOrUpdate(store: Store, tx: Executor, teamId: string, wanted: Wanted): Promise<string> {
  const { input, declared, email } = wanted;
  const fresh = newContact(store, teamId, {
    email,
    first_name: input.first_name ?? null,
    last_name: input.last_name ?? null,
    unsubscribed: input.unsubscribed ?? false,
    values: mergeValues({}, input.properties ?? {}, declared),
  });
  const isNew = (await insertContacts(tx, [fresh])) === 1;
  const before = isNew ? undefined : await findContact(tx, teamId, { emailKey: fresh.email_key }, true);
  const row = before ? await update(store, tx, before, wanted) : await begin(store, tx, fresh, wanted);
  await joinSegments(store, tx, row, wanted.segmentIds);
  await chooseByApi(store, tx, row, wanted);
  await tellOf(store, tx, before ? 'contact.updated' : 'contact.created', row);
  if (!before) await mustHaveRoom(store, tx, teamId);
  return row.id;
}

async function begin(store: Store, tx: Executor, row: ContactRow, { input, declared }: Wanted): Promise<ContactRow> {
  await addValues(tx, indexedValues(row.id, mergeValues({}, input.properties ?? {}, declared), declared));
  if (row.unsubscribed === 1)
    await recordConsent(store, tx, { source: 'api' }, [{ contact: row, action: 'unsubscribed' }]);
  const [begun = row] = await carryOptOuts(store, tx, [row], { hasConsent: input.unsubscribed === false });
  return begun;
}

function update(store: Store, tx: Executor, before: ContactRow, { input, declared }: Wanted): Promise<ContactRow> {
  const { first_name, last_name, properties, unsubscribed } = input;
  const change = { first_name, last_name, properties, ...(unsubscribed === true ? { unsubscribed } : {}) };
  return writeChange(store, tx, { before, change, declared, source: 'api' });
}

async function mustHaveRoom(store: Store, tx: Executor, teamId: string): Promise<void> {
  const { contact_limit: limit } = await planOf(store, tx, teamId);
  if ((await addToContactCount(tx, teamId, 1)) <= limit) return;
  throw refuse('validation_error', {
    status: 422,
    say: `The plan's limit of ${limit} contacts is reached; delete some or choose a larger plan.`,
  });
}
